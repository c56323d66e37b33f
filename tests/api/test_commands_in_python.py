"""Whatever the command line can do, Python can do."""

import csv
import gzip
import inspect
import json

import numpy as np
import pytest
import typer

import mixmood
from mixmood.cli.main import app
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.options import option_texts
from mixmood.features.plan import ExtractionPlan
from mixmood.ranking.plan import RankingPlan
from mixmood.selection.plan import FilterPlan
from mixmood.ssl.plan import PredictionPlan, TrainingRunPlan
from mixmood.testbed.cells import runs
from mixmood.testbed.plan import TablesPlan, TestbedPlan
from mixmood.testbed.run import failure, job_for

IN_PYTHON = {
    "cache info": "cache_info",
    "cache clear": "clear_cache",
    "data list": "data_sets",
    "data get": "get_data_set",
    "testbed run": "run_testbed",
    "testbed status": "testbed_status",
    "testbed tables": "testbed_tables",
    "testbed correlate": "testbed_tables",
    "testbed report": "report_testbed",
}
"""Commands whose function has another name."""


def commands():
    for name, one in typer.main.get_command(app).commands.items():
        inner = getattr(one, "commands", None)
        yield from [f"{name} {word}" for word in inner] if inner else [name]


def test_every_command_is_a_public_function_too():
    for command in commands():
        name = IN_PYTHON.get(command, command)
        assert inspect.getdoc(getattr(mixmood, name))


@pytest.mark.parametrize(
    ("function", "plan"),
    [
        (mixmood.rank, RankingPlan),
        (mixmood.filter, FilterPlan),
        (mixmood.embed, ExtractionPlan),
        (mixmood.train, TrainingRunPlan),
        (mixmood.predict, PredictionPlan),
        (mixmood.run_testbed, TestbedPlan),
        (mixmood.testbed_tables, TablesPlan),
        (mixmood.report_testbed, TablesPlan),
    ],
)
def test_a_function_shows_every_option_of_its_plan(function, plan):
    assert set(option_texts(plan)) <= set(inspect.signature(function).parameters)
    words = " ".join(inspect.getdoc(function).split())
    assert all(text.help in words for text in option_texts(plan).values())


def test_a_name_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match="module 'mixmood' has no attribute 'rnak'"):
        _ = mixmood.rnak


@pytest.fixture
def filled(store, make_record):
    """A store with six contaminated cells, so that distances can be correlated."""
    for cell, source in enumerate(("gaussian", "other_half", "photo_patches")):
        for percent in (50, 100):
            far = {"cosine": cell + percent / 100}
            store.write(
                make_record(source=source, percent=percent, distances=far, accuracy=0.5 - cell / 10)
            )
    return store


def test_tables_hold_numbers_and_are_written_in_every_format(filled, tmp_path):
    found = mixmood.testbed_tables(filled.folder)
    assert len(found.tables.accuracies) == 6
    assert repr(found) == "<TestbedTables of 6 cells, 1 correlations>"
    assert found.to_text("markdown", 1).startswith("**Table 1.")
    assert json.loads(found.to_text("json"))["table3"][0]["n_cells"] == 6
    found.write(tmp_path / "out")
    assert {"table1.md", "table3.csv", "tables.json", "records.csv.gz"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    half = mixmood.testbed_tables(filled.folder, only=["percent=50"], selection="best")
    assert len(half.tables.accuracies) == 3
    half.write(tmp_path / "half")
    with gzip.open(tmp_path / "half" / "records.csv.gz", "rt") as file:
        assert {row["ood_percent"] for row in csv.DictReader(file)} == {"50.0"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pdf", 1), "Unknown format 'pdf'"),
        (("text", 6), "There are tables 1 to 5; got 6"),
        (("csv", None), "CSV holds one table"),
    ],
)
def test_a_format_or_table_that_is_not_there_is_refused(filled, words, message):
    with pytest.raises(OptionError, match=message):
        mixmood.testbed_tables(filled.folder).to_text(*words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"selection": "bset"}, "Unknown selection 'bset'. Did you mean 'best'?"),
        ({"only": ["mnist"]}, "--only takes KEY=VALUE, such as task=mnist; got 'mnist'"),
        ({"only": ["taks=mnist"]}, "Unknown key of --only 'taks'. Did you mean 'task'?"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(filled, options, message):
    with pytest.raises(OptionError, match=message):
        mixmood.testbed_tables(filled.folder, **options)


def test_the_status_of_a_store_counts_what_is_done_and_what_failed(filled, tiny):
    filled.write(failure(job_for(tiny, runs(tiny)[0]), ValueError("no luck")))
    found = mixmood.testbed_status(filled.folder)
    assert (found.name, found.n_runs, found.n_done, found.driver) == ("tiny", 8, 6, None)
    assert [failed.error.last_line for failed in found.failures] == ["ValueError: no luck"]


def test_the_page_of_a_test_bed_is_written(filled, tmp_path):
    page = mixmood.report_testbed(filled.folder, tmp_path / "bed.html", only=["percent=100"])
    assert (tmp_path / "bed.html").read_text() == page


def test_two_tables_are_correlated(tmp_path):
    far, good = tmp_path / "distances.csv", tmp_path / "accuracy.csv"
    good.write_text(
        "task,ood_source,ood_percent,n_labelled,accuracy_mean\n"
        "t,a,100,60,0.9\nt,b,100,60,0.8\nt,c,100,60,0.7\n"
    )
    far.write_text(
        "task,ood_source,ood_percent,measure,distance_mean\n"
        "t,a,100,cosine,1\nt,b,100,cosine,2\nt,c,100,cosine,3\n"
    )
    (row,) = mixmood.correlate(good, far)
    assert (row.measure, row.regret_points) == ("cosine", 0.0)
    assert row.pearson == pytest.approx(-1)


def test_data_sets_are_named_with_the_file_that_holds_them(tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    np.savez(tmp_path / "svhn.npz", images=np.zeros((7, 4, 4), np.uint8))
    found = mixmood.data_sets()
    assert (found["svhn"], found["mnist"]) == (tmp_path / "svhn.npz", None)
    assert mixmood.get_data_set("svhn") == tmp_path / "svhn.npz"
    with pytest.raises(OptionError, match="Unknown data set 'mnits'. Did you mean 'mnist'?"):
        mixmood.get_data_set("mnits")


def test_a_cache_is_shown_and_cleared(tmp_path):
    with FeatureCache(tmp_path) as cache:
        cache.put({bytes([i]): np.zeros(8, np.float32) for i in range(7)})
    assert mixmood.cache_info(tmp_path).n_images == 7
    assert mixmood.clear_cache(tmp_path).n_images == 7
    assert mixmood.cache_info(tmp_path).n_images == 0
    with pytest.raises(InputError, match="There is no cache in"):
        mixmood.cache_info(tmp_path / "nowhere")
