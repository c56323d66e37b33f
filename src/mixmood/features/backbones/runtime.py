"""ONNX Runtime, loaded where it is needed, with its telemetry off."""

import os
from typing import Any


def onnx_runtime() -> Any:
    """The module `onnxruntime`.

    Official builds from 1.29 on report their use to Microsoft over the network, and leave an
    identifier in the temporary directory, unless this variable is set before they are loaded.
    A value that the user has set is kept.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime
