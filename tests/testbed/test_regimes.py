"""Regimes in a configuration: their cells, baselines, keys and batches."""

import pytest
from fuzz.tiny_bed import FROZEN, TINY

from mixmood.core.errors import OptionError
from mixmood.testbed.cells import CellFilter, cells, runs
from mixmood.testbed.config import check_names, parse_config
from mixmood.testbed.run import batches, job_for


@pytest.fixture(scope="module")
def bed():
    return parse_config(FROZEN, "frozen")


def test_there_is_one_supervised_baseline_and_every_cell_says_its_regime(bed):
    found = cells(bed)
    assert {cell.regime for cell in found} == {"frozen"}
    assert [cell.algorithm for cell in found if cell.is_supervised] == ["supervised"]
    assert len(found) == 1 + 2 * 3
    assert len(runs(bed, CellFilter.parse(["regime=frozen"]))) == 2 * len(found)
    with pytest.raises(OptionError, match="No cell of 'tiny' is left"):
        runs(bed, CellFilter.parse(["regime=scratch"]))


def test_runs_from_scratch_are_never_batched(tiny):
    jobs = [job_for(tiny, run) for run in runs(tiny)]
    assert [len(batch) for batch in batches(jobs)] == [1] * len(jobs)


def test_a_key_depends_on_the_backbone_of_the_heads_and_not_on_training(bed):
    run = runs(bed)[0]
    other = bed.model_copy(update={"frozen": bed.frozen.model_copy(update={"resolution": 96})})
    trained = bed.training.model_copy(update={"epochs": 9})
    assert job_for(other, run).key != job_for(bed, run).key
    assert job_for(bed.model_copy(update={"training": trained}), run).key == job_for(bed, run).key


def test_an_algorithm_that_no_head_has_is_refused_before_the_first_run():
    text = FROZEN.replace("pseudo-label", "fixmatch")
    with pytest.raises(OptionError, match="Unknown algorithm of frozen features 'fixmatch'"):
        check_names(parse_config(text, "x"))


def test_scratch_has_no_baseline_called_supervised():
    text = TINY.replace('"supervised-epochs"', '"supervised"')
    with pytest.raises(OptionError, match="from scratch the baseline is supervised-epochs or"):
        parse_config(text, "x")
