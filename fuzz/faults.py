"""Readers that are known to be bad, to see that the harness finds them: `python -m fuzz.faults`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import fuzz.child
from fuzz.__main__ import main
from fuzz.reader import Reader, Seed
from fuzz.readers import READERS

START = b"start" * 20


def abort() -> None:
    """End the process."""
    os.abort()


def raise_another() -> None:
    """Raise an error that is not meant for users."""
    raise KeyError("x")


def write_outside() -> None:
    """Write outside the folder."""
    Path(os.environ["OUTSIDE"]).write_text("x")


def take_memory() -> None:
    """Use more memory than is allowed."""
    bytearray(8 * 2**30)


def hang() -> None:
    """Compute forever."""
    while True:
        pass


def wait() -> None:
    """Wait forever."""
    os.read(os.pipe()[0], 1)


def reads_with(fault: Callable[[], None]) -> Callable[[Path, str], str]:
    """A reader that has a fault as soon as its input is not the seed."""

    def read(folder: Path, name: str) -> str:
        # The harness reads a seed as it is first: only what is damaged may do damage.
        if (folder / name).read_bytes() != START:
            fault()
        return "read"

    return read


if __name__ == "__main__":
    fuzz.child.BUSY_SECONDS, fuzz.child.IDLE_SECONDS = 0.2, 3
    for bad in (abort, raise_another, write_outside, take_memory, hang, wait):
        READERS[bad.__name__] = Reader(lambda: [Seed("x", START)], reads_with(bad))
    sys.exit(main())
