"""The map of the probe is what its rows give, and the page has the numbers of the summary."""

import numpy as np
import pytest
from benchmarks.heads.tasks import FIRST_BREEDS, LOWER
from benchmarks.probe import evidence, fit
from benchmarks.probe.cases import read_rows
from benchmarks.probe.harder import PACKS, overlaid
from benchmarks.probe.judge import (
    advice_of,
    by_task_and_seed,
    calibration,
    excess,
    oracle,
    perfect,
    pick_by_advice,
)
from benchmarks.probe.tasks import FITTED_ON

from mixmood.evidence.gain import POINTS, gain_of

ROWS = fit.ROWS.parent / "report.jsonl.gz"


def row(seed, percent, gain, share):
    measured = {"p_right": gain, "error": 1.5, "unrest": 0.5, "accuracy": gain, "n_held_out": 60}
    return {
        "task": "mnist 5-9", "seed": seed, "n_labelled": 60, "source": "svhn", "percent": percent,
        "cv": 85.0, "is_learnable": True, "share": share, "share_low": share - 0.1,
        "share_high": share + 0.1, "mixmatch": {"gains": [gain + 0.2, gain - 0.2], **measured},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "helped", "beyond"),
    [
        (0.60, (0.64, 0.62, 0.66), -0.01),  # within five points
        (0.60, (0.72, 0.55, 0.80), -0.05),  # within the interval
        (0.60, (0.72, 0.64, 0.80), 0.04),  # below the interval
        (0.90, (0.72, 0.64, 0.80), 0.10),  # above it
    ],
)
def test_a_promise_may_miss_by_five_points_or_by_the_error_of_what_was_counted(
    said, helped, beyond
):
    assert excess({"p_helps": said, "helped": helped}) == pytest.approx(beyond)


@pytest.fixture
def rows():
    return [row(0, 0, 5.0, 1.0), row(0, 50, 1.0, 0.5), row(0, 100, -6.0, 0.0)]


def test_the_map_that_is_shipped_was_fitted_to_the_rows_that_are_shipped():
    table = fit.columns(read_rows(fit.ROWS), "propagation")
    found = fit.shipped(fit.fitted(table), fit.left_out(table).strange)
    assert found == pytest.approx({key: POINTS["propagation"][key] for key in found}, rel=0.01)


def test_the_fit_and_the_map_compute_the_same(rows):
    from mixmood.evidence.gain import PoolEffect

    table = fit.columns([one | {"n_test": 1500} for one in rows], "mixmatch")
    values = [POINTS["mixmatch"][key] for key in fit.BOUNDS]
    means, variances = fit.predicted(table, values)
    own = rows[1]["mixmatch"]
    effect = PoolEffect(**{key: value for key, value in own.items() if key != "gains"})
    gain = gain_of(effect, 0.5, 0.85, "mixmatch")
    assert (gain.points, gain.error**2) == pytest.approx((means[1], variances[1]))


def test_the_map_has_seen_development_classes_alone():
    """Its rows too: classes 5 to 9 and the other packs are what it is judged on."""
    assert {one["task"] for one in read_rows(fit.ROWS)} <= set(FITTED_ON)
    for family in FITTED_ON.values():
        is_photographs = family.pack == "pets"
        assert is_photographs or family.pack.split("-")[0] in PACKS
        assert family.classes == (FIRST_BREEDS if is_photographs else LOWER)
        assert not family.others


def test_the_error_that_another_pack_adds_makes_intervals_hold_95_percent():
    off, variance = np.random.default_rng(0).normal(0, 2, 2000), np.ones(2000)
    total = variance + fit.strange_error(off, variance) ** 2
    assert np.mean(off**2 <= 1.96**2 * total) == pytest.approx(0.95, abs=0.001)
    assert fit.strange_error(off / 9, variance) == 0


def test_a_harder_image_is_half_another_one_of_the_same_classes():
    images = np.zeros((50, 4, 4), np.uint8)
    images[::2] = 200
    values = np.unique(overlaid(images, "mnist"))
    assert set(values) <= {0, 90, 110, 200}  # 0.45 and 0.55 of 200
    assert len(values) > 2


def test_a_pick_by_advice_is_judged_against_no_pool(rows):
    assert [advice_of(one, "mixmatch") for one in rows] == ["use", "filter", "avoid"]
    groups = by_task_and_seed(rows)
    assert pick_by_advice(groups, "mixmatch")["regret_points"]["mean"] == 0
    harmful = by_task_and_seed(rows[2:])
    assert pick_by_advice(harmful, "mixmatch")["no_pool_picked"]["mean"] == 1
    assert oracle(groups, "mixmatch")["regret_points"]["mean"] == 0
    assert calibration(rows, "mixmatch")["rmse_points"] > 0


def test_the_page_of_the_results_is_what_their_rows_give():
    found = evidence.page(read_rows(evidence.REPORT_ROWS))
    assert found == (evidence.OUT / "README.md").read_text(), "run benchmarks.probe.evidence"


def test_a_perfect_predictor_is_limited_by_what_is_known_of_the_truth():
    """Truth t, estimates t + e with equal variances: r = 1/2, and t explains 2/3 of their mean."""
    rng = np.random.default_rng(0)
    truth, errors = rng.normal(size=100_000), rng.normal(size=(2, 100_000))
    first, second = truth + errors
    r = np.corrcoef(first, second)[0, 1]
    reached = np.corrcoef(truth, (first + second) / 2)[0, 1]
    assert perfect(r) == pytest.approx(reached, abs=0.01)
    assert perfect(-0.2) == 0
