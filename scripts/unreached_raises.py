"""Lists the `raise` statements that no test reaches, and messages that no test quotes.

    make raises

runs the tests under coverage and then this. A statement counts as reached when its line was run,
in a test or in a program that a test started. Its message counts as quoted when a file of tests
has three words of it in a row, or all of them if there are fewer. Only files that reach the
statement count; if another process reached it, where coverage does not know the test, all count.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mixmood"
TESTS = ROOT / "tests"
WORDS_IN_A_ROW = 3
WORD = re.compile(r"\w+")


class Raise(NamedTuple):
    """A statement, and the pieces of its message that are written in it."""

    path: Path
    line: int
    pieces: tuple[str, ...]

    def __str__(self) -> str:
        """The place, and how the message begins."""
        return f"{self.path.relative_to(ROOT)}:{self.line}  {' ... '.join(self.pieces)[:70]}"


def raises_of(path: Path) -> Iterator[Raise]:
    """All statements of a file, in the order of its syntax tree."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise):
            texts = ast.walk(node.exc) if node.exc is not None else ()
            constants = (text.value for text in texts if isinstance(text, ast.Constant))
            pieces = tuple(
                text for text in constants if isinstance(text, str) and WORD.search(text)
            )
            yield Raise(path, node.lineno, pieces)


def runs_of_words(text: str) -> Iterator[str]:
    """What a test may quote: every few words in a row, or all where there are fewer.

    >>> list(runs_of_words("jobs must be at least 1; got "))
    ['jobs must be', 'must be at', 'be at least', 'at least 1', 'least 1 got']
    """
    words = WORD.findall(text)
    for first in range(max(1, len(words) - WORDS_IN_A_ROW + 1)):
        yield " ".join(words[first : first + WORDS_IN_A_ROW])


@cache
def words_of(path: Path) -> str:
    """The words of a file of tests, with nothing but spaces between and around them."""
    text = re.sub(r"\\[bdswn]", " ", path.read_text(encoding="utf-8"))
    return f" {' '.join(WORD.findall(text))} "


def is_quoted(found: Raise, tests: set[Path]) -> bool:
    """Whether a file of tests holds words of the message; a message made elsewhere counts."""
    quotable = {run for piece in found.pieces for run in runs_of_words(piece)}
    return not quotable or any(f" {run} " in words_of(path) for path in tests for run in quotable)


def tests_of(contexts: list[str], by_module: dict[str, Path]) -> set[Path]:
    """The files of tests that reached a line; all when a program of its own reached it."""
    modules = {context.rpartition(".")[0] for context in contexts}
    known = {by_module[module] for module in modules if module in by_module}
    return known if known and "" not in contexts else set(by_module.values())


def main(data_file: str = ".coverage") -> int:
    """Print the statements that lack a test; 1 if there are any."""
    data = CoverageData(data_file)
    data.read()
    by_module = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in TESTS.rglob("*.py")
    }
    found = [one for path in sorted(SOURCE.rglob("*.py")) for one in raises_of(path)]
    unreached, unquoted = [], []
    for one in found:
        contexts = data.contexts_by_lineno(str(one.path)).get(one.line)
        if contexts is None:
            unreached.append(one)
        elif not is_quoted(one, tests_of(contexts, by_module)):
            unquoted.append(one)
    for title, ones in (("reached by no test", unreached), ("message in no test", unquoted)):
        print(f"{len(ones)} of {len(found)} raise statements: {title}")
        print("".join(f"  {one}\n" for one in ones), end="")
    return 1 if unreached or unquoted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
