"""Backbones that users bring: any ONNX file from images to features."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from mixmood.core.errors import BackboneError, OptionError, errors_as
from mixmood.core.text import check_name, unknown_name
from mixmood.features.backbones.backbone import DEFAULT_RESOLUTION
from mixmood.features.backbones.devices import open_on_device
from mixmood.features.backbones.onnx_graph import has_external_data
from mixmood.features.backbones.onnx_network import (
    FLOATS,
    MICRO_BATCH,
    InputFormat,
    OnnxBackbone,
    Triple,
)
from mixmood.features.backbones.view import RESOLUTIONS

KEYS = ("layout", "range", "mean", "std", "resolution", "output")
LAYOUTS = ("nhwc", "nchw")


def positive_number(
    settings: Mapping[str, str], key: str, *, is_whole: bool = False
) -> float | None:
    """A positive number among the settings; None if it is not there."""
    if key not in settings:
        return None
    values = _numbers(settings[key])
    if len(values) != 1 or values[0] <= 0 or (is_whole and not values[0].is_integer()):
        kind = "positive whole number" if is_whole else "positive number"
        raise OptionError(f"{key} must be one {kind}; got '{settings[key]}'.")
    return values[0]


def triple(settings: Mapping[str, str], key: str, default: float) -> Triple:
    """Three numbers among the settings, one a channel; a single one counts for all."""
    values = _numbers(settings[key]) if key in settings else [default]
    if len(values) == 1:
        values = values * 3
    if len(values) != 3 or (key == "std" and min(values) <= 0):
        kind = "positive numbers" if key == "std" else "numbers"
        raise OptionError(
            f"{key} must be one or three {kind} like 0.485,0.456,0.406; got '{settings[key]}'."
        )
    return values[0], values[1], values[2]


def _numbers(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return values if all(np.isfinite(values)) else []


PREFIX = "mixmood."
LARGEST_BATCH, LARGEST_SIDE = 1024, 4096  # more is a mistake or an attack on the memory
KINDS = {"tensor(uint8)": "uint8", **FLOATS}


def is_onnx_file(name: str) -> bool:
    """Whether a backbone name is the path of an ONNX file."""
    return name.partition("?")[0].lower().endswith(".onnx")


def load_onnx_file(name: str, resolution: int | None = None) -> OnnxBackbone:
    """The backbone in a file: `net.onnx`, or `net.onnx?range=1&mean=0.5&std=0.25`.

    The settings of its input come from the text after the question mark, else from the file's
    metadata properties (`mixmood.range` and so on), else from its graph:

    - `layout`: nhwc or nchw. The graph shows it unless neither axis is 3 or both are.
    - `range`: the value of white, 1 or 255. Needed unless the input is uint8.
    - `mean`, `std`: subtracted and divided by, in units of that range; one number or three.
    - `resolution`: the side of the images. The graph shows it unless it takes any size.
    - `output`: the output with the features, (n, d), or with feature maps to be averaged.
    """
    path, _, query = name.partition("?")
    model = _read(Path(path))
    session = _open(model, path)
    settings = _settings(session, query)
    node = _only_input(session, path)
    input_format = _format(node, settings, path)
    side, is_fixed = _resolution(node, input_format, settings, resolution, path)
    outputs: list[str] = [output.name for output in session.get_outputs()]
    output = settings.get("output", outputs[0])
    check_name("output", output, outputs)
    return OnnxBackbone(
        Path(path).name,
        model,
        side,
        resolutions=None if is_fixed else RESOLUTIONS,
        session=session,
        input_format=input_format,
        output=output,
        fixed_batch=_batch_of_graph(node.shape[0], path),
    )


def _read(path: Path) -> bytes:
    with errors_as(BackboneError, f"Cannot read the backbone {path}"):
        model = path.read_bytes()
    with errors_as(BackboneError, f"{path} is not an ONNX file"):
        is_split = has_external_data(model)
    if is_split:
        raise BackboneError(
            f"{path} keeps its weights in another file, which is not opened for safety. "
            "Save the model as one file, without external data."
        )
    return model


def _open(model: bytes, path: str) -> Any:
    with errors_as(BackboneError, f"ONNX Runtime cannot load {path}"):
        session = open_on_device(model)[0]
        # Names are decoded when they are asked for; some may not be valid text.
        _ = session.get_modelmeta().custom_metadata_map
        _ = [(node.name, node.shape) for node in (*session.get_inputs(), *session.get_outputs())]
        return session


def _settings(session: Any, query: str) -> dict[str, str]:
    properties = session.get_modelmeta().custom_metadata_map.items()
    settings = {key.removeprefix(PREFIX): v for key, v in properties if key.startswith(PREFIX)}
    settings |= dict(parse_qsl(query, keep_blank_values=True))
    for key in settings:
        check_name("option of an ONNX file", key, KEYS)
    return settings


def _only_input(session: Any, path: str) -> Any:
    inputs = session.get_inputs()
    if not session.get_outputs():
        raise BackboneError(f"{path} has no output. Export the network with its features.")
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in KINDS:
        found = ", ".join(f"{node.name} {node.type} {node.shape}" for node in inputs)
        raise BackboneError(
            f"{path} must have one input, a batch of images with four axes of uint8 or float "
            f"numbers; it has {found or 'none'}."
        )
    return inputs[0]


def _format(node: Any, settings: dict[str, str], path: str) -> InputFormat:
    layout, dtype = _layout(node.shape, settings, path), KINDS[node.type]
    scale = positive_number(settings, "range")
    if dtype == "uint8":
        if given := [key for key in ("range", "mean", "std") if key in settings]:
            raise OptionError(
                f"{path} takes uint8 pixels as they are; leave out {' and '.join(given)}."
            )
        return InputFormat(layout)
    if scale is None:
        raise BackboneError(
            f"{path} takes {dtype} numbers and does not say in which range. Add it to the name, "
            f"as in '{path}?range=1&mean=0.485,0.456,0.406&std=0.229,0.224,0.225', or store it "
            "in the file as the metadata properties mixmood.range, mixmood.mean, mixmood.std."
        )
    mean, std = triple(settings, "mean", 0), triple(settings, "std", 1)
    return InputFormat(layout, dtype, scale, mean, std)


def _layout(shape: list[Any], settings: dict[str, str], path: str) -> str:
    if "layout" in settings:
        layout = settings["layout"]
        if layout.lower() not in LAYOUTS:
            raise unknown_name("layout", layout, LAYOUTS)
        return layout.lower()
    if (shape[1] == 3) == (shape[3] == 3):
        raise BackboneError(
            f"{path} does not show which axis of its input {shape} holds the colours. "
            f"Give it: '{path}?layout=nchw' or '{path}?layout=nhwc'."
        )
    return "nchw" if shape[1] == 3 else "nhwc"


def _batch_of_graph(length: Any, path: str) -> int:
    if not isinstance(length, int):
        return MICRO_BATCH
    if not 1 <= length <= LARGEST_BATCH:
        raise BackboneError(
            f"{path} takes batches of {length} images; 1 to {LARGEST_BATCH} are possible. "
            "Export the network for batches of any size."
        )
    return length


def _resolution(
    node: Any, input_format: InputFormat, settings: dict[str, str], asked: int | None, path: str
) -> tuple[int, bool]:
    """The side to use, and whether the file or its settings allow no other."""
    height, width = node.shape[2:] if input_format.layout == "nchw" else node.shape[1:3]
    fixed = {side for side in (height, width) if isinstance(side, int)}
    stated = positive_number(settings, "resolution", is_whole=True)
    side = asked or (int(stated) if stated else None) or next(iter(fixed), DEFAULT_RESOLUTION)
    if not 1 <= side <= LARGEST_SIDE or fixed - {side}:
        raise BackboneError(
            f"{path} takes images of {height} x {width} pixels; squares of {side} do not fit. "
            "Leave the resolution out, or export the network for squares."
        )
    return side, bool(fixed or stated)
