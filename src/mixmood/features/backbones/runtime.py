"""ONNX Runtime, loaded where it is needed, with telemetry switched off."""

import os
from typing import Any


def onnx_runtime() -> Any:
    """The module `onnxruntime`.

    Official builds from 1.29 on report their use to Microsoft over the network, and leave an
    identifier in the temporary directory, unless this variable is set before they are loaded.
    A value set by the user is kept.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime
