"""Runs that fine-tune the backbone: the same splits, one baseline, epochs as from scratch."""

import numpy as np
import pytest
from fuzz.tiny_bed import TINY

from mixmood.core.errors import OptionError
from mixmood.testbed.cells import CellFilter, cells, runs
from mixmood.testbed.config import check_names, parse_config
from mixmood.testbed.results import n_updates_of, resized
from mixmood.testbed.run import batches, drawn, execute, job_for

TUNED = TINY.replace("[grid]\n", '[grid]\nregimes = ["tuned"]\n') + (
    "\n[tuned]\nupdates = 2\nepochs = 1\nresolution = 32\nbatch_size = 4\n"
)


@pytest.fixture
def bed():
    return parse_config(TUNED, "tuned")


@pytest.fixture
def job(bed):
    (run,) = runs(bed, CellFilter.parse(["source=gaussian,regime=tuned"]), 1)
    return job_for(bed, run, cache=None)


def test_there_is_one_supervised_baseline(bed):
    assert [c.algorithm for c in cells(bed)] == ["supervised", "mixmatch", "mixmatch", "mixmatch"]
    assert {cell.regime for cell in cells(bed)} == {"tuned"}


def test_a_record_has_epochs_distances_share_and_probe(job):
    record = execute(job)
    assert record.training.configuration["model"]["backbone"] == "efficientnet-lite0"
    assert len(record.epochs) == 1
    assert record.accuracy.last == record.epochs[0].test_accuracy
    assert record.distances["cosine"].distance > 0
    assert record.useful_share is not None
    assert record.probe.algorithm == "mixmatch"
    assert record.to_dict()["run"]["regime"] == "tuned"


def test_a_run_without_a_pool_has_no_distances(bed):
    (run,) = runs(bed, CellFilter.parse(["algorithm=supervised"]), 1)
    record = execute(job_for(bed, run, cache=None))
    assert (record.distances, record.useful_share, record.probe) == (None, None, None)
    assert record.accuracy.last is not None


def test_images_are_those_of_the_other_regimes_but_larger(tiny, job):
    (run,) = runs(tiny, CellFilter.parse(["source=gaussian"]), 1)
    theirs, mine = drawn(job_for(tiny, run)), drawn(job)
    np.testing.assert_array_equal(mine.unlabelled, theirs.unlabelled)
    np.testing.assert_array_equal(mine.test_labels, theirs.test_labels)
    large = resized(mine, 32)
    assert large.test.shape == (len(mine.test), 32, 32, 3)
    assert large.labelled.dtype == np.uint8
    np.testing.assert_array_equal(large.labels, mine.labels)


def test_a_key_depends_on_tuning_and_on_no_other_regime(bed, job):
    slower = bed.model_copy(update={"tuned": bed.tuned.model_copy(update={"updates": 3})})
    longer = bed.training.model_copy(update={"epochs": 9})
    assert job_for(slower, job.run).key != job.key
    assert job_for(bed.model_copy(update={"training": longer}), job.run).key == job.key


def test_updates_are_those_of_the_file_and_runs_are_not_batched(bed, job):
    assert n_updates_of(job) == 2
    jobs = [job_for(bed, run) for run in runs(bed)]
    assert {len(batch) for batch in batches(jobs)} == {1}


def test_values_that_no_network_is_trained_with_are_refused():
    with pytest.raises(OptionError, match="learning_rate must be a number above 0"):
        parse_config(TUNED + "learning_rate = 0.0\n", "x")
    with pytest.raises(OptionError, match="Unknown algorithm 'propagation'"):
        check_names(
            parse_config(TUNED.replace("[grid]\n", '[grid]\nalgorithms = ["propagation"]\n'), "x")
        )
