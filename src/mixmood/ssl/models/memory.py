"""A check that the updates of a network fit in the memory of this machine."""

import os

from mixmood.core.errors import OptionError
from mixmood.ssl.models.registry import WideResNetSpec

KEPT_PER_BLOCK = 5
"""Maps that a block keeps for the backward pass: its input, two normalised, two convolved."""
USABLE_SHARE = 0.8


def activation_bytes(spec: WideResNetSpec, side: int, n_images: int) -> int:
    """An estimate of the bytes of all activations of one update.

    Every block keeps five maps of its width and size. From group to group the width doubles and
    the side is halved, so that each group needs half as much as the one before.

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
