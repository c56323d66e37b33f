"""Networks by name (`wrn` is the paper's), and whether one fits in memory."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mixmood.core.errors import OptionError
from mixmood.core.text import check_name, unknown_name
from mixmood.numerics.checks import check_setting

if TYPE_CHECKING:
    from torch import nn

MOST_FILTERS = 64
TUNED = "efficientnet-lite0"
SHORTCUTS = ("identity", "active")


def usual_algorithm(model: object) -> str:
    """The algorithm that `auto` trains a network with: the paper's for those from scratch."""
    # On MNIST, CIFAR-10 and FashionMNIST (development classes, 60 labels, a clean pool, three
    # seeds) the fine-tuned backbone reaches 97.4, 84.8, 81.7 with FreeMatch, 96.3, 77.4, 82.5 with
    # MixMatch and 95.3, 81.1, 80.2 without a pool (`python -m benchmarks.heads.networks`).
    return "freematch" if isinstance(model, str) and model == TUNED else "mixmatch"


@dataclass(frozen=True)
class WideResNetSpec:
    """A Wide-ResNet to be built once image size, channels and classes are known.

    `first_filters` of 0 means as many as the image has rows, as in the paper, but at most 64:
    photos would make the network too large for memory. For `shortcut` see `wrn.Block`.
    """

    groups: int = 3
    blocks: int = 4
    widening: int = 2
    first_filters: int = 0
    shortcut: str = "identity"

    def __post_init__(self) -> None:
        """Refuse sizes below 1 (`first_filters`: below 0) and an unknown shortcut."""
        for name, lowest in {"groups": 1, "blocks": 1, "widening": 1, "first_filters": 0}.items():
            check_setting(f"{name} of a Wide-ResNet", getattr(self, name), lowest)
        check_name("shortcut of a Wide-ResNet", self.shortcut, SHORTCUTS)

    def build(self, shape: tuple[int, int, int], n_classes: int) -> "nn.Module":
        """The network for images of (channels, height, width)."""
        from mixmood.ssl.models.wrn import WideResNet

        return WideResNet(self, shape, n_classes)

    def filters_for(self, height: int) -> int:
        """The filters of the first convolution for images of this height."""
        return self.first_filters or min(height, MOST_FILTERS)


@dataclass(frozen=True)
class TunedSpec:
    """The packaged backbone, fine-tuned from the solution of the frozen head."""

    backbone: str = TUNED
    share: float = 0.5  # of the way from the frozen weights to the fine-tuned ones, which is kept

    def build(self, shape: tuple[int, int, int], n_classes: int) -> "nn.Module":
        """The network; images must have three channels."""
        from mixmood.ssl.models.tuned import TunedNetwork

        if shape[0] != 3:
            raise OptionError(f"{self.backbone} takes RGB images; got {shape[0]} channels.")
        return TunedNetwork(n_classes)


MODELS = {
    "wrn": WideResNetSpec(),
    "wrn-thin": WideResNetSpec(groups=3, blocks=4, widening=1, first_filters=8),
    "wrn-small": WideResNetSpec(groups=3, blocks=1, widening=1, first_filters=16),
    "wrn-tiny": WideResNetSpec(groups=2, blocks=1, widening=1, first_filters=4),
}


def model_spec(word: "str | nn.Module") -> "WideResNetSpec | TunedSpec | nn.Module":
    """A network by name; settings of a Wide-ResNet may follow after a colon. A module stays.

    >>> model_spec("wrn:blocks=2,first_filters=16")
    WideResNetSpec(groups=3, blocks=2, widening=2, first_filters=16, shortcut='identity')
    """
    if not isinstance(word, str):
        return word
    if word == TUNED:
        return TunedSpec()
    name, _, changes = word.partition(":")
    if name not in MODELS:
        raise unknown_name("model", name, [*MODELS, TUNED, "head"])
    values: dict[str, Any] = {}
    for change in filter(None, changes.split(",")):
        key, _, value = change.partition("=")
        check_name("setting of a Wide-ResNet", key, vars(MODELS[name]))
        if key != "shortcut" and not value.isdecimal():
            raise OptionError(f"{key} of a Wide-ResNet must be a whole number; got '{value}'.")
        values[key] = value if key == "shortcut" else int(value)
    return replace(MODELS[name], **values)


KEPT_PER_BLOCK = 5  # maps kept for the backward pass: input, two normalised, two convolved
USABLE_SHARE = 0.8


def activation_bytes(spec: WideResNetSpec, side: int, n_images: int) -> int:
    """An estimate of the bytes of all activations of one update.

    Every block keeps five maps of its width and size; from group to group the width doubles and the
    side is halved.

    >>> activation_bytes(WideResNetSpec(1, 1, 1, 16), side=8, n_images=2)
    40960
    """
    filters = spec.filters_for(side) * spec.widening
    n_values = 0
    for _ in range(spec.groups):
        n_values += spec.blocks * KEPT_PER_BLOCK * filters * side**2
        filters, side = 2 * filters, max(1, side // 2)
    return 4 * n_images * n_values


def memory_bytes() -> int | None:
    """The memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(spec: WideResNetSpec, side: int, n_images: int) -> None:
    """Refuse a network whose updates would fill the memory of this machine."""
    needed, available = activation_bytes(spec, side, n_images), memory_bytes()
    if available is not None and needed > USABLE_SHARE * available:
        raise OptionError(
            f"An update of {n_images} images of {side} x {side} pixels would need about "
            f"{needed / 1e9:.0f} GB; this machine has {available / 1e9:.0f}. Choose a smaller "
            "--image-size, --batch-size or --model."
        )
