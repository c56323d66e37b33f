"""The tables that docs/results.md is made of, from records whose truth is known."""

import gzip
import json

import numpy as np
import pytest
from benchmarks.study import share_with_interval
from benchmarks.testbed import claims, dose, page, predictors, variants
from benchmarks.testbed.measure import lacks_something, measured_again
from benchmarks.testbed.records import pools_of, read_rows, units_of
from benchmarks.testbed.restore import restore
from benchmarks.testbed.units import best, chosen, correlation_of_means, mean_over, pearson
from fuzz.tiny_bed import FROZEN, TINY

from mixmood.core.files import csv_text
from mixmood.report.testbed.export import records_csv_gz
from mixmood.testbed.cells import runs
from mixmood.testbed.config import parse_config
from mixmood.testbed.record import MeasuredDistance, RunRecord
from mixmood.testbed.results import measured_pool
from mixmood.testbed.run import drawn, job_for
from mixmood.testbed.store import Store

COLUMNS = (
    "task", "ood_source", "ood_percent", "n_labelled", "algorithm", "regime", "seed",
    "accuracy_test", "accuracy_half_1", "accuracy_half_2", "cosine_distance", "l1_distance",
    "l2_distance", "js_distance", "share", "share_low", "share_high", "probe_algorithm",
    "probe_change", "probe_error", "probe_unrest", "probe_accuracy", "probe_supervised",
    "probe_is_learnable",
)  # fmt: skip
SOURCES = ("other_half", "svhn", "gaussian")


def run(task, seed, source, percent, accuracy, algorithm="mixmatch"):
    """A row of records; cosine is the foreign share, the other measures know nothing."""
    row = dict.fromkeys(COLUMNS, "") | {
        "task": task, "ood_source": source, "ood_percent": percent, "n_labelled": 60,
        "algorithm": algorithm, "regime": "frozen", "seed": seed, "accuracy_test": accuracy,
        "accuracy_half_1": accuracy, "accuracy_half_2": accuracy,
    }  # fmt: skip
    if algorithm != "supervised":
        row |= {f"{name}_distance": 1 for name in ("l1", "l2", "js")}
        row |= {"cosine_distance": percent, "share": 1 - percent / 100}
        row |= {"share_low": 0, "share_high": 1, "probe_algorithm": "mixmatch"}
        row |= {"probe_change": 5 - percent / 10, "probe_error": 1, "probe_unrest": 0}
        row |= {"probe_accuracy": 0, "probe_supervised": 70, "probe_is_learnable": "True"}
    return row


def known_rows():
    """Two tasks, four seeds: clean pools gain five points, wholly foreign ones lose five."""
    rows = []
    for task in ("mnist", "cifar10"):
        for seed in range(4):
            level = 0.6 + 0.05 * seed
            rows.append(run(task, seed, "", "", level, "supervised"))
            for source, percent in [("none", 0), *((s, p) for s in SOURCES for p in (50, 100))]:
                rows.append(run(task, seed, source, percent, level + 0.05 - percent / 1000))
    return rows


@pytest.fixture
def folder(tmp_path):
    """A folder of results with the known rows."""
    return written(tmp_path, known_rows())


def written(folder, rows):
    """A folder of results with these rows."""
    names = list(rows[0])
    text = csv_text(names, ([row[name] for name in names] for row in rows))
    folder.mkdir(exist_ok=True)
    (folder / "records.csv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_a_gain_is_the_difference_from_the_supervised_run_of_the_same_images(folder):
    pools = pools_of(read_rows(folder))
    assert len(pools) == 2 * 4 * 7
    for pool in pools:
        assert pool.gain == pytest.approx(5 - pool.percent / 10)
        assert pool.halves == pytest.approx((pool.gain, pool.gain))
    assert set(units_of(pools, "60", "mixmatch")) == {
        (task, seed) for task in ("mnist", "cifar10") for seed in range(4)
    }


def test_a_perfect_predictor_has_no_regret_and_a_blind_one_is_undefined(folder):
    text = predictors.summary(folder)
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in text.splitlines()}
    assert lines["cosine"][1:5] == [*["1.00 [1.00, 1.00]"] * 3, "0.0 [0.0, 0.0]"]
    assert lines["l1"][1:4] == ["-", "-", "-"]
    assert lines["advice"][6:9][1:] == ["0.0 [0.0, 0.0]", "0 % |"]


def test_wholly_foreign_pools_are_worse_than_none_unless_advice_is_followed(folder):
    units = units_of(pools_of(read_rows(folder)), "60", "mixmatch")
    foreign = {unit: [p for p in own if p.percent == 100] for unit, own in units.items()}
    assert predictors.cells_of(foreign, "cosine")[2:] == ["5.0 [5.0, 5.0]", "100 %"]
    assert predictors.cells_of(foreign, "advice")[2:] == ["0.0 [0.0, 0.0]", "0 %"]


