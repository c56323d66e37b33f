"""Names from the outside on the terminal, on the page and in spreadsheets."""

import csv
import gzip
import io
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from mixmood.cli.main import app
from mixmood.report.testbed.export import figures, records_csv_gz
from mixmood.report.testbed.sheets import to_csv
from mixmood.ssl.predict import Predictions
from mixmood.testbed.analysis.tables import make_tables
from mixmood.testbed.config import parse_config
from mixmood.testbed.store import Store

TITLE = "\x1b]0;owned\x07"
"""A terminal that obeys takes this for its new title."""
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "x\r=1", "x\n=1"]


ONE_AFTER_ANOTHER = """
import json, sys
from mixmood.cli.main import main

for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        print("ended with", end.code)
"""


def on_a_terminal(*words, cwd):
    """All that a command writes to a terminal, and its exit code."""
    return python_on_a_terminal("-m", "mixmood", *words, cwd=cwd)


def python_on_a_terminal(*words, cwd):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(theirs)
    written = bytearray()
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:
        pass  # How Linux says that the other end is closed.
    finally:
        os.close(ours)
    return written.decode(errors="replace"), process.wait(timeout=60)


def shows_but_obeys_not(text):
    assert "\x1b]0;" not in text
    assert "\x07" not in text
    assert r"\x1b]0;owned\x07" in text


def pictures(folder, names):
    folder.mkdir(parents=True)
    rng = np.random.default_rng(len(folder.name))
    for name in names:
        image = Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8))
        image.save(folder / name, "PNG")


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    """Labelled images of hostile classes, a hostile pool with hostile files, one of them broken."""
    root = tmp_path_factory.mktemp("pools")
    for name in ("cat", f"dog{TITLE}"):
        pictures(root / "labelled" / name, [f"{i}.png" for i in range(8)])
    pool = root / f"pool{TITLE}"
    pictures(pool, [f"{TITLE}{i}.png" for i in range(16)])
    (pool / f"broken{TITLE}.png").write_bytes(b"no image")
    return root


def test_a_ranking_on_a_terminal_obeys_no_name(pools, tmp_path):
    """Bars, table, warnings and page."""
    page = tmp_path / "page.html"
    words = ("rank", "labelled", f"<b>{TITLE}=pool{TITLE}", f"pool{TITLE}")
    written, code = on_a_terminal(
        *words, "--draws", 2, "--measure", "l2", "--resolution", 64, "--depth", "last",
        "--html", page, cwd=pools,
    )  # fmt: skip
    assert code == 0, written
    shows_but_obeys_not(written)
    shows_but_obeys_not(page.read_text())
    assert "<b>\\x1b" not in page.read_text()
    assert "&lt;b&gt;\\x1b" in page.read_text()


def test_an_error_on_a_terminal_obeys_no_name(pools):
    """One process for all commands: most of the time is the start of Python."""
    commands = [
        ("rank", "labelled", f"none{TITLE}"),
        ("rank", f"none{TITLE}", "labelled"),
        ("rank", "labelled", "labelled", "--backbone", f"x{TITLE}.onnx"),
        ("rank", "labelled", "labelled", "--measure", f"x{TITLE}"),
        ("testbed", "status", "--store", f"x{TITLE}"),
        ("testbed", "run", f"x{TITLE}.toml", "--store", "x"),
        ("correlate", f"x{TITLE}", "y"),
        ("predict", "--model", f"x{TITLE}", "labelled"),
    ]
    written, _ = python_on_a_terminal("-c", ONE_AFTER_ANOTHER, json.dumps(commands), cwd=pools)
    *messages, rest = re.split(r"ended with [12]\r\n", written)
    assert (len(messages), rest) == (len(commands), ""), written
    for message in messages:
        shows_but_obeys_not(message)


