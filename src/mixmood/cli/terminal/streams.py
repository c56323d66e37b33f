"""Results to stdout, everything else to stderr."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mixmood.core.files import write_atomic
from mixmood.report.text import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def open_closed_streams() -> None:
    """Open closed standard streams on the null device, so that writing to them has no effect.

    Otherwise the next file that is opened gets the file descriptor of a closed stream, and printed
    text is written into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, mode))


def abandon_stdout() -> None:
    """Drop text that could not be written: at exit Python would try again and print an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def console(is_error: bool = False) -> "Console":
    """A console for a terminal, which respects NO_COLOR; plain, 120 columns wide, for a file."""
    from rich.console import Console

    stream = sys.stderr if is_error else sys.stdout
    width = None if stream.isatty() else 120
    return Console(file=stream, width=width, highlight=False, soft_wrap=is_error)


def say(text: str, style: str = "") -> None:
    """Print one line on stderr; control characters in it are escaped."""
    from rich.text import Text

    # A full disk behind stderr cannot be reported; it must not end in a traceback.
    with suppress(OSError):
        console(is_error=True).print(Text(printable(text), style=style))


def show(view: "RenderableType") -> None:
    """Print a result on stdout; long lines that must not be broken are not cut."""
    console().print(view, crop=False)


def readable(text: str) -> str:
    """The text with control characters escaped in every line."""
    return "\n".join(printable(line) for line in text.split("\n"))


def put(target: str | None, text: str) -> None:
    """Write a result to a file; `-` is stdout, None writes nothing."""
    if target == "-":
        # A file or a program gets the text unchanged; a terminal would obey control characters.
        sys.stdout.write(readable(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    elif target is not None:
        write_atomic(target, text)


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print warnings raised inside on stderr, once each and without a source location."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                say(f"Warning: {text}", style="yellow")
