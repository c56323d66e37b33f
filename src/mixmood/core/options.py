"""Options declared once, as fields of a plan that command line and Python share."""

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import wraps
from inspect import Parameter, Signature, get_annotations
from pathlib import Path
from textwrap import TextWrapper
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mixmood.core.errors import OptionError
from mixmood.core.text import check_name

P = TypeVar("P")
R = TypeVar("R")

SHARED_HELP = {
    "listener": "Gets progress, warnings and notes; see `mixmood.core.listener`.",
    "plan": "The options as one object; options that are given by name replace its fields.",
}
KEY = "option"  # where a field's metadata holds its `OptionText`

# The kinds of values that are checked; a field of several kinds is called by the first.
KINDS: dict[Any, str] = {
    Path: "a path", int: "a whole number", float: "a number", str: "a word", bool: "a bool",
}  # fmt: skip


@dataclass(frozen=True)
class OptionText:
    """How an option is described, and how it is written on the command line."""

    help: str  # one sentence, for `--help` and docstrings
    flag: str | tuple[str, ...] | None = None  # made from the name of the field if None
    metavar: str | None = None  # the name of the value in `--help`
    shown: str | None = None  # what `--help` shows as the default; the default itself if None
    takes_none: bool = False  # whether the word "none" on the command line stands for None
    only: str | None = None  # the kind of model that takes the option; None if every kind does
    is_required: bool = False  # whether the command line must give it; Python need not


def option(default: Any, help: str, **how: Any) -> Any:
    """A field of a plan that is an option of its command; `how` are attributes of `OptionText`."""
    return field(default=default, metadata={KEY: OptionText(help, **how)})


def option_texts(plan: type) -> dict[str, OptionText]:
    """The options of a plan by the name of their field."""
    return {one.name: one.metadata[KEY] for one in plan_fields(plan) if KEY in one.metadata}


def plan_fields(plan: Any) -> list[Field[Any]]:
    """The fields of a plan in the order of `--help`: its own, then those of its base plans."""
    classes = plan.__mro__

    def place(one: Field[Any]) -> int:
        return next(i for i, kind in enumerate(classes) if one.name in get_annotations(kind))

    return sorted(fields(plan), key=place)


def plan_from(plan: type[P], options: Mapping[str, Any], start: Any = None) -> P:
    """The plan with these options; an unknown name is refused, and the nearest name offered.

    NumPy's numbers become Python's, which can be written as JSON. `start` is a plan of this kind,
    or of one that it extends, which gives the other values; the defaults if None.

    >>> @dataclass(frozen=True)
    ... class Plan:
    ...     draws: int = option(30, "Number of draws.")
    >>> plan_from(Plan, {"draw": 3})
    Traceback (most recent call last):
    mixmood.core.errors.OptionError: Unknown option 'draw'. Did you mean 'draws'? Known: draws.
    """
    hints = get_type_hints(plan)
    known = [one.name for one in fields(plan)]  # type: ignore[arg-type]
    for name in options:
        check_name("option", name, known)
    plain = {name: _plain(value, hints[name]) for name, value in options.items()}
    if start is None or isinstance(start, plan):
        return plan(**plain) if start is None else replace(start, **plain)  # type: ignore[type-var]
    return plan(**{one.name: getattr(start, one.name) for one in fields(start)} | plain)


def _plain(value: Any, hint: Any) -> Any:
    """Python's own number, a path as text and one of several as a tuple where these are wanted."""
    if get_origin(hint) is tuple and str in get_args(hint):
        values = (value,) if isinstance(value, str | os.PathLike) else value
        return tuple(map(os.fspath, values)) if isinstance(values, list | tuple) else value
    if isinstance(value, os.PathLike) and str in (kinds := _kinds(hint)) and Path not in kinds:
        return os.fspath(value)
    return value.item() if getattr(value, "shape", None) == () else value


def with_options(kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator: the fields of a plan become keyword arguments of a function with a `plan`.

    The function gets the checked plan; options by name replace fields of a given one. Signature and
    docstring list them for `help()`, and the stub of the package is made from the signature.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        own = Signature.from_callable(function)

        @wraps(function)
        def call(*args: Any, plan: Any = None, **given: Any) -> R:
            kept = {name: given.pop(name) for name in own.parameters if name in given}
            return function(*args, plan=plan_from(kind, given, plan), **kept)

        parameters = dict(own.parameters)
        described = parameters.pop("plan").replace(default=None, annotation=kind | None)
        named = [_parameter(one, get_type_hints(kind)[one.name]) for one in plan_fields(kind)]
        every = sorted([*parameters.values(), described, *named], key=lambda one: one.kind)
        call.__signature__ = own.replace(parameters=every)  # type: ignore[attr-defined]
        texts = {name: help for name, help in SHARED_HELP.items() if name in own.parameters}
        texts |= {name: text.help for name, text in option_texts(kind).items()}
        wrapper = TextWrapper(99, " " * 8, " " * 12, break_long_words=False, break_on_hyphens=False)
        lines = [wrapper.fill(f"{name}: {help}") for name, help in texts.items()]
        text = (function.__doc__ or "").rstrip()
        head = [text] if "    Args:\n" in text else [text, "", "    Args:"]
        call.__doc__ = "\n".join([*head, *lines, "    "])
        return call

    return decorate


def _parameter(one: Field[Any], hint: Any) -> Parameter:
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def check_kinds(plan: Any) -> None:
    """Refuse values that are not of the kind their field declares: numbers, words, bools, paths."""
    hints = get_type_hints(type(plan))
    for one in fields(plan):
        name, value = one.name, getattr(plan, one.name)
        wanted = _kinds(hints[name])
        if not wanted or (value is None and (type(None) in wanted or one.default is None)):
            continue
        # A bool is an int for Python; an int will do where a float is wanted.
        types = tuple({float: int | float, Path: os.PathLike}.get(kind, kind) for kind in wanted)
        fits = bool in wanted if isinstance(value, bool) else isinstance(value, types)
        if not fits:
            kind = next(word for part, word in KINDS.items() if part in wanted)
            raise OptionError(f"{name} must be {kind}; got {value!r:.100}.")


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types that a field takes, if all are in KINDS or None; else empty."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return parts if all(part in KINDS or part is type(None) for part in parts) else ()


DEFAULT_BACKBONE = "efficientnet-lite0"
AUTO_BACKBONE = "auto"  # chooses the backbone with which the supervised head is most accurate
DEFAULT_MEASURE = "cosine"
DEFAULT_SCORE = "combined"

MEASURE_NAMES = (
    "l1", "l2", "js", "cosine", "frechet", "kernel", "energy", "sliced-wasserstein", "classifier",
    "typicality",
)  # fmt: skip
PROBE_ALGORITHMS = ("pseudo-label", "propagation", "mixmatch")
DEFAULT_PROBE = "pseudo-label"  # gains are measured for this head, and `train` uses it with a pool
BACKBONE_NAMES = ("efficientnet-lite0", "wide-resnet50-2", "untrained-wrn")
HEAD_ALGORITHMS = ("supervised", "mixmatch", "pseudo-label", "propagation")
NETWORK_ALGORITHMS = (
    "supervised", "mixmatch", "pseudo-label", "fixmatch", "freematch", "mean-teacher",
)  # fmt: skip
SCORE_NAMES = ("knn", "prototypes", "subspace", "classifier", "combined")
"""Members of the families, for help texts that import none of them; a test compares them."""
