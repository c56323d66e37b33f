"""Options of a command from the plan that declares them."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import Field
from typing import Annotated, Any

import typer

from mixmood.core.plans import options_of


def takes_plan(
    kind: type[Any], leave_out: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command with a parameter `options`: one option for each field of a plan.

    The command gets the values given as a dictionary, and builds the plan from them.

    Args:
        kind: The plan.
        leave_out: Fields that the command has an option of its own for.
    """
    fields = {n: found for n, found in options_of(kind).items() if n not in leave_out}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def taking(**given: Any) -> None:
            options = {name: given.pop(name) for name in fields}
            command(**given, options=options)

        own = inspect.signature(command, eval_str=True).parameters
        kept = [parameter for name, parameter in own.items() if name != "options"]
        parameters = [*kept, *(_parameter(found) for found in fields.values())]
        # Python allows no parameter without a default after one with a default; typer does.
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        taking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        taking.__annotations__ = {p.name: p.annotation for p in parameters}
        return taking

    return decorate


def _parameter(found: Field[Any]) -> inspect.Parameter:
    kind = found.metadata.get("kind", found.type)
    shown = found.metadata.get("shown", True)
    option = typer.Option(help=found.metadata["help"], show_default=shown)
    return inspect.Parameter(
        found.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=found.default,
        annotation=Annotated[kind, option],
    )
