"""Options declared once: fields of a frozen dataclass that command line and Python share."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, replace
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mixmood.core.errors import OptionError
from mixmood.core.suggest import unknown_name

T = TypeVar("T")
R = TypeVar("R")

KINDS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a word", bool: "a bool"}


def option(default: T, text: str, **more: Any) -> T:
    """A field of a plan: its default and its help; `more` is extra metadata for the interface."""
    value: T = field(default=default, metadata={"help": text, **more})
    return value


def options_of(plan: type[Any]) -> dict[str, Field[Any]]:
    """The fields of a plan that have a help text, by name."""
    return {found.name: found for found in fields(plan) if "help" in found.metadata}


def check_kinds(plan: Any) -> None:
    """Refuse values that are not of the kind their field declares: numbers, words, bools."""
    hints = get_type_hints(type(plan))
    for name, value in ((found.name, getattr(plan, found.name)) for found in fields(plan)):
        wanted = _parts(hints[name])
        if not wanted or (value is None and type(None) in wanted):
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        fits = (
            (int in wanted and is_whole)
            or (float in wanted and is_number)
            or (str in wanted and isinstance(value, str))
            or (bool in wanted and isinstance(value, bool))
        )
        if not fits:
            kind = next(KINDS[part] for part in wanted if part in KINDS)
            raise OptionError(f"{name} must be {kind}; got {value!r:.100}.")


def _parts(hint: Any) -> tuple[Any, ...]:
    """The plain kinds of a field; none for a field that takes other things."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return parts if all(part in KINDS or part is type(None) for part in parts) else ()


def with_options(plan: T, options: Mapping[str, Any]) -> T:
    """The plan with some options changed; an unknown one is refused with the nearest known."""
    known = [found.name for found in fields(plan)]  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    return replace(plan, **options)  # type: ignore[type-var]


def takes_options_of(kind: type[Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator for a function with a parameter `plan`: its options can be given by name.

    `train(..., epochs=3)` becomes `train(..., plan=TrainingPlan(epochs=3))`, and the signature
    and the docstring of the function list the options as the plan declares them.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(function)
        own = set(signature.parameters)

        @functools.wraps(function)
        def taking(*args: Any, plan: Any = None, **given: Any) -> R:
            options = {name: given.pop(name) for name in list(given) if name not in own}
            chosen = with_options(kind() if plan is None else plan, options)
            return function(*args, plan=chosen, **given)

        shown = {**signature.parameters}
        shown["plan"] = shown["plan"].replace(default=None)
        for found in fields(kind):
            shown.setdefault(found.name, _parameter(found))
        taking.__signature__ = signature.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
        lines = [f"        {name}: {f.metadata['help']}" for name, f in options_of(kind).items()]
        listed = "\n".join(["", f"    Options, the fields of `{kind.__name__}`:", "", *lines, ""])
        taking.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n{inspect.cleandoc(listed)}\n"
        return taking

    return decorate


def _parameter(found: Field[Any]) -> inspect.Parameter:
    default = found.default if found.default_factory is MISSING else found.default_factory()
    return inspect.Parameter(
        found.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=found.type
    )