@pytest.fixture
def store(tmp_path):
    """A store of one run whose task has a hostile name."""
    text = 'name = "x"\n[grid]\nn_labelled = [10]\nseeds = 1\n[grid.tasks]\ndigits = ["gaussian"]'
    place = Store.make(tmp_path / "store", parse_config(text, "x"))
    names = ("distance", "spread", "signed", "p_wilcoxon", "p_permutation")
    run = {"task": TITLE, "source": "=evil()", "percent": 50.0, "n_labelled": 10, "seed": 0}
    record = {
        "key": "0" * 20, "schema": 1, "mixmood": "=1", "data": "d", "versions": {"numpy": "@2"},
        "run": run | {"algorithm": "+x", "contamination": "fixed-total"},
        "classes": ["=cat"], "training": {"epochs": [
            {"test_accuracy": 0.5, "pseudo_label_shares": None}]},
        "accuracy": dict.fromkeys(("best", "last", "median", "validation"), 0.5),
        "distances": {"cosine": dict.fromkeys(names, 0.5)}, "times": {"total_s": 1.0},
    }  # fmt: skip
    (place.folder / "runs" / f"{'0' * 20}.json").write_text(json.dumps(record))
    failed = {"key": "1" * 20, "run": record["run"], "error": {"message": f"bad{TITLE}"}}
    (place.folder / "failed" / f"{'1' * 20}.json").write_text(json.dumps(failed))
    return place


@pytest.mark.parametrize("form", ["text", "markdown", "latex"])
def test_the_tables_of_a_test_bed_obey_no_name(store, form):
    from typer.testing import CliRunner

    words = ["testbed", "tables", "--store", str(store.folder), "--format", form]
    shows_but_obeys_not(CliRunner().invoke(app, words).stdout)


def test_the_status_of_a_test_bed_obeys_no_name(store):
    from typer.testing import CliRunner

    words = ["testbed", "status", "--store", str(store.folder)]
    shows_but_obeys_not(CliRunner().invoke(app, words).stdout)


def test_csv_on_a_terminal_obeys_no_name(store, tmp_path):
    """Into a file or a pipe it goes as it is."""
    words = ("testbed", "tables", "--store", store.folder, "--format", "csv", "--table", 1)
    written, code = on_a_terminal(*words, cwd=tmp_path)
    assert code == 0, written
    shows_but_obeys_not(written)


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def runs_nothing(text):
    """No cell that is not a number begins like a formula."""
    for cell in cells(text):
        try:
            float(cell)
        except ValueError:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell


@pytest.mark.parametrize("formula", FORMULAS)
def test_classified_images_hold_no_formula(formula):
    classes = (formula, "cat")
    found = Predictions((formula, "b.png"), np.float32([[0.9, 0.1], [0.1, 0.9]]), classes, ())
    runs_nothing(found.to_csv())
    assert cells(found.to_csv())[5].lstrip("'") == formula


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_tables_of_a_test_bed_hold_no_formula(formula):
    text = to_csv([{"task": formula, "source": formula, formula: -1.5, "algorithm": "x"}])
    runs_nothing(text)
    assert [cell.lstrip("'") for cell in cells(text)[4:6]] == [formula] * 2
    assert "-1.5" in cells(text)


def test_exported_records_hold_no_formula(store):
    runs_nothing(gzip.decompress(records_csv_gz(store.records())).decode())


@pytest.mark.slow
def test_figures_take_names_as_they_are(store):
    """A dollar begins a formula of matplotlib, and not every letter is in its font."""
    path = store.folder / "runs" / f"{'0' * 20}.json"
    path.write_text(path.read_text().replace("=evil()", "$x^ \u732b").replace("+x", "a_b$"))
    drawn = figures(make_tables(store, "last"))
    assert drawn["accuracy_against_cosine.png"].startswith(b"\x89PNG")
    assert set(drawn) == {
        f"accuracy_against_{what}.{form}"
        for what in ("cosine", "percent")
        for form in ("svg", "png")
    }
