"""Options declared once: the fields of a frozen plan, which command line and Python share."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

from mixmood.core.suggest import unknown_name

P = TypeVar("P")

KEY = "option"
"""Where a field's metadata holds its `OptionText`."""


@dataclass(frozen=True)
class OptionText:
    """How an option is described and typed.

    Attributes:
        help: One sentence, for `--help` and docstrings.
        flag: The words of the command line; from the name of the field if None.
        metavar: What `--help` calls the value.
        default: What `--help` shows as the default; the default itself if None.
        takes_none: Whether the word "none" on the command line stands for None.
    """

    help: str
    flag: tuple[str, ...] | None = None
    metavar: str | None = None
    default: str | None = None
    takes_none: bool = False


def option(
    default: Any,
    help: str,
    *,
    flag: str | tuple[str, ...] | None = None,
    metavar: str | None = None,
    shown: str | None = None,
    takes_none: bool = False,
) -> Any:
    """A field of a plan that is an option of its command; see `OptionText`."""
    words = (flag,) if isinstance(flag, str) else flag
    text = OptionText(help, words, metavar, shown, takes_none)
    return field(default=default, metadata={KEY: text})


def option_texts(plan: type) -> dict[str, OptionText]:
    """The options of a plan by the name of their field."""
    return {one.name: one.metadata[KEY] for one in fields(plan) if KEY in one.metadata}


def plan_from(plan: type[P], options: Mapping[str, Any]) -> P:
    """The plan with these options; a name that it does not have is refused, with the nearest one.

    >>> @dataclass(frozen=True)
    ... class Plan:
    ...     draws: int = option(30, "Number of draws.")
    >>> plan_from(Plan, {"draw": 3})
    Traceback (most recent call last):
    mixmood.core.errors.OptionError: Unknown option 'draw'. Did you mean 'draws'? Known: draws.
    """
    known = option_texts(plan)
    for name in options:
        if name not in known:
            raise unknown_name("option", name, known)
    return plan(**options)


def with_options(function: Any, plan: type) -> None:
    """Show a plan's options in the signature and docstring of a function with `**options`."""
    own = Signature.from_callable(function)
    hints = get_type_hints(plan)
    named = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(plan)
        if KEY in one.metadata
    ]
    kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    order = sorted([*kept, *named], key=lambda parameter: parameter.kind)
    function.__signature__ = own.replace(parameters=order)
    lines = [f"        {name}: {text.help}" for name, text in option_texts(plan).items()]
    function.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), *lines, "    "])
