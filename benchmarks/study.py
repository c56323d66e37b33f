"""What studies share: the words that they are started with, and the form of their tables."""

import argparse
from collections.abc import Iterable
from pathlib import Path


def study_parser(text: str | None) -> argparse.ArgumentParser:
    """Takes the folder of features and the file of rows; `text` says what is studied."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("features", type=Path)
    parser.add_argument("rows", type=Path)
    return parser


def table(head: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """A table in Markdown; `head` has its columns between bars."""
    lines = [f"| {head} |", "|" + "---|" * (head.count("|") + 1)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]
