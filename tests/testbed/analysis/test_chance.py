"""The headline of a test bed: luck is distinguished from prediction."""

import numpy as np
import pytest

from mixmood.testbed.analysis import agreement as module
from mixmood.testbed.analysis.agreement import chance_of_correlation, overall_rows
from mixmood.testbed.analysis.overview import overview_verdict

N_SOURCES, PERCENTS = 4, (50, 100)


def bed(make_record, accuracy, distances, seeds=3, noise=0.0, tasks=("digits",)):
    """Records of four sources; accuracy by source and percentage, distances by measure too."""
    rng = np.random.default_rng(0)
    return [
        make_record(
            task=task,
            source=f"s{source}",
            percent=percent,
            seed=seed,
            accuracy=float(np.clip(accuracy[source, place] + noise * rng.normal(), 0, 1)),
            distances={name: float(far[source, place]) for name, far in distances.items()},
        )
        for task in tasks
        for seed in range(seeds)
        for source in range(N_SOURCES)
        for place, percent in enumerate(PERCENTS)
    ]


def headline(records):
    rows = overall_rows(records, "last")
    return overview_verdict(rows, chance_of_correlation(records, "last"))


LADDER = np.arange(8.0).reshape(N_SOURCES, 2)


@pytest.mark.parametrize("tasks", [("digits",), ("digits", "letters")])
def test_only_one_arrangement_of_sources_and_percentages_gives_a_perfect_line(make_record, tasks):
    """4! ways for the sources times 2 for the percentages; a second task does not add to them."""
    found = chance_of_correlation(
        bed(make_record, 0.9 - LADDER / 20, {"js": LADDER}, tasks=tasks), "last"
    )
    assert found.n_arrangements == 48
    assert found.p_lower == pytest.approx(1 / 48)
    assert found.p_higher == 1


def test_a_line_that_is_as_good_by_the_wrong_sign_is_told_as_such(make_record):
    records = bed(make_record, 0.5 + LADDER / 20, {"js": LADDER})
    assert chance_of_correlation(records, "last").p_higher == pytest.approx(1 / 48)
    assert headline(records).startswith("In these cells nearer pools gave no better models")


def test_drawn_arrangements_come_near_to_all_of_them(make_record, monkeypatch):
    rng = np.random.default_rng(3)
    far = {"js": rng.normal(size=(4, 2)), "l1": rng.normal(size=(4, 2))}
    records = bed(make_record, 0.5 + 0.1 * rng.random((4, 2)), far)
    whole = chance_of_correlation(records, "last")
    monkeypatch.setattr(module, "MOST_ARRANGEMENTS", 40)
    assert chance_of_correlation(records, "last").n_arrangements == 40
    assert chance_of_correlation(records, "last").p_lower == pytest.approx(whole.p_lower, abs=0.25)


def test_choosing_the_best_of_many_measures_is_paid_for(make_record):
    """A measure that is best by luck alone is less surprising when there were many to be it."""
    rng = np.random.default_rng(1)
    accuracy = 0.5 + 0.1 * rng.random((4, 2))
    far = {f"m{k}": rng.normal(size=(4, 2)) for k in range(12)}
    records = bed(make_record, accuracy, far)
    rows = overall_rows(records, "last")
    best = rows[0].measure
    alone = chance_of_correlation(bed(make_record, accuracy, {best: far[best]}), "last")
    assert chance_of_correlation(records, "last").p_lower > 2 * alone.p_lower


def test_a_source_that_lacks_a_cell_stays_where_it_is(make_record):
    records = bed(make_record, 0.9 - LADDER / 20, {"js": LADDER})
    cut = [r for r in records if (r.run.source, r.run.percent) != ("s0", 50.0)]
    # The three whole sources change places; the percentages are no longer alike.
    assert chance_of_correlation(cut, "last").n_arrangements == 6


def test_a_group_whose_cells_are_alike_says_nothing(make_record):
    line = bed(make_record, 0.9 - LADDER / 20, {"js": LADDER})
    flat = bed(make_record, 0.5 + 0 * LADDER, {"js": LADDER}, tasks=("flat",))
    assert chance_of_correlation(line + flat, "last").p_lower == pytest.approx(1 / 48)
    assert chance_of_correlation(flat, "last") is None


def test_one_seed_never_gives_the_sentence(make_record):
    records = bed(make_record, 0.9 - LADDER / 20, {"js": LADDER}, seeds=1)
    assert headline(records).startswith("No measure reliably predicted accuracy in these cells")


@pytest.mark.slow
def test_measures_that_know_nothing_seldom_make_the_headline(make_record):
    """By intervals over seeds, 80 of 100 such beds once gave the sentence."""
    n_told = 0
    for repeat in range(60):
        rng = np.random.default_rng(repeat)
        accuracy = 0.6 + 0.03 * (rng.normal(size=(4, 1)) + 0.3 * rng.normal(size=(4, 2)))
        far = {f"m{k}": rng.normal(size=(4, 1)) + 0.3 * rng.normal(size=(4, 2)) for k in range(4)}
        records = bed(make_record, accuracy, far, noise=0.01)
        found = chance_of_correlation(records, "last")
        n_told += found.p_lower <= 0.05
    assert n_told <= 8  # 5 % are 3; more than 8 come once in 300 times


def test_a_bed_with_foresight_makes_the_headline(make_record):
    records = bed(make_record, 0.9 - LADDER / 20, {"js": LADDER}, noise=0.005)
    assert headline(records).startswith("In these cells nearer pools gave better models; js")
