"""The main command as a user types it."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.core.errors import InputError


def mixmood(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "mixmood", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def in_process(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def folder_of(directory, n, low=0, high=256):
    rng = np.random.default_rng(low)
    directory.mkdir(parents=True)
    for i in range(n):
        picture = rng.integers(low, high, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(picture).save(directory / f"{i}.png")
    return directory


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("pools")
    folder_of(root / "labelled" / "cat", 8)
    folder_of(root / "labelled" / "dog", 8)
    folder_of(root / "near", 16)
    folder_of(root / "dark", 16, 0, 40)
    np.save(root / "features.npy", np.zeros((20, 4)))
    return root


@pytest.fixture(autouse=True)
def own_cache(folders, monkeypatch):
    """All tests read the same images: one cache, so that each is embedded once."""
    monkeypatch.setenv("MIXMOOD_CACHE", str(folders.parent / "pools-cache"))


VIEW = ("--resolution", "64", "--depth", "last")
"""For rankings whose view no test looks at."""


@pytest.fixture(scope="module")
def run(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    sets = (folders / "labelled", f"web={folders / 'near'}", folders / "dark")
    measures = ("--measure", "cosine", "--measure", "l2")
    files = ("--json", out / "r.json", "--csv", out / "r.csv")
    result = in_process("rank", *sets, "--draws", 4, *measures, *files, *VIEW, "--cache", "none")
    assert result.exit_code == 0, result.stderr
    return result, out


def test_the_table_goes_to_stdout_and_nothing_to_stderr(run):
    result, _ = run
    assert "web" in result.stdout
    assert "95 % interval" in result.stdout
    assert result.stderr == ""
    assert "\x1b" not in result.stdout


def test_json_and_csv_hold_the_same_ranking(run):
    _, out = run
    record = json.loads((out / "r.json").read_text())
    with (out / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    own = [row for row in rows if row["measure"] == "cosine"]
    assert [row["name"] for row in own] == [c["name"] for c in record["candidates"]]
    for row in rows:
        (pool,) = (c for c in record["candidates"] if c["name"] == row["name"])
        result = pool["measures"][row["measure"]]
        assert int(row["rank"]) == result["rank"]
        assert float(row["p_best"]) == result["p_best"]
        assert [int(row["rank_low"]), int(row["rank_high"])] == result["rank_interval"]
    assert record["labelled"]["classes"] == {"cat": 8, "dog": 8}
    assert {c["name"] for c in record["candidates"]} == {"web", "dark"}


def test_json_to_stdout_prints_nothing_else(folders):
    """See also `security/test_no_network`, where it is another process."""
    words = ("--draws", 2, "--measure", "l2", "--no-probe", *VIEW, "--json", "-")
    result = in_process("rank", folders / "labelled", folders / "near", *words)
    assert json.loads(result.stdout)["best"] == "near"


def test_csv_to_stdout_prints_nothing_else(folders, monkeypatch):
    monkeypatch.chdir(folders)
    result = in_process("rank", "labelled", "near", "--draws", 2, "--no-probe", *VIEW, "--csv", "-")
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert (row["name"], row["measure"]) == ("near", "cosine")


def test_a_second_run_from_the_cache_gives_the_same_bytes(folders, monkeypatch, tmp_path):
    monkeypatch.chdir(folders)
    words = ("rank", "labelled", "near", "--draws", 3, "--measure", "l2", *VIEW, "--json", "-")
    cached, uncached = ("--cache", tmp_path), ("--cache", "none")
    first, second, uncached = (
        in_process(*words, *more).stdout for more in (cached, (*cached, "--jobs", 1), uncached)
    )
    assert json.loads(first)["best"] == "near"
    assert first == second == uncached


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["rank", "nowhere", "near"], 1, "Cannot open the labelled set nowhere: No such file"),
        (["rank", "labelled", "empty"], 1, "empty"),
        (["rank", "labelled", "texts"], 1, "texts"),
        (["rank", "labelled", "story.txt"], 1, "story.txt"),
        (["rank", "labelled", "corrupt.zip"], 1, "corrupt.zip"),
        (["rank", "labelled", "float.npy"], 1, "float pixels must be finite and in 0..1"),
        (["rank", "labelled", "nan.npy"], 1, "NaN"),
        (["rank", "labelled", "objects.npy"], 1, "reading it needs pickle"),
        (["rank", "labelled", "wide.npy"], 1, "mixed with images"),
        (["rank", "wide.npy", "narrow.npy"], 1, "same number of features"),
        (["rank", "labelled", "near", "--measure", "cosin"], 2, "Did you mean 'cosine'?"),
        (["rank", "labelled", "near", "--backbone", "efficientnet"], 2, "efficientnet-lite0"),
        (["rank", "labelled", "near", "--sample-size", "0"], 2, "at least 1; got 0"),
        (
            ["rank", "labelled", "few"],
            1,
            "'few': of the images tried, all that can be read are copies",
        ),
        (["rank", "labelled", "near", "near"], 2, "The pool 'near' is given twice. Give it once."),
        (["rank", "labelled", "a=near", "a=dark"], 2, "Two pools are called 'a'"),
        (["rank", "few", "near"], 1, "at least 8 labelled images; got 3"),
        (["rank", "labelled", "near", "--json", "no/dir.json"], 1, "no does not exist"),
        (["rank", "labelled", "near", "--json", "."], 1, "it is a directory"),
        (["rank", "labelled", "near", "--json", "x", "--csv", "./x"], 2, "Two results would be"),
        (["rank", "labelled", "near", "--json", "-", "--csv", "-"], 2, "written to -, the second"),
        (["rank", "labelled", "near", "--html", "-"], 2, "Give --html FILE"),
        (["rank", "labelled", "near", "wide.npy", "--html", "wide.npy"], 2, "wide.npy is one of"),
        (["rank", "labelled", "a=wide.npy", "--json", "./wide.npy"], 2, "is one of the inputs"),
        (["rank", "labelled", "near", "--resolution", "32"], 2, "64"),
        (["rank", "labelled", "near", "--jobs", "0"], 2, "jobs"),
        (["rank", "labelled", "near", "--until", "2"], 2, "until must be over 0.5"),
        (["rank", "labelled", "near", "--until", "soon"], 2, "a number or none; got 'soon'"),
        (["rank", "labelled", "near", "few", "--strict"], 1, "With strict, every pool must be"),
        (["rank", "labelled", "noise:purple"], 2, "noise"),
        (["rank", "labelled"], 2, "Missing argument"),
        (["rang"], 2, "No such command"),
    ],
)
def test_a_mistake_gets_one_message_and_nothing_is_written(
    folders, words, code, message, monkeypatch
):
    prepare_mistakes(folders)
    before = sorted(folders.iterdir())
    monkeypatch.chdir(folders)
    if words[1:2] == ["labelled"] and not {"--resolution", "--backbone"} & set(words):
        words = [*words, *VIEW]
    result = CliRunner().invoke(app, [*words, *([] if "--json" in words else ["--csv", "out.csv"])])
    assert result.exit_code == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(folders.iterdir()) == before


def prepare_mistakes(root):
    if (root / "empty").exists():
        return
    (root / "empty").mkdir()
    (root / "texts").mkdir()
    (root / "texts" / "readme.md").write_text("no images here")
    (root / "story.txt").write_text("Once upon a time\nthere was no image.\n")
    (root / "corrupt.zip").write_bytes(b"PK\x03\x04 and then nothing")
    folder_of(root / "few", 3)
    rng = np.random.default_rng(0)
    np.save(root / "float.npy", rng.normal(size=(20, 8, 8)) * 9)
    np.save(root / "nan.npy", np.full((20, 4), np.nan))
    np.save(root / "objects.npy", np.array([{}] * 20), allow_pickle=True)
    np.save(root / "wide.npy", rng.normal(size=(20, 6)))
    np.save(root / "narrow.npy", rng.normal(size=(20, 5)))


def test_debug_shows_the_traceback_of_a_mistake(folders):
    result = in_process("--debug", "rank", folders / "nowhere", folders / "near")
    assert isinstance(result.exception, InputError)  # Python prints it with its traceback


def test_ctrl_c_ends_with_130_and_one_line(tmp_path):
    folder_of(tmp_path / "labelled", 40)
    cache = tmp_path / "cache"
    process = subprocess.Popen(
        [
            sys.executable, "-m", "mixmood", "rank", "labelled",
            "noise:gaussian?count=100000&size=64", "--draws", "900", "--json", "out.json",
            "--cache", str(cache), "--resolution", "64",
        ],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    # A file in the cache says that the work has begun, however slow the machine is.
    while not any(cache.glob("*")):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Interrupted. The same command continues from its cache or store" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "out.json").exists()


def test_help_teaches_with_an_example():
    for words in ((), ("rank",), ("demo",), ("correlate",)):
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0
        assert "mixmood " in result.stdout
    assert "NAME=PATH" in CliRunner().invoke(app, ["rank", "--help"]).stdout


def test_the_version_is_told():
    assert mixmood("--version").stdout.startswith("mixmood 0.")


def test_help_imports_nothing_heavy():
    code = (
        "import sys, mixmood.cli.main\n"
        "heavy = {'numpy', 'scipy', 'PIL', 'onnxruntime', 'torch', 'sklearn', 'rich'}\n"
        "print(heavy & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "set()", result


def test_a_small_pool_is_set_aside_and_the_rest_is_ranked(folders, monkeypatch):
    monkeypatch.chdir(folders)
    prepare_mistakes(folders)
    words = ("--measure", "l2", "--draws", 3, "--no-probe", *VIEW, "--json", "-")
    result = in_process("rank", "labelled", "near", "few", *words)
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert [c["name"] for c in record["candidates"]] == ["near"]
    assert [one["name"] for one in record["set_aside"]] == ["few"]


def test_the_shell_can_be_taught_to_complete_words():
    result = mixmood("--help")
    assert "--install-completion" in result.stdout
