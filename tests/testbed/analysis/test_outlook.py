"""Useful share and probe beside the distances of a test bed, from records alone."""

import pytest

from mixmood.report.testbed.page import overview_page
from mixmood.testbed.analysis.agreement import agreement_rows, overall_rows
from mixmood.testbed.analysis.groups import fitted_lines
from mixmood.testbed.analysis.overview import overview
from mixmood.testbed.analysis.tables import outlook_rows
from mixmood.testbed.record import PoolProbe, PoolShare

SOURCES = ("other_half", "gaussian", "salt_and_pepper")


def foreseen(record, share, gain):
    """The record with what `rank` would have said of its pool."""
    probe = PoolProbe(
        algorithm="mixmatch",
        change=gain,
        error=1.0,
        unrest=1.0,
        accuracy=70.0,
        supervised=70.0,
        is_learnable=True,
        gain=gain,
        interval=(gain - 2, gain + 2),
        p_helps=0.5,
    )
    found = PoolShare(share=share, interval=(0.0, 1.0), is_trustworthy=True)
    return record.model_copy(update={"useful_share": found, "probe": probe})


@pytest.fixture
def records(make_record):
    """Accuracy rises with the share; the probe takes the worst source for the best."""
    return [
        foreseen(
            make_record(
                source=source,
                n_labelled=n,
                seed=seed,
                accuracy=0.5 + 0.1 * place + 0.01 * seed,
                distances={"cosine": 5.0 - place},
            ),
            share=0.2 + 0.3 * place,
            gain=[3.0, -2.0, 1.0][place],
        )
        for n in (10, 20)
        for seed in range(3)
        for place, source in enumerate(SOURCES)
    ]


def test_every_cell_has_the_mean_share_and_gain_of_its_runs(records):
    rows = outlook_rows(records)
    assert len(rows) == 2 * 3 * 2
    found = {(row.n_labelled, row.source, row.measure): row for row in rows}
    assert found[10, "gaussian", "useful share"].mean == pytest.approx(0.5)
    assert found[20, "gaussian", "probe"].mean == -2.0
    assert found[20, "gaussian", "probe"].n_runs == 3


def test_a_predictor_that_rises_with_accuracy_correlates_positively(records):
    rows = agreement_rows(records, "last", "predictors")
    means = overall_rows(records, "last", "predictors")
    assert [(row.measure, row.n_labelled) for row in rows] == [
        ("useful share", 10), ("probe", 10), ("useful share", 20), ("probe", 20),
    ]  # fmt: skip
    share, probe = rows[:2]
    assert share.pearson == pytest.approx(1.0)
    assert share.pearson_interval == pytest.approx((1.0, 1.0), abs=1e-3)
    assert share.regret_points == pytest.approx(0.0)
    assert probe.pearson == pytest.approx(-0.397, abs=1e-3)
    assert probe.regret_points == pytest.approx(20.0), "the worst source is chosen by it"
    assert [row.measure for row in means] == ["useful share", "probe"], "the best comes first"
    assert means[0].pearson == pytest.approx(1.0)


def test_the_line_of_a_predictor_has_its_own_values(records):
    lines = {
        (line.measure, line.n_labelled): line
        for line in fitted_lines(records, "last", "predictors")
    }
    assert lines["useful share", 10].x == pytest.approx((0.2, 0.8))
    assert lines["useful share", 10].y == pytest.approx((0.51, 0.71))
    assert lines["probe", 20].x == pytest.approx((-2.0, 3.0))


def test_a_group_in_which_one_run_lacks_a_predictor_is_not_correlated_by_it(records):
    records[0] = records[0].model_copy(update={"probe": None})
    rows = agreement_rows(records, "last", "predictors")
    means = overall_rows(records, "last", "predictors")
    assert [(row.measure, row.n_labelled) for row in rows if row.measure == "probe"] == [
        ("probe", 20)
    ]
    assert {row.measure: row.n_groups for row in means} == {"useful share": 2, "probe": 1}


def test_records_of_earlier_versions_have_no_outlook(records):
    old = [one.model_copy(update={"useful_share": None, "probe": None}) for one in records]
    assert outlook_rows(old) == []
    assert agreement_rows(old, "last", "predictors") == []
    assert overall_rows(old, "last", "predictors") == []
    assert fitted_lines(old, "last", "predictors") == []


def test_the_page_shows_both_beside_the_distances(store, records):
    for record in records:
        store.write(record)
    made = overview(store, "last")
    assert made.best_measure == "cosine", "the headline is about distances"
    plain = made.to_dict()
    assert {row["measure"] for row in plain["predictors"]} == {"useful share", "probe"}
    assert plain["overall_predictors"][0]["measure"] == "useful share"
    assert len(plain["outlook"]) == 12
    assert [row["measure"] for row in plain["table3"]] == ["cosine", "cosine"]
    page = overview_page(made)
    assert page.count("+1 is perfect</small>") == 2
    assert 'data-sort="v1" data-first="descending"><bdi>useful share</bdi>' in page
    assert "accuracy 0.610 ± 0.010, 3 runs; useful share 0.50" in page
    assert "; probe \u22122.0 points" in page
    assert "+3.0 <small>± 0.0</small>" in page
    names = [part.split("</bdi>")[0] for part in page.split('<td class="name"><bdi>')[1:]]
    assert names == ["cosine", "useful share", "probe"] * 2, "behind the measures of each group"


def test_a_page_of_earlier_records_says_nothing_of_them(store, records):
    for record in records:
        store.write(record.model_copy(update={"useful_share": None, "probe": None}))
    page = overview_page(overview(store, "last"))
    assert "+1 is perfect" not in page
    assert "probe" not in page.partition('<script type="application/json"')[0]
