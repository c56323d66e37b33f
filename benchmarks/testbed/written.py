"""Summaries of a folder of results, written beside its records or into a page."""

import argparse
import re
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


def filled(text: str, tables: dict[str, Callable[[], list[str]]]) -> str:
    """A page with its tables as the records have them now.

    A table is between `<!-- NAME -->` and `<!-- end -->`; the text around it is not changed.
    """

    def block(match: re.Match[str]) -> str:
        name = match[1]
        if name not in tables:
            return match[0]
        return "\n".join([f"<!-- {name} -->", "", *tables[name](), "", "<!-- end -->"])

    return re.sub(r"<!-- ([a-z0-9 -]+?) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)
