"""Every code block of the documentation runs, offline, and prints what the page says."""

import io
import json
import re
import tomllib
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fixtures.few_draws import ALL, FEW, repeats

from mixmood.data.open import OPENERS
from mixmood.features.backbones.registry import BACKBONES
from mixmood.measures import MEASURES
from mixmood.ssl.algorithms.registry import ALGORITHMS

OF_INTERVALS = ("mixmood.ranking.distance.N_DRAWS", "mixmood.ranking.certainty.N_GROUPS")
TOLD = ALL | {name: FEW[name] for name in OF_INTERVALS}
"""As many of all as users have where a page says what Python prints, but for the intervals of
distances, which no page prints there."""
ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NOT_RUN = {
    "README.md": ["make demo", "make test", "pip install"],
    "docs/index.md": ["pip install"],
    "docs/tutorial.md": ["pip install"],
    "docs/testbed.md": [
        "ray start",
        "mixmood testbed run digits",
        "mixmood testbed run paper-small",
        "mixmood testbed run paper ",
    ],
    "docs/results.md": ["python -m benchmarks"],
    "docs/replication.md": ["sh benchmarks/", "python -m benchmarks"],
    "docs/performance.md": ["pip install", "ray start", "export", "mixmood filter"],
    "docs/faq.md": ["pip "],
    "docs/medical.md": ["pip install"],
    "docs/extend/backbone.md": ["mixmood rank labelled/ crawl.zip --backbone hf:facebook"],
    "docs/extend/measure.md": ["make "],
}
"""The lines that tests leave out, by how they begin: installers, clusters, networks, hours."""


@dataclass(frozen=True)
class Block:
    """A code block: its kind, the line it starts at, its text."""

    kind: str
    line: int
    text: str
    follows: bool
    """Whether it stands right behind the block before it."""


def blocks_of(page):
    """All code blocks of a page, fenced or indented, in their order."""
    found, lines, number = [], page.read_text().splitlines(), 0
    end_of_last = -9
    while number < len(lines):
        start, fence = number, re.match(r"( *)(```+)(\w*)", lines[number])
        is_indented = lines[number].startswith("    ") and not (
            number and lines[number - 1].strip()
        )
        if fence:
            number += 1
            while lines[number].strip() != fence[2]:
                number += 1
            body, kind = lines[start + 1 : number], fence[3]
            body = [line.removeprefix(fence[1]) for line in body]
        elif is_indented and not _is_in_list(lines, number):
            while number + 1 < len(lines) and _goes_on(lines, number + 1):
                number += 1
            body, kind = [line[4:] for line in lines[start : number + 1]], "indented"
        else:
            number += 1
            continue
        is_next = start - end_of_last <= 2
        found.append(Block(kind, start + 1, "\n".join(body) + "\n", is_next))
        end_of_last = number
        number += 1
    return found


def _goes_on(lines, number):
    if lines[number].startswith("    "):
        return True
    rest = lines[number + 1 :]
    return not lines[number].strip() and bool(rest) and rest[0].startswith("    ")


def _is_in_list(lines, number):
    """Whether the indented lines go on with an item of a list, and are no code."""
    before = [line for line in lines[:number] if line.strip()]
    return bool(before) and re.match(r"\s*([-*]|\d+\.) |\s+\S|!!!", before[-1]) is not None


def commands_of(block):
    """The lines of a shell block, continued ones joined; with `$` only those that have it."""
    text = block.text.replace("\\\n", " ")
    typed = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return typed or [line for line in text.splitlines() if line.split("#")[0].strip()]


def is_shell(block):
    return block.kind in ("sh", "console", "indented")


def is_run(block):
    return block.kind == "python" or is_shell(block)


def page_id(page):
    return str(page.relative_to(ROOT))


def printed_by(block):
    """What a block with `$` says that its only command prints; None if it says nothing."""
    lines = block.text.splitlines()
    is_told = lines[0].startswith("$ ") and len(lines) > 1
    return "\n".join(line.rstrip() for line in lines[1:]).strip() if is_told else None


def is_left_out(page, line):
    beginnings = NOT_RUN.get(page_id(page), [])
    return any(line.startswith(beginning) for beginning in beginnings)


@pytest.fixture
def kept_families():
    """Examples add members to the families; afterwards they are as before."""
    families = (MEASURES, BACKBONES, ALGORITHMS, OPENERS)
    before = [dict(family) for family in families]
    yield
    for family, members in zip(families, before, strict=True):
        family.clear()
        family.update(members)


WITH_CODE = [page for page in PAGES if any(map(is_run, blocks_of(page)))]


