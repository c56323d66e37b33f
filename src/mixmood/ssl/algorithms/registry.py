"""The algorithms by name."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.text import check_name
from mixmood.ssl.algorithms.algorithm import Algorithm, Supervised
from mixmood.ssl.algorithms.confident import FixMatch, FreeMatch, PseudoLabel
from mixmood.ssl.algorithms.consistency import MeanTeacher, MixMatch

PAPER_RAMP_SHARE = 3000 / 9400  # of the paper's updates: 50 epochs of 188

ALGORITHMS: dict[str, type[Algorithm]] = {
    "supervised": Supervised,
    "mixmatch": MixMatch,
    "pseudo-label": PseudoLabel,
    "fixmatch": FixMatch,
    "freematch": FreeMatch,
    "mean-teacher": MeanTeacher,
}


def algorithm_named(name: str, settings: Mapping[str, Any], n_updates: int) -> Algorithm:
    """An algorithm with some settings changed; `ramp_updates` is by default the paper's share."""
    check_name("algorithm", name, ALGORITHMS)
    known = settings_of(name)
    for word in settings:
        check_name(f"setting of {name}", word, known)
    chosen = dict(settings)
    if "ramp_updates" in known:
        chosen.setdefault("ramp_updates", round(n_updates * PAPER_RAMP_SHARE))
    return ALGORITHMS[name](**chosen)


def settings_of(name: str) -> dict[str, Any]:
    """The settings of an algorithm and their defaults."""
    kind = ALGORITHMS[name]
    return {field.name: field.default for field in fields(kind)} if is_dataclass(kind) else {}


def parsed(name: str, assignments: list[str]) -> dict[str, Any]:
    """Values from assignments such as `gamma=10`, each converted to the type of its default."""
    settings: dict[str, Any] = {}
    for assignment in assignments:
        word, sign, text = assignment.partition("=")
        if not (word and sign and text):
            raise OptionError(f"A setting is NAME=VALUE, such as gamma=10; got '{assignment}'.")
        known = settings_of(name) if name in ALGORITHMS else {}
        # What is not known is refused with the nearest name, by `algorithm_named`.
        settings[word] = _as_kind_of(known.get(word, ""), word, text)
    return settings


def _as_kind_of(default: Any, word: str, text: str) -> Any:
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text not in ("true", "false"):
            raise OptionError(f"{word} must be true or false; got '{text}'.")
        return text == "true"
    try:
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise OptionError(f"{word} must be {kind}; got '{text}'.") from None
