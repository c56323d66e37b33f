"""`--backbone auto`: which backbones are compared."""

from mixmood.core.errors import OptionError
from mixmood.core.family_names import AUTO_BACKBONE
from mixmood.features.backbones import untrained_wrn, wide_resnet
from mixmood.features.backbones.registry import BACKBONES

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
        left_out = _left_out()
        return tuple(name for name in BACKBONES if name not in left_out), left_out
    names = tuple(dict.fromkeys(name.strip() for name in word.removeprefix(MARK).split(",")))
    if not all(names):
        raise OptionError(
            f"The backbones to compare are written auto:NAME,NAME; got '{word}'. "
            "Write each name as without auto, such as auto:efficientnet-lite0,hf:DIR."
        )
    return names, {}


def _left_out() -> dict[str, str]:
    """The backbones of the package that `auto` alone does not compare, and why."""
    left_out = {
        untrained_wrn.NAME: "an image's features depend on the other images of its batch",
        wide_resnet.NAME: "its weights are not on this machine; name it to fetch 132 MB",
    }
    if wide_resnet.is_on_this_machine():
        del left_out[wide_resnet.NAME]
    return left_out
