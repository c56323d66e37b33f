"""The commands of the test bed as a user types them."""

import json
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.cli.testbed import RunBars, describe_status
from mixmood.testbed.cells import runs
from mixmood.testbed.driver import Status
from mixmood.testbed.run import failure, job_for
from mixmood.testbed.store import Store


@pytest.fixture
def mixmood():
    """Types a command; gives exit code, stdout and stderr."""

    def run(*words):
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def done(mixmood, tiny_file, tmp_path):
    """A store with the runs of one seed of the tiny test bed."""
    words = ("testbed", "run", tiny_file, "--seeds", 1, "--store", tmp_path / "store", "--jobs", 1)
    code, out, err = mixmood(*words)
    assert (code, out) == (0, ""), err
    assert "4 of 4 runs are done." in err
    return tmp_path / "store"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MLflow's use of its database
def test_a_test_bed_is_run_watched_and_told_in_tables(
    mixmood, done, tmp_path, tiny_file, mlflow_database
):
    code, out, _ = mixmood("testbed", "status", "--store", done)
    assert code == 0
    assert "done      4" in out
    assert "driver    none" in out
    code, out, _ = mixmood("testbed", "tables", "--store", done, "--format", "json")
    assert [len(json.loads(out)[f"table{n}"]) for n in (1, 2, 3)] == [4, 3, 0]
    code, out, _ = mixmood("testbed", "tables", "--store", done, "--table", 1)
    assert out.startswith("Table 1.")
    assert "Table 2" not in out
    code, out, _ = mixmood("testbed", "tables", "--store", done, "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"table1.md", "table3.csv", "records.csv.gz", "accuracy_against_percent.svg"} <= names
    code, _, err = mixmood("testbed", "correlate", "--store", done)
    assert (code, "To correlate, at least 3" in err) == (1, True)
    mlflow_database(done / "mlflow.db")
    words = ("--seeds", 1, "--store", done, "--mlflow", "default")
    again = mixmood("testbed", "run", tiny_file, *words)
    assert again[0] == 0
    with closing(sqlite3.connect(done / "mlflow.db")) as database:
        names = {name for (name,) in database.execute("SELECT name FROM experiments")}
    assert "mixmood-tiny" in names


def test_a_dry_run_says_what_would_run_and_writes_nothing(mixmood, tiny_file, tmp_path):
    code, out, _ = mixmood("testbed", "run", tiny_file, "--store", tmp_path / "s", "--dry-run")
    assert code == 0
    assert "cells     4 of 4\nruns      8\n" in out
    assert not (tmp_path / "s").exists()


def test_correlate_takes_any_subset(mixmood, store, make_record):
    for cell, source in enumerate(("gaussian", "other_half", "photo_patches")):
        for percent in (50, 100):
            far = {"cosine": cell + percent / 100}
            store.write(
                make_record(source=source, percent=percent, distances=far, accuracy=0.5 - cell / 10)
            )
    code, out, err = mixmood("testbed", "correlate", "--store", store.folder, "--format", "json")
    assert code == 0
    (row,) = json.loads(out)["table3"]
    assert row["n_cells"] == 6
    assert "Incomplete" in err
    only = ("--only", "percent=100")
    code, out, _ = mixmood(
        "testbed", "correlate", "--store", store.folder, *only, "--format", "csv"
    )
    assert out.splitlines()[0] == (
        "task,n_labelled,algorithm,contamination,regime,n_unlabelled,measure,pearson,pearson_low,"
        "pearson_high,spearman,spearman_low,spearman_high,regret_points,regret_low,regret_high,"
        "n_cells,n_seeds"
    )
    assert "(" not in out


def test_the_help_of_correlate_names_no_option_that_it_lacks(mixmood):
    assert "--table" not in mixmood("testbed", "correlate", "--help")[1]
    assert "csv (with --table)" in mixmood("testbed", "tables", "--help")[1]


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_an_interrupt_before_the_first_run_does_not_say_that_work_is_kept(
    mixmood, tiny_file, tmp_path, monkeypatch, words
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mixmood.testbed.driver.check_data", interrupted)
    store = tmp_path / "store"
    code, _, err = mixmood("testbed", "run", tiny_file, "--store", store, *words)
    assert code == 130
    assert err.startswith("Checking the test bed tiny and its data sets ...")
    assert "Interrupted before the first run: nothing was written." in err
    assert "kept" not in err
    assert not store.exists()


def test_failures_are_told_by_status(mixmood, store, tiny):
    store.write(failure(job_for(tiny, runs(tiny)[0]), ValueError("no luck")))
    _, out, _ = mixmood("testbed", "status", "--store", store.folder)
    assert "failed    1" in out
    assert "error     digits none 0 % n=10 supervised-epochs seed 0: ValueError: no luck" in out


@pytest.mark.slow
def test_a_run_with_failures_says_how_to_retry(mixmood, tiny_file, tmp_path, monkeypatch):
    monkeypatch.setattr("mixmood.testbed.run.draw_split", lambda *_: 1 / 0)
    words = ("--store", tmp_path / "s", "--jobs", 1, "--quiet", "--seeds", 1)
    code, _, err = mixmood("testbed", "run", tiny_file, *words)
    assert code == 1
    assert "4 runs failed" in err
    assert "--retry-failed" in err
    assert len(Store(tmp_path / "s").keys(failed=True)) == 4


def test_status_shows_a_driver_at_work(mixmood, store, tiny):
    status = Status(8, 2, n_done=2, pid=7, host="h", elapsed_s=20, running=["digits x"])
    (store.folder / "driver.json").write_text(json.dumps(vars(status)))
    with store.locked():
        _, out, _ = mixmood("testbed", "status", "--store", store.folder)
    assert "driver    process 7 on h: 1 running, 0 failed, about 1 min 0 s left" in out
    assert "running   digits x" in out


def test_progress_is_a_line_a_run_without_a_terminal(make_record, capsys):
    status = Status(8, 2, n_done=1, elapsed_s=10)
    with RunBars(is_quiet=False) as bars:
        bars.watch(status, None)
        bars.watch(status, make_record())
    said = capsys.readouterr().err
    assert "1/8 digits gaussian 100 % n=10 mixmatch seed 0: accuracy 0.500" in said
    assert describe_status(status).endswith("about 1 min 10 s left")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("run", "papr"), 2, "Unknown preset 'papr'. Did you mean 'paper'?"),
        (("run", "smoke", "--jobs", 0), 2, "jobs must be at least 1; got 0"),
        (("run", "smoke", "--backend", "slurm"), 2, "Unknown backend 'slurm'"),
        (("run", "smoke", "--ray-address", "x"), 2, "go with --backend ray"),
        (("run", "smoke", "--only", "task=mnist"), 2, "No cell of 'smoke' is left"),
        (("run", "paper"), 1, "mixmood data get mnist"),
        (("tables", "--table", 6), 2, "There are tables 1 to 5; got 6"),
        (("tables", "--format", "pdf"), 2, "Unknown format 'pdf'"),
        (("tables", "--format", "csv"), 2, "CSV holds one table"),
        (("correlate", "--format", "pdf"), 2, "Unknown format 'pdf'"),
        (("tables",), 1, "is no store of a test bed"),
        (("status",), 1, "is no store of a test bed"),
    ],
)
def test_misuse_is_told_in_one_line(mixmood, tmp_path, monkeypatch, words, code, message):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    found, out, err = mixmood("testbed", *words, "--store", tmp_path / "store")
    assert (found, out) == (code, "")
    assert message in err.replace("\n", " ")


def test_an_output_folder_that_cannot_be_made_is_told(mixmood, store, make_record, tmp_path):
    store.write(make_record())
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out"
    code, _, err = mixmood("testbed", "tables", "--store", store.folder, "--out", out)
    assert (code, "Cannot make the folder" in err) == (1, True)


def test_data_sets_are_listed_with_licence_and_digest(mixmood, tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    code, out, _ = mixmood("data", "list")
    assert code == 0
    assert str(tmp_path) in out
    assert "mnist  not here, 60000 images, 10 MB to download; MNIST, training images" in out
    assert "none published: not verified" in out


def test_an_unknown_data_set_cannot_be_got(mixmood):
    code, _, err = mixmood("data", "get", "mnits")
    assert (code, "Did you mean 'mnist'" in err) == (2, True)


def test_a_data_set_that_is_here_is_got_at_once(mixmood, tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    (tmp_path / "svhn.npz").write_bytes(b"")
    code, out, err = mixmood("data", "get", "svhn")
    assert (code, out.strip()) == (0, str(tmp_path / "svhn.npz"))
    assert "Cite Netzer" in err