def test_the_curve_has_a_gain_for_every_share_and_kind_of_source(folder):
    text = dose.summary(folder)
    assert "| gain | other half | 5.0 [5.0, 5.0] | 0.0 [0.0, 0.0] | -5.0 [-5.0, -5.0] |" in text
    assert "| noise | +0.0 [+0.0, +0.0] | +0.0 [+0.0, +0.0] |" in text


def test_claims_stand_beside_the_numbers_of_the_paper(folder):
    text = claims.summary(folder)
    assert "| clean pool against no pool | +5.0 [+5.0, +5.0] | +15.5 |" in text
    assert "| wholly foreign against clean | -10.0 [-10.0, -10.0] | -15.8 |" in text
    assert "| r of cosine and accuracy, in each seed | -1.00 [-1.00, -1.00] | - |" in text


def test_the_page_of_a_folder_has_its_commands_its_views_and_every_table(tmp_path):
    more = {"contamination": "fixed-total", "view": "96 px, middle"}
    text = page.page(written(tmp_path / "dose", [row | more for row in known_rows()]))
    assert "    mixmood testbed run dose --store STORE --jobs 2\n" in text
    assert "64 runs, 4 seeds." in text
    assert "| cifar10 | 96 px, middle (100%) |" in text
    assert "| mixmatch | fixed-total | -1.00 [-1.00, -1.00] | -7.50 [-7.50, -7.50]" in text
    assert "| gain | other half | 5.0 [5.0, 5.0] | 0.0 [0.0, 0.0] | -5.0 [-5.0, -5.0] |" in text


def test_a_share_has_an_interval_over_tasks_and_not_over_pools():
    """One task is always a hit and one never is: 100 pools of each say little of a third task."""
    rows = [{"task": t, "seed": s, "hit": t == "a"} for t in "ab" for s in range(5)] * 20
    share, low, high = share_with_interval(rows, lambda row: row["hit"])
    assert (share, low, high) == (0.5, 0.0, 1.0)
    counted = share_with_interval(rows, lambda row: row["hit"], lambda row: row["task"] == "a")
    assert counted == (1.0, 1.0, 1.0)
    assert np.isnan(share_with_interval(rows, lambda row: True, lambda row: False)[0])


def test_units_without_all_pools_are_left_out(folder):
    units = units_of(pools_of(read_rows(folder)), "60", "mixmatch")
    units["mnist", 0] = units["mnist", 0][:3]
    assert ("mnist", 0) not in predictors.whole(units)
    assert len(predictors.whole(units)) == 7


