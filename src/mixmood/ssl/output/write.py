"""Writing the files of a finished run."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

from mixmood.core.files.atomic import write_atomic
from mixmood.ssl.output.curves import curves_png
from mixmood.ssl.output.run_files import CURVES, MODEL, RECORD, WEIGHTS

if TYPE_CHECKING:
    from mixmood.ssl.loop.train import Trained


def write_run(folder: Path, trained: "Trained", shape: tuple[int, int, int]) -> None:
    """Write weights, curves, record and ONNX model; the last can fail for some networks."""
    import torch

    from mixmood.ssl.output.onnx_export import to_onnx

    buffer = io.BytesIO()
    torch.save(trained.model.state_dict(), buffer)
    write_atomic(folder / WEIGHTS, buffer.getvalue())
    write_atomic(folder / CURVES, curves_png(trained.record))
    write_atomic(folder / RECORD, trained.record.to_json())
    made = to_onnx(
        trained.model,
        trained.standardise,
        shape,
        trained.record.class_names,
        trained.record.pixel_range,
    )
    write_atomic(folder / MODEL, made)
