"""Writing a trained network as ONNX, so that it can be used without torch."""

import copy
import io
import json
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from mixmood.core.errors import MissingExtraError, OutputError, reason
from mixmood.ssl.loop.standardise import Standardise
from mixmood.ssl.output.predict import INPUT, METADATA


class _FromPixels(nn.Module):
    """Probabilities of uint8 images (n, height, width, channels): standardisation included."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, model: nn.Module, standardise: Standardise) -> None:
        super().__init__()
        self._model = model
        self.register_buffer("mean", standardise.mean)
        self.register_buffer("deviation", standardise.deviation)

    def forward(self, pixels: Tensor) -> Tensor:
        images = (pixels.float() - self.mean) / self.deviation
        logits: Tensor = self._model(images.permute(0, 3, 1, 2))
        return logits.softmax(dim=1)


def to_onnx(
    model: nn.Module,
    standardise: Standardise,
    shape: tuple[int, int, int],
    class_names: tuple[str, ...],
    pixel_range: dict[str, float] | None = None,
) -> bytes:
    """An ONNX model from uint8 images to class probabilities, with metadata for `predict`.

    Args:
        model: The network.
        standardise: How its pixels are standardised.
        shape: Channels, height and width of the images.
        class_names: The classes in the order of the outputs.
        pixel_range: How images of more than eight bits were scaled, if there were any.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("Writing ONNX models", "train") from None
    channels, height, width = shape
    whole = _FromPixels(copy.deepcopy(model), standardise).cpu().eval()
    example = torch.zeros(2, height, width, channels, dtype=torch.uint8)
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            # The newer exporter needs another package; the older one warns at every call.
            warnings.simplefilter("ignore")
            _export(whole, example, buffer)
    except Exception as error:
        raise OutputError(
            f"The model cannot be written as ONNX: {reason(error)}. Its weights are in model.pt."
        ) from error
    made = onnx.load_from_string(buffer.getvalue())
    known: dict[str, Any] = {
        "schema": 1,
        "class_names": class_names,
        "height": height,
        "width": width,
    }
    entry = made.metadata_props.add()
    known |= {"channels": channels, "pixel_range": pixel_range}
    entry.key, entry.value = METADATA, json.dumps(known)
    content: bytes = made.SerializeToString()
    return content


def _export(whole: nn.Module, example: Tensor, buffer: Any) -> None:
    torch.onnx.export(
        whole,
        (example,),
        buffer,
        dynamo=False,
        input_names=[INPUT],
        output_names=["probabilities"],
        dynamic_axes={INPUT: {0: "n"}, "probabilities": {0: "n"}},
    )
