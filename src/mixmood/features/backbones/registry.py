"""Which backbone has this name, and which does `auto` compare?"""

from collections.abc import Callable
from importlib.resources import files

from mixmood.core.errors import OptionError
from mixmood.core.listener import Listener
from mixmood.core.options import AUTO_BACKBONE, DEFAULT_BACKBONE
from mixmood.core.text import unknown_name
from mixmood.features.backbones import untrained_wrn, wide_resnet
from mixmood.features.backbones.backbone import Backbone, check_resolution
from mixmood.features.backbones.devices import CPU
from mixmood.features.backbones.hub_files import is_hub_model
from mixmood.features.backbones.hub_model import HubBackbone
from mixmood.features.backbones.onnx_file import is_onnx_file, load_onnx_file
from mixmood.features.backbones.onnx_network import MiddleLayer, OnnxBackbone
from mixmood.features.backbones.view import LAST, RESOLUTIONS, View


def efficientnet_lite0(resolution: int | None = None) -> Backbone:
    """EfficientNet-Lite0 with ImageNet weights, 1280 features; its file is in the package."""
    weights = files("mixmood.features.backbones").joinpath("weights/efficientnet_lite0.onnx")
    return OnnxBackbone(
        DEFAULT_BACKBONE,
        weights.read_bytes(),
        check_resolution(resolution),
        resolutions=RESOLUTIONS,
        output="features",
        width=1280,
        middle=MiddleLayer("v126", 4 * 672),  # after the eleventh depthwise convolution
    )


BACKBONES: dict[str, Callable[[int | None], Backbone]] = {
    DEFAULT_BACKBONE: efficientnet_lite0,
    wide_resnet.NAME: wide_resnet.wide_resnet50_2,
    untrained_wrn.NAME: untrained_wrn.untrained_wrn,
}


def load_backbone(
    name: str = DEFAULT_BACKBONE,
    resolution: int | None = None,
    device: str = CPU,
    depth: str = LAST,
    listener: Listener | None = None,
) -> Backbone:
    """One of BACKBONES, of an ONNX file, or of the hub: hf:NAME, hf:NAME@REVISION or hf:DIR."""
    if is_hub_model(name):
        backbone: Backbone = HubBackbone(name, resolution)
    elif is_onnx_file(name):
        backbone = load_onnx_file(name, resolution)
    elif name in BACKBONES:
        backbone = BACKBONES[name](resolution)
    elif name.partition(":")[0] == AUTO_BACKBONE:
        raise OptionError(
            f"{name} chooses a backbone by labelled images, which rank, filter and train have. "
            "Name one backbone here."
        )
    else:
        raise unknown_name("backbone", name, [*BACKBONES, "FILE.onnx", "hf:NAME", AUTO_BACKBONE])
    backbone.use_device(device, listener)
    return backbone if depth == LAST else backbone.at(View(backbone.resolution, depth))


MARK = f"{AUTO_BACKBONE}:"


def is_auto(name: str) -> bool:
    """Whether the name asks for a choice: `auto`, or `auto:NAME,NAME,...`."""
    return name == AUTO_BACKBONE or name.startswith(MARK)


def names_to_compare(word: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The backbones to compare, and those that are left out with the reason.

    >>> names_to_compare("auto:efficientnet-lite0, hf:models/dino")
    (('efficientnet-lite0', 'hf:models/dino'), {})
    """
    if word == AUTO_BACKBONE:
        why = "an image's features depend on the other images of its batch"
        left_out = {untrained_wrn.NAME: why}
        if not wide_resnet.is_on_this_machine():
            why = "its weights are not on this machine; name it to fetch 132 MB"
            left_out[wide_resnet.NAME] = why
        return tuple(name for name in BACKBONES if name not in left_out), left_out
    names = tuple(dict.fromkeys(name.strip() for name in word.removeprefix(MARK).split(",")))
    if not all(names):
        raise OptionError(
            f"The backbones to compare are written auto:NAME,NAME; got '{word}'. "
            "Write each name as without auto, such as auto:efficientnet-lite0,hf:DIR."
        )
    return names, {}