def test_intervals_are_over_seeds_or_over_tasks_and_cover_the_truth():
    """t over the means of ten seeds; each seed has three tasks that share its luck."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        luck = rng.normal(size=10)
        values = {(task, s): luck[s] + rng.normal() for task in "abc" for s in range(10)}
        found = mean_over(values, "seeds")
        held += found.low <= 0 <= found.high
    assert 0.92 <= held / 300 <= 0.98
    assert mean_over(values, "tasks").n == 3
    assert np.isnan(mean_over({("a", 0): 1.0, ("a", 1): 2.0}, "seeds").low)


def test_the_best_choice_may_be_no_pool_and_ties_are_averaged():
    assert best([-2.0, -1.0]) == 0.0
    assert chosen([1.0, 1.0, 0.0], [4.0, 2.0, 9.0]) == 3.0
    assert np.isnan(pearson([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))


def test_the_correlation_of_means_is_that_of_the_paper_and_not_of_each_seed():
    rng = np.random.default_rng(1)
    x = {("a", seed): np.arange(10.0) for seed in range(40)}
    y = {unit: values + rng.normal(scale=6, size=10) for unit, values in x.items()}
    found = correlation_of_means(x, y)
    assert found.value > 0.9
    assert found.low < found.value < found.high
    assert np.mean([pearson(x[unit], y[unit]) for unit in x]) < 0.6


def test_variants_are_compared_on_the_seeds_that_both_have(tmp_path):
    """The second seed of the variant lacks a pool: it is left out of the mean of all pools."""
    cells = [(seed, *pool) for seed in (0, 1) for pool in (("none", 0, 0.5), ("svhn", 50, 0.3))]
    both = [run("digits", seed, source, percent, level) for seed, source, percent, level in cells]
    more = [
        run("digits", seed, source, percent, level + 0.1 + seed / 20)
        for seed, source, percent, level in cells[:3]
    ]
    written(tmp_path / "digits", both)
    written(tmp_path / "digits-labelled", more)
    _, _, clean, half, every, *_ = variants.lines(tmp_path)
    assert clean == "| digits | 60 | none 0 % | 50.0 | 62.5 | +12.5 | 50.0 | 60.0 | 2 |"
    assert half == "| digits | 60 | svhn 50 % | 30.0 | 40.0 | +10.0 | 30.0 | 40.0 | 1 |"
    assert every == "| digits | 60 | mean of all 2 | 40.0 | 50.0 | +10.0 | 40.0 | 50.0 | 1 |"


def record_of(job):
    """A record with a value of its own in every field that is published."""
    run, rng = job.run, np.random.default_rng(int(job.key, 16))
    at_most_one = [round(float(value), 4) for value in rng.random(8)]
    is_frozen, has_pool = run.regime == "frozen", not run.is_supervised
    epochs = [
        {"epoch": k, "test_accuracy": value, "pseudo_label_shares": None}
        for k, value in enumerate(at_most_one[:2], 1)
    ]
    if has_pool:
        epochs[-1]["pseudo_label_shares"] = [0.25, 0.75]
    arms = None
    if has_pool and not is_frozen:
        arms = {arm: [at_most_one[row], at_most_one[row + 1]] for row, arm in enumerate("ABCD")}
    names = MeasuredDistance.model_fields
    numbers = ("change", "error", "unrest", "accuracy", "supervised", "gain")
    by_choice = zip(("best", "last", "median", "validation"), at_most_one, strict=False)
    return RunRecord.model_validate_json(
        json.dumps(
            {
                "key": job.key, "run": run.to_dict(), "data": job.data, "mixmood": "0.1.0",
                "versions": {"numpy": "2"}, "classes": ["0", "4"],
                "training": None if is_frozen else {"epochs": epochs, "arms": arms},
                "arms": arms and {
                    arm: {"best": max(two), "last": two[1], "median": two[0], "validation": two[0]}
                    for arm, two in arms.items()
                },
                "accuracy": {"test": at_most_one[0]} if is_frozen else dict(by_choice),
                "test_halves": at_most_one[:2] if is_frozen else None,
                "distances": {"cosine": dict.fromkeys(names, at_most_one[3])} if has_pool else None,
                "useful_share": {
                    "share": at_most_one[4], "interval": [0.0, 1.0], "is_trustworthy": True,
                } if has_pool else None,
                "probe": {
                    **dict(zip(numbers, at_most_one, strict=False)), "algorithm": "mixmatch",
                    "is_learnable": False, "interval": [-1.5, 2.5], "p_helps": at_most_one[6],
                } if has_pool else None,
                "times": {"training_s": 1.5, "total_s": 2.0, "cpu_s": 1.25},
            }
        )
    )  # fmt: skip


def published_in(folder, records):
    """Publish records as `mixmood testbed tables` does, and read what was written."""
    (folder / "records.csv.gz").write_bytes(records_csv_gz(records))
    return read_rows(folder)


@pytest.mark.parametrize("preset", [TINY, FROZEN], ids=["networks", "heads"])
def test_a_store_restored_from_published_records_publishes_the_same(preset, tmp_path):
    config = parse_config(preset, "tiny")
    jobs = [job_for(config, run) for run in runs(config)]
    published = published_in(tmp_path, [record_of(job) for job in jobs])
    n_rows = len(published)
    assert restore(tmp_path, tmp_path / "store", config) == (n_rows, n_rows)
    order = {job.key: place for place, job in enumerate(jobs)}
    found = sorted(Store(tmp_path / "store").records(), key=lambda record: order[record.key])
    assert published_in(tmp_path, found) == published
    if preset == TINY:
        with_arms = [record for record in found if not record.run.is_supervised]
        assert [record.arms for record in with_arms] == [
            record_of(jobs[order[record.key]]).arms for record in with_arms
        ]
        assert {len(values) for values in with_arms[0].training.arms.values()} == {2}


def test_rows_of_another_protocol_are_not_restored(tmp_path):
    """They would never be used: their keys are those of other runs."""
    theirs, ours = (parse_config(TINY.replace("0.002", rate), "tiny") for rate in ("0.1", "0.2"))
    jobs = [job_for(theirs, run) for run in runs(theirs)]
    published_in(tmp_path, [record_of(job) for job in jobs])
    assert restore(tmp_path, tmp_path / "store", ours) == (0, len(jobs))


def test_a_pool_is_measured_again_on_the_images_of_its_run(tmp_path, tiny):
    """The distance in the record must come out the same; the rest is added."""
    job = job_for(tiny, runs(tiny)[-1], cache=None)
    before = measured_pool(job, drawn(job))
    record = record_of(job)
    content = record.to_dict() | {"run": record.run, "useful_share": None, "probe": None}
    old = RunRecord.model_validate(content | {"distances": before["distances"]}, strict=False)
    assert lacks_something(old)
    new = measured_again(old, tiny, "none")
    assert not lacks_something(new)
    assert new.distances["cosine"] == old.distances["cosine"]
    assert new.accuracy == old.accuracy
    moved = {name: each | {"distance": 9.0} for name, each in before["distances"].items()}
    other = RunRecord.model_validate(content | {"distances": moved}, strict=False)
    with pytest.raises(SystemExit, match="cosine was 9.0 and is"):
        measured_again(other, tiny, "none")
