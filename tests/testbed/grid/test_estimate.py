"""How long a test bed will take: what is timed, and what is counted."""

from types import SimpleNamespace

import pytest

from mixmood.testbed.grid import estimate as module
from mixmood.testbed.grid.cells import runs
from mixmood.testbed.grid.config import parse_config
from mixmood.testbed.grid.estimate import TimeEstimate, estimate
from mixmood.testbed.runs.run import job_for

TWO = """
name = "two"
[grid]
percents = [100]
n_labelled = [20]
seeds = 2
algorithms = ["fixmatch", "mixmatch"]
[grid.tasks]
digits = ["gaussian"]
[split]
n_unlabelled = 64
[training]
model = "wrn-tiny"
epochs = 3
[training.settings.fixmatch]
threshold = 0.5
unlabelled_ratio = 3
[distances]
sample_size = 5
draws = 2
"""


@pytest.fixture
def jobs():
    config = parse_config(TWO, "two")
    return [job_for(config, run) for run in runs(config)]


@pytest.fixture
def timed(monkeypatch):
    """What was trained: each update takes a second, each test of an image 0.01 s."""
    calls = []

    def train_on(job, split):
        n_updates = job.config.split.n_unlabelled // job.config.training.batch_size
        is_pooled = not job.run.cell.is_supervised
        ratio = 3 if job.run.cell.algorithm == "fixmatch" else is_pooled
        calls.append((job.run.cell.algorithm, n_updates, job.config.training.epochs, split))
        return SimpleNamespace(
            n_unlabelled=64 * is_pooled,
            images_per_s=16.0 * (1 + ratio),
            elapsed_s=n_updates + 0.01 * len(split.test),
        )

    monkeypatch.setattr(module, "train_on", train_on)
    monkeypatch.setattr(module, "_distances_s", lambda job, split: 5.0)
    monkeypatch.setattr(module, "_start_s", lambda: 7.0)
    return calls


def test_every_algorithm_is_timed_and_both_baselines_together(jobs, timed):
    estimate(jobs)
    assert {name for name, *_ in timed} == {"supervised-updates", "fixmatch", "mixmatch"}
    assert len(timed) == 6


def test_little_is_done_to_find_out(jobs, timed):
    estimate(jobs)
    for _, n_updates, n_epochs, split in timed:
        assert (n_updates in (1, 4), n_epochs) == (True, 1)
        assert len(split.test) <= module.N_IMAGES
        assert len(split.validation) == 0


def test_a_slow_first_try_is_the_only_one(jobs, timed, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", -1.0)
    estimate(jobs)
    assert [n_updates for _, n_updates, *_ in timed] == [1, 1, 1]


def test_updates_tests_distances_and_the_start_are_counted(jobs, timed):
    """3 epochs of 4 updates at 1 s; the baseline with the same epochs has 2 updates in each."""
    mixmatch = [job for job in jobs if job.run.cell.algorithm == "mixmatch"]
    found = estimate(mixmatch)
    # Tested after each of 3 epochs: a quarter of the images of five classes, and 60 to validate.
    n_tested = round((found.run_s - 12 - 5) / 0.03)
    assert 200 < n_tested < 400
    assert found.update_s == pytest.approx(1)
    assert found.start_s == 7
    assert found.total_s == pytest.approx(len(mixmatch) * found.run_s)
    short = [job for job in jobs if job.run.cell.algorithm == "supervised-epochs"]
    assert estimate(short).run_s == pytest.approx(found.run_s - 12 - 5 + 6, abs=0.5)


def test_the_images_of_an_update_include_all_unlabelled_ones(jobs, timed):
    """FixMatch has three for each labelled one here; its update takes a second too."""
    fixmatch = [job for job in jobs if job.run.cell.algorithm == "fixmatch"]
    assert estimate(fixmatch).update_s == pytest.approx(1)


def test_a_worker_that_does_not_start_in_time_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(module, "WORKER", "import time; time.sleep(600)")
    monkeypatch.setattr(module, "MOST_START_S", 0.01)
    assert module._start_s() > 0


@pytest.mark.slow
def test_the_distances_of_a_pool_are_timed_with_all_images_that_a_run_measures(jobs, monkeypatch):
    """A run reads the probe's images too, more than the 2 x 5 of its draws."""
    job = next(job for job in jobs if job.run.cell.source == "gaussian")
    sizes = []
    monkeypatch.setattr(module, "measured", lambda labelled, pool, plan: sizes.append(len(pool)))
    module._distances_s(job, module.draw_split(job.run.scenario(job.config)))
    assert sizes == [64]


def test_runs_at_once_share_the_work_but_not_the_start():
    assert TimeEstimate(7.0, 1.0, 10.0, 100.0).wall_s(4) == 32.0


@pytest.mark.slow
def test_a_timed_run_has_the_settings_of_its_algorithm(jobs, monkeypatch):
    """They decide the time: FixMatch has two views, MixMatch as many as it is told."""
    seen = []
    monkeypatch.setattr(
        "mixmood.ssl.train.train",
        lambda *_, **options: (
            seen.append((options["plan"].algorithm, options["plan"].settings))
            or SimpleNamespace(
                record=SimpleNamespace(n_unlabelled=1, images_per_s=1.0, elapsed_s=1.0)
            )
        ),
    )
    fixmatch = next(job for job in jobs if job.run.cell.algorithm == "fixmatch")
    module._training(fixmatch, module.draw_split(fixmatch.run.scenario(fixmatch.config)))
    assert seen[0] == ("fixmatch", {"balanced": "both", "threshold": 0.5, "unlabelled_ratio": 3})
