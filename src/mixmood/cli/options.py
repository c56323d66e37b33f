"""Options of commands: those that several share, and the fields of a plan."""

from collections.abc import Callable
from dataclasses import Field
from functools import partial
from inspect import Parameter, Signature
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from mixmood.core.errors import OptionError
from mixmood.core.options import KEY, OptionText, plan_fields, with_options


def no_stdout(path: str | None) -> str | None:
    """The path of a page; OptionError for stdout."""
    if path == "-":
        raise OptionError("The page is written to a file, not to stdout. Give --html FILE.")
    return path


def file(help: str, metavar: str = "FILE|-", **how: Any) -> Any:
    """An option that names a file."""
    return typer.Option(metavar=metavar, help=help, **how)


def page(help: str) -> Any:
    """An option that names the file of a page."""
    return file(help, "FILE", callback=no_stdout)


LIST = "FILE.csv|.parquet|.txt"
Labelled = Annotated[str, typer.Argument(metavar="LABELLED", help="The labelled images.")]
Json = Annotated[str | None, file("Write the record; - is stdout.")]
Csv = Annotated[str | None, file("Write one row for each pool and measure; - is stdout.")]
Html = Annotated[str | None, page("Write one HTML page.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")]


def paths(words: list[str]) -> list[str]:
    """What pools given as PATH or NAME=PATH may name: an output must be none of it."""
    return [path for word in words for path in (word, word.partition("=")[2]) if path]


def takes(
    plan: type, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: fields of a plan are options of a command, in the place of its `plan`.

    Fields in `without` are not offered; they keep their defaults.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        command, parameters, hints = with_options(plan)(function), [], get_type_hints(plan)
        for parameter in Signature.from_callable(function).parameters.values():
            if parameter.name == "plan":
                fields = [one for one in plan_fields(plan) if KEY in one.metadata]
                asked = [one for one in fields if one.name not in without]
                parameters += [_parameter(one, hints[one.name]) for one in asked]
            else:
                parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.__doc__ = function.__doc__
        return command

    return decorate


def _parameter(one: Field[Any], hint: Any) -> Parameter:
    """An option for typer, with its help; one that must be given has no default."""
    text: OptionText = one.metadata[KEY]
    flag = text.flag or f"--{one.name.replace('_', '-')}"
    flags = (flag,) if isinstance(flag, str) else flag
    shown = True if text.shown is None else text.shown
    how: dict[str, Any] = {"help": text.help, "metavar": text.metavar, "show_default": shown}
    kinds = get_args(hint)
    if text.takes_none:
        how["parser"] = partial(_or_none, one.name, float if float in kinds else str)
        hint = Any
    elif get_origin(hint) is tuple:
        hint = list[kinds[0]]  # type: ignore[valid-type]
    elif hint is Any or str in kinds:
        # Python users may give other types, such as paths; the command line gives text.
        hint = str | None if NoneType in kinds and not text.is_required else str
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    default = Parameter.empty if text.is_required else default
    option = Annotated[hint, typer.Option(*flags, **how)]
    return Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=option)


def _or_none(name: str, wanted: type, word: Any) -> Any:
    """The value of an option that may be "none"."""
    if word is None or word == "none":
        return None
    try:
        return wanted(word)
    except ValueError:
        raise OptionError(f"{name} must be a number or none; got '{word}'.") from None
