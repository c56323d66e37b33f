"""Where does ONNX Runtime compute: on the processor, or on which graphics card?"""

import os
import platform
import warnings
from contextlib import suppress
from typing import Any

from mixmood.core.errors import BackboneError
from mixmood.core.listener import Listener, Silent
from mixmood.core.text import check_name
from mixmood.core.version import package_version


def onnx_runtime() -> Any:
    """The module `onnxruntime`."""
    # Unless this is set first, builds from 1.29 on report their use to Microsoft over the network
    # and leave an identifier in the temporary directory. A value that the user has set is kept.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


AUTO, CPU = "auto", "cpu"
PROVIDERS = {
    CPU: "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}
"""ONNX Runtime's name of each device; `auto` tries the last three in this order."""
DEVICES = (AUTO, *PROVIDERS)
ADVICE = {
    "cuda": "pip uninstall onnxruntime, then pip install onnxruntime-gpu, with NVIDIA's driver, "
    "CUDA and cuDNN",
    "directml": "on Windows: pip uninstall onnxruntime, then pip install onnxruntime-directml",
    "coreml": "it is part of onnxruntime for macOS",
}


def is_surely_cpu(device: str) -> bool:
    """Whether the processor will be used, as far as can be known without loading ONNX Runtime.

    Except on macOS, the plain package supports the processor only. OptionError for another name.
    """
    check_name("device", device, DEVICES)
    if device != AUTO:
        return device == CPU
    has_gpu_package = any(map(package_version, ("onnxruntime-gpu", "onnxruntime-directml")))
    is_plain = package_version("onnxruntime") is not None and not has_gpu_package
    return is_plain and platform.system() != "Darwin"


def open_on_device(
    model: bytes, device: str = CPU, listener: Listener | None = None, n_threads: int = 1
) -> tuple[Any, str]:
    """A session, and the device that it really uses.

    With a missing driver ONNX Runtime uses the processor without an error, so the session is asked
    which device it uses. BackboneError if a named device is not used; a warning if `auto` finds
    one in the build that cannot be used.
    """
    runtime = onnx_runtime()
    available = runtime.get_available_providers()
    wanted = [name for name in PROVIDERS if name != CPU and device in (AUTO, name)]
    wanted = [name for name in wanted if PROVIDERS[name] in available]
    for name in wanted:
        # A damaged model fails on the processor too, and the error of that is shown.
        with suppress(Exception):
            session = _session(runtime, model, name, n_threads)
            if session.get_providers()[0] == PROVIDERS[name]:
                return session, name
    if device not in (AUTO, CPU):
        found = [name for name, provider in PROVIDERS.items() if provider in available]
        raise BackboneError(
            f"The device {device} cannot be used: this ONNX Runtime has {', '.join(found)}"
            f"{f', but the driver of {device} is missing or too old' if wanted else ''}. "
            f"Install what it needs ({ADVICE[device]}), or leave --device out."
        )
    if wanted:
        (listener or Silent()).warn(
            f"ONNX Runtime has {wanted[0]} but cannot use it; the processor is used. "
            "Check the driver, or give --device cpu."
        )
    return _session(runtime, model, CPU, n_threads), CPU


def _session(runtime: Any, model: bytes, name: str, n_threads: int) -> Any:
    """A session on a device, with the processor as a fallback, that reports errors only."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_mem_pattern = name != "directml"
    providers = list(dict.fromkeys([PROVIDERS[name], PROVIDERS[CPU]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return runtime.InferenceSession(model, options, providers=providers)
