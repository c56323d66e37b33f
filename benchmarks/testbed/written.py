"""A summary of a folder of results, written beside its records."""

import argparse
from collections.abc import Callable
from pathlib import Path

from mixmood.core.files import write_atomic


def write_summary(description: str | None, summary: Callable[[Path], str], name: str) -> None:
    """Write and print the summary of the folder that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    text = summary(folder)
    write_atomic(folder / name, text)
    print(text)
