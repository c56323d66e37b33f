"""A command whose options are the fields of a plan."""

from collections.abc import Callable
from dataclasses import Field
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from mixmood.core.errors import OptionError
from mixmood.core.options import KEY, OptionText, option_texts, plan_fields


def takes(
    plan: type, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that makes the fields of a plan the options of a command.

    The function gets the plan as its parameter `plan`; `--help` shows the options in its place.

    Args:
        plan: A frozen dataclass whose fields are made by `option`.
        without: Fields that the command does not offer; they keep their defaults.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        names = [name for name in option_texts(plan) if name not in without]

        def command(**given: Any) -> None:
            function(plan=plan(**{name: given.pop(name) for name in names}), **given)

        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY)
            for parameter in Signature.from_callable(function).parameters.values()
        ]
        place = [parameter.name for parameter in own].index("plan")
        parameters = [*own[:place], *_parameters(plan, names), *own[place + 1 :]]
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _parameters(plan: type, names: list[str]) -> list[Parameter]:
    hints = get_type_hints(plan)
    return [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=_default(one),
            annotation=_annotation(one.name, hints[one.name], one.metadata[KEY]),
        )
        for one in plan_fields(plan)
        if one.name in names
    ]


def _default(one: Field[Any]) -> Any:
    """The default of an option; none for one that must be given."""
    if one.metadata[KEY].is_required:
        return Parameter.empty
    return list(one.default) if isinstance(one.default, tuple) else one.default


def _annotation(name: str, hint: Any, text: OptionText) -> Any:
    """The type of an option for typer, with its help."""
    flags = text.flag or (f"--{name.replace('_', '-')}",)
    shown: Any = True if text.default is None else text.default
    described = partial(
        typer.Option, *flags, help=text.help, metavar=text.metavar, show_default=shown
    )
    if text.takes_none:
        wanted = float if float in get_args(hint) else str
        return Annotated[Any, described(parser=partial(_or_none, name, wanted))]
    if hint is Any:
        hint = str  # Python users may give other types; the command line gives text
    if set(get_args(hint)) == {str, Path, NoneType}:
        hint = str if text.is_required else str | None  # a path is typed as text
    if get_origin(hint) is tuple:
        hint = list[get_args(hint)[0]]  # type: ignore[misc]
    return Annotated[hint, described()]


def _or_none(name: str, wanted: type, word: Any) -> Any:
    """The value of an option that may be "none"."""
    if word is None or word == "none":
        return None
    try:
        return wanted(word)
    except ValueError:
        raise OptionError(f"{name} must be a number or none; got '{word}'.") from None
