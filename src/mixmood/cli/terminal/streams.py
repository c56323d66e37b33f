"""Results to stdout, everything else to stderr."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mixmood.core.files.atomic import write_atomic
from mixmood.report.charts.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def open_closed_streams() -> None:
    """Point standard streams that are closed at nothing: what is written to them is lost.

    Otherwise the next file that is opened takes the place of a closed one, and what is printed
    ends up in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, mode))


def abandon_stdout() -> None:
    """Drop what could not be written: at exit Python would try again and print an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def console(is_error: bool = False) -> "Console":
    """A console that knows its terminal, and NO_COLOR; plain and wide where there is none."""
    from rich.console import Console

    stream = sys.stderr if is_error else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, width=width, highlight=False, soft_wrap=is_error)


def say(text: str, style: str = "") -> None:
    """One line on stderr; control characters in it are escaped."""
    from rich.text import Text

    # A full disk behind stderr cannot be reported; it must not end in a traceback.
    with suppress(OSError):
        console(is_error=True).print(Text(printable(text), style=style))


def show(view: "RenderableType") -> None:
    """A result on stdout; lines that must not be broken are left to the terminal."""
    console().print(view, crop=False)


def readable(text: str) -> str:
    """Lines for people: control characters in them are escaped."""
    return "\n".join(printable(line) for line in text.split("\n"))


def put(target: str | None, text: str) -> None:
    """A result into the file that was asked for, if one was; `-` is stdout."""
    if target == "-":
        # A file or a program gets the text as it is; a terminal would interpret control characters.
        sys.stdout.write(readable(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    elif target is not None:
        write_atomic(target, text)


@contextmanager
def warnings_said() -> Iterator[None]:
    """Warnings raised inside are printed on stderr, once each and without a source location."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"Warning: {text}", style="yellow")
