"""The page of the replication: its records, its rule, its tables."""

import hashlib
import json

import pytest
from benchmarks.replication import page, records
from fuzz.tiny_bed import TINY

from mixmood.core.errors import OutputError
from mixmood.testbed.cells import runs
from mixmood.testbed.config import load_config, parse_config
from mixmood.testbed.record import MeasuredDistance, RunRecord
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store

RULE = "9e879c5f3634d2f542afbe3bc23f409ab4a0d3b04cbaba69c9ecb6c0cc718979"
"""The digest of the section as it was committed before the runs (cdf791c7)."""
FAR = {"none": 0.0, "other_half": 1.0, "gaussian": 20.0, "salt_and_pepper": 22.0}
"""Distances of a made-up world; those of other sources are 3."""


def record(run, accuracies, key):
    """A record of a run with these accuracies in arms A to D; the last epoch loses two points."""
    found = dict(zip("ABCD", accuracies, strict=True))
    by_choice = {
        arm: {"best": best, "last": best - 0.02, "median": best, "validation": best}
        for arm, best in found.items()
    }
    distance = FAR.get(run.source, 3.0) * run.percent / 100
    values = dict.fromkeys(MeasuredDistance.model_fields, distance)
    epochs = [{"epoch": 1, "test_accuracy": found["A"], "pseudo_label_shares": None}]
    content = {
        "key": key, "run": run.to_dict(), "data": "", "mixmood": "0.1.0", "versions": {},
        "classes": [], "times": {"total_s": 1.0}, "arms": by_choice, "accuracy": by_choice["A"],
        "distances": dict.fromkeys(("cosine", "js", "l1", "l2"), values),
        "training": {"epochs": epochs, "arms": {arm: [best] for arm, best in found.items()}},
    }  # fmt: skip
    return RunRecord.model_validate_json(json.dumps(content))


def central(drop_b, drop_d):
    """All runs of the central table: B and D lose this much on 100 % noise, A and C nothing."""
    made = []
    for place, run in enumerate(runs(load_config(records.CENTRAL))):
        is_noise = run.percent == 100 and run.source in page.NOISES
        # Without noise accuracy has nothing to do with the distance: 0.80 and 0.81 in turn.
        level = 0.8 + 0.01 * ((place + run.seed) % 2)
        lost = (0, drop_b, 0, drop_d) if is_noise else (0, 0, 0, 0)
        made.append(record(run, [level - one for one in lost], f"{place:020x}"))
    return made


@pytest.mark.parametrize(
    ("drops", "verdict"),
    [
        ((0.3, 0.3), page.VERDICTS["B"]),
        ((0.0, 0.3), page.VERDICTS["D"]),
        ((0.07, 0.07), "Not explained, by the rule."),
    ],
)
def test_the_verdict_follows_the_rule(drops, verdict):
    assert page.rule(central(*drops))[0] == f"**{verdict}**"


def test_the_rule_on_the_page_is_the_one_that_was_committed_before_the_runs():
    text = page.PAGE.read_text(encoding="utf-8")
    section = text[text.index("## The rule, decided before") : text.index("## Results")].strip()
    assert hashlib.sha256(section.encode()).hexdigest() == RULE


def test_the_share_of_the_papers_drop_is_that_from_the_clean_pool():
    """In the paper MNIST falls from 70.4 to 44.2 with Gaussian noise: 30 points are 115 % of it."""
    line = page.collapse(central(0.3, 0.3))[2].split(" | ")
    assert line[:3] == ["| mnist", "gaussian", "26.2"]
    assert float(line[4].rstrip("%")) == pytest.approx(115, abs=4)
    assert float(line[3].rstrip("%")) == pytest.approx(0, abs=4)


def test_tables_1_and_2_have_every_cell_beside_the_papers():
    lines = page.cells(central(0.3, 0.3))[2:]
    assert len(lines) == 33
    assert lines[9].startswith("| mnist | Dif | salt_and_pepper 50 | 80.")
    assert lines[10].split(" | ")[-3:] == ["48.0", "22.0", "77.5 |"]


@pytest.fixture
def bed(tmp_path):
    """A test bed of eight runs, four of them in its store and published."""
    config = parse_config(TINY, "tiny")
    jobs = [job_for(config, run) for run in runs(config)]
    store = Store.make(tmp_path / "stores" / "tiny", config)
    for job in jobs[:4]:
        store.write(record(job.run, (0.5, 0.4, 0.3, 0.2), job.key))
    return config, jobs, store


def test_an_unfinished_store_is_published_and_restored_with_its_arms(bed, tmp_path):
    config, jobs, store = bed
    assert records.publish("tiny", config, store, tmp_path) == "tiny: 4 of 8 runs; 0 failed."
    written = (tmp_path / "tiny" / "records.csv.gz").read_bytes()
    restored = tmp_path / "restored"
    assert records.restore(tmp_path / "tiny", restored, config) == (4, 4)
    assert Store(restored).keys() == {job.key for job in jobs[:4]}
    assert {r.arms["D"].best for r in Store(restored).records()} == {0.2}
    records.publish("tiny", config, Store(restored), tmp_path)
    assert (tmp_path / "tiny" / "records.csv.gz").read_bytes() == written


def test_a_store_that_lacks_published_runs_does_not_replace_them(bed, tmp_path):
    config, jobs, store = bed
    records.publish("tiny", config, store, tmp_path)
    (store.folder / "runs" / f"{jobs[0].key}.json").unlink()
    with pytest.raises(OutputError, match="lacks 1 run of .*tiny. Move it elsewhere, restore"):
        records.publish("tiny", config, store, tmp_path)


def test_runs_of_another_protocol_are_not_published(bed, tmp_path):
    _, _, store = bed
    other = parse_config(TINY.replace("0.002", "0.003"), "tiny")
    assert records.publish("tiny", other, store, tmp_path) == "tiny: 0 of 8 runs; 0 failed."
    assert records.published("tiny", tmp_path) == []


def test_every_published_run_is_one_of_its_test_bed_and_none_is_there_twice():
    for name, config in records.beds().items():
        found = [one.run for one in records.published(name)]
        assert len(found) == len(set(found))
        assert set(found) <= set(runs(config)), name