@pytest.mark.slow
@pytest.mark.usefixtures("folder", "own_cache", "kept_families")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("page", WITH_CODE, ids=page_id)
def test_every_block_of_a_page_runs(page, run_command, pytestconfig):
    names = {"__name__": "__main__"}
    printed = None
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        where = f"{page.name}, line {block.line}"
        try:
            if block.kind == "python":
                is_told = after is not None and after.kind == "text" and after.follows
                with repeats(TOLD) if is_told else nullcontext():
                    printed = run_python(block, names, where)
            elif block.kind == "text" and block.follows and printed is not None:
                check(without_line_ends(printed) == without_line_ends(block.text), where, printed)
            elif is_shell(block):
                run_shell(page, block, run_command, where)
        except DiffersError as error:
            if not pytestconfig.getoption("--write-pages"):
                raise
            write_block(page, block, error.printed)
        printed = printed if block.kind == "python" else None


def without_line_ends(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def write_block(page, block, printed):
    """Put what a block printed in the place of what the page says."""
    typed = [line for line in block.text.splitlines() if line.startswith("$ ")]
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    text = "\n".join([*typed, *lines]) + "\n"
    old = block.text if block.text.strip() else ""  # the block may be empty so far
    fenced = f"```{block.kind}\n{{}}```".format
    page.write_text(page.read_text().replace(fenced(old), fenced(text), 1))


def run_python(block, names, where):
    output = io.StringIO()
    with redirect_stdout(output):
        # Blank lines before it, so that a traceback names the line of the page.
        exec(compile("\n" * block.line + block.text, where, "exec"), names)
    return output.getvalue()


def run_shell(page, block, run_command, where):
    told = printed_by(block)
    for line in commands_of(block):
        if is_left_out(page, line):
            continue
        assert line.startswith("mixmood "), f"{where}: no command of ours: {line}"
        printed = run_command(line, is_shortened=told is None)
        if told is not None:
            assert_tells_the_same(printed, told, where)


def assert_tells_the_same(printed, told, where):
    """The same words, almost the same numbers and bars: another processor may round another way."""
    is_word = re.compile(r"[^|:o-]").search  # bars are compared by their places
    found, wanted = (list(filter(is_word, text.split())) for text in (printed, told))
    check(len(found) == len(wanted), where, printed)
    for word, other in zip(found, wanted, strict=True):
        try:
            check(float(word) == pytest.approx(float(other), rel=0.01), where, printed)
        except ValueError:
            check(word == other, where, printed)
    for place, other in zip(bar_places(printed), bar_places(told), strict=True):
        check(abs(place - other) <= 1, where, printed)


class DiffersError(AssertionError):
    """A block printed something else than the page says."""

    def __init__(self, where, printed):
        super().__init__(f"{where}: it printed\n{printed}")
        self.printed = printed


def check(is_same, where, printed):
    if not is_same:
        raise DiffersError(where, printed)


def bar_places(text):
    """Where the bars of a table begin, have their dot, and end."""
    lines = iter(text.splitlines())
    head = next((line for line in lines if "95 % interval" in line), "")
    places = []
    for line in lines if head else ():
        if line.startswith("noise floor"):
            break
        bar = line[head.index("95 %") : head.index("p (Holm)")].replace(":", " ").rstrip()
        places += [len(bar) - len(bar.lstrip()), bar.index("o"), len(bar)]
    return places


def check_data(block):
    if block.kind == "json":
        json.loads(block.text)
    if block.kind == "toml":
        tomllib.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_block_says_what_it_is_and_data_can_be_read(page):
    for block in blocks_of(page):
        known = {"python", "sh", "console", "text", "indented", "json", "toml", "csv", "latex"}
        assert block.kind in known, f"{page.name}, line {block.line}: {block.kind or 'no kind'}"
        check_data(block)


def test_the_list_of_lines_that_are_not_run_has_no_idle_entry():
    for name, beginnings in NOT_RUN.items():
        page = ROOT / name
        lines = [line for b in blocks_of(page) if is_shell(b) for line in commands_of(b)]
        for beginning in beginnings:
            assert any(line.startswith(beginning) for line in lines), (name, beginning)


def test_blocks_are_found_fenced_and_indented(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n\n    mixmood demo\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n")
    assert [(b.kind, b.text, b.follows) for b in blocks_of(page)] == [
        ("indented", "mixmood demo\n", False),
        ("python", "print(1)\n", True),
        ("text", "1\n", True),
    ]


def test_a_list_that_goes_on_is_no_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("- one\n\n    more of one\n")
    assert blocks_of(page) == []


@pytest.mark.parametrize(
    ("bar", "p_value", "is_same"),
    [
        ("|-o-|", "0.84", True),
        (" |o-|", "0.84", True),
        ("|-o--|", "0.84", True),
        ("  |o|", "0.84", False),
        ("|-o---|", "0.84", False),
        ("|-o-|", "0.82", False),
    ],
)
def test_an_output_on_a_page_may_differ_by_rounding_alone(bar, p_value, is_same):
    def table(bar, p_value):
        return f"95 % interval  p (Holm)\n{bar:13}  {p_value:>8}\nnoise floor (:): 3.5\n"

    with nullcontext() if is_same else pytest.raises(AssertionError):
        assert_tells_the_same(table("|-o-|", "0.84"), table(bar, p_value), "here")
