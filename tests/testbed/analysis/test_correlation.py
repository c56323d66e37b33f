"""Correlation and regret, against the paper's own tables."""

import csv

import pytest

from mixmood.core.errors import InputError
from mixmood.testbed.analysis.correlate import (
    CellMean,
    agreements,
    read_accuracies,
    read_distances,
)

SLIPS = {("mnist", 60, "js"), ("mnist", 100, "js")} | {
    ("mnist", n, "cosine") for n in (60, 100, 150)
}


@pytest.fixture(scope="session")
def rows(paper_tables):
    return agreements(
        read_accuracies(paper_tables / "table1_accuracy.csv"),
        read_distances(paper_tables / "table2_distances.csv"),
    )


def test_the_papers_tables_give_its_third_table(rows, paper_tables):
    """Five values differ by more than rounding: Table 2 prints one js value twice."""
    with (paper_tables / "table3_correlations.csv").open() as file:
        printed = {
            (row["task"], int(row["n_labelled"]), row["measure"]): float(row["pearson"])
            for row in csv.DictReader(file)
        }
    assert len(rows) == len(printed) == 36
    for row in rows:
        key = (row.task, row.n_labelled, row.measure)
        assert row.pearson == pytest.approx(printed[key], abs=0.0125 if key in SLIPS else 0.00151)


def test_the_ranks_agree_much_less_than_the_values_do(rows):
    cosine = [row for row in rows if (row.task, row.measure) == ("cifar10", "cosine")]
    assert [round(row.spearman, 2) for row in cosine] == [-0.39, -0.73, -0.45]
    assert [round(row.pearson, 2) for row in cosine] == [-0.92, -0.95, -0.93]


def test_the_papers_cosine_loses_a_few_points(rows):
    regrets = [round(row.regret_points, 1) for row in rows if row.measure == "cosine"]
    assert regrets == [0.0, 0.0, 0.6, 2.6, 0.0, 0.1, 3.0, 1.7, 4.7]


def accuracy(source, mean, n_labelled=60, percent=100.0, **variant):
    return CellMean(task="t", pool=(source, percent), n_labelled=n_labelled, mean=mean, **variant)


def distance(source, mean, n_labelled=None, percent=100.0, **variant):
    pool = (source, percent)
    return CellMean(task="t", pool=pool, measure="js", mean=mean, n_labelled=n_labelled, **variant)


def cells(means, kind, **options):
    return [kind(f"s{i}", mean, **options) for i, mean in enumerate(means)]


def test_a_perfect_prediction_has_correlation_minus_one_and_no_regret():
    (row,) = agreements(cells([0.9, 0.8, 0.7], accuracy), cells([1, 2, 3], distance))
    assert (round(row.pearson, 9), round(row.spearman, 9), row.regret_points) == (-1, -1, 0)
    assert row.n_cells == 3


def test_equal_distances_have_no_correlation_and_their_regret_is_the_mean():
    (row,) = agreements(cells([0.9, 0.8, 0.85], accuracy), cells([1, 1, 1], distance))
    assert (row.pearson, row.spearman) == (None, None)
    assert row.regret_points == pytest.approx(5.0)


def test_only_the_highest_percentage_is_a_candidate_for_choice():
    accuracies = [*cells([0.6, 0.5], accuracy), accuracy("s0", 0.9, percent=50.0)]
    distances = [*cells([2, 1], distance), distance("s0", 0.1, percent=50.0)]
    (row,) = agreements(accuracies, distances)
    assert row.regret_points == pytest.approx(10.0)


def test_a_distance_of_one_number_of_labels_is_compared_with_that_alone():
    """Exported tables measure each number of labels anew; the paper's do so once for all."""
    accuracies = [
        *cells([0.9, 0.8, 0.7], accuracy, n_labelled=60),
        *cells([0.7, 0.8, 0.9], accuracy, n_labelled=100),
    ]
    distances = [row for n in (60, 100) for row in cells([1, 2, 3], distance, n_labelled=n)]
    rows = agreements(accuracies, distances)
    assert [(row.n_labelled, round(row.pearson, 9)) for row in rows] == [(60, -1), (100, 1)]


def test_algorithms_and_contaminations_are_kept_apart():
    accuracies = [
        row
        for algorithm, means in (("mixmatch", [0.9, 0.8, 0.7]), ("fixmatch", [0.7, 0.8, 0.9]))
        for mode in ("replace", "add")
        for row in cells(means, accuracy, algorithm=algorithm, contamination=mode)
    ]
    distances = [
        row
        for mode, fars in (("replace", [1, 2, 3]), ("add", [3, 2, 1]))
        for row in cells(fars, distance, contamination=mode)
    ]
    found = {
        (row.algorithm, row.contamination): round(row.pearson, 9)
        for row in agreements(accuracies, distances)
    }
    assert found == {
        ("mixmatch", "replace"): -1,
        ("mixmatch", "add"): 1,
        ("fixmatch", "replace"): 1,
        ("fixmatch", "add"): -1,
    }


def test_cells_without_contamination_are_left_out():
    clean = accuracy("none", 0.99, percent=0.0), distance("none", 9, percent=0.0)
    accuracies, distances = cells([0.9, 0.8, 0.7], accuracy), cells([1, 2, 3], distance)
    (row,) = agreements([*accuracies, clean[0]], [*distances, clean[1]])
    assert (row.n_cells, round(row.pearson, 9)) == (3, -1)


def test_a_cell_that_stands_in_a_table_twice_is_refused():
    accuracies, distances = cells([0.9, 0.8], accuracy), cells([1, 2], distance)
    with pytest.raises(InputError, match="t, s1 100 % is in the table twice"):
        agreements(accuracies, [*distances, distances[1]])
    with pytest.raises(InputError, match="Give the columns n_labelled, algorithm, contamination, "):
        agreements([*accuracies, accuracies[0]], distances)


def test_tables_without_a_common_cell_are_refused():
    with pytest.raises(InputError, match="share no task with at least 3 contaminated cells"):
        agreements(cells([0.9], accuracy), cells([1], distance))


def test_two_cells_are_too_few_to_correlate():
    """Their correlation is always +1 or -1."""
    with pytest.raises(InputError, match="share no task with at least 3 contaminated cells"):
        agreements(cells([0.9, 0.8], accuracy), cells([1, 2], distance))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task,x\nmnist,1\n", "lacks ood_source, ood_percent, n_labelled, accuracy_mean"),
        ("", "lacks task"),
        (
            "task,ood_source,ood_percent,n_labelled,accuracy_mean\nmnist,svhn,100,60,high\n",
            "line 2: accuracy_mean must be a number; got 'high'",
        ),
        (
            "task,ood_source,ood_percent,n_labelled,accuracy_mean\nmnist,svhn,100,60,45.7\n",
            "line 2: accuracy_mean must be between 0 and 1; got 45.7. Divide percentages by 100",
        ),
        (
            "task,ood_source,ood_percent,n_labelled,accuracy_mean\nmnist,svhn,100,60,nan\n",
            "accuracy_mean must be a number; got 'nan'",
        ),
        (
            "task,ood_source,ood_percent,n_labelled,accuracy_mean\nmnist,svhn\n",
            None,
        ),
    ],
)
def test_a_table_of_another_form_is_refused(tmp_path, content, message):
    path = tmp_path / "accuracy.csv"
    path.write_text(content)
    if message is None:  # a short row has no percentage, as a baseline
        assert read_accuracies(path) == []
        return
    with pytest.raises(InputError, match=message):
        read_accuracies(path)


def test_a_file_that_is_not_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "image.csv").write_bytes(b"\xff\xd8\xff\xe0\x00")
    with pytest.raises(InputError, match="as a CSV table in UTF-8"):
        read_distances(tmp_path / "image.csv")
    with pytest.raises(InputError, match="Cannot read .*missing.csv .*: No such file"):
        read_distances(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("accuracy_view", "distance_view", "is_refused"),
    [
        ("96 px, last", "224 px, last", True),
        ("96 px, last; 160 px, both", "224 px, both", True),
        ("96 px, last; 160 px, both", "160 px, both", False),
        (None, "96 px, last", False),
    ],
)
def test_tables_of_different_views_are_refused(accuracy_view, distance_view, is_refused):
    accuracies = cells([0.9, 0.8, 0.7], accuracy, view=accuracy_view)
    distances = cells([1, 2, 3], distance, view=distance_view)
    if is_refused:
        with pytest.raises(InputError, match=f"t was measured in different views.*{distance_view}"):
            agreements(accuracies, distances)
    else:
        assert len(agreements(accuracies, distances)) == 1


def test_a_table_whose_rows_have_different_views_is_refused():
    accuracies = cells([0.9, 0.8], accuracy, view="96 px, last")
    accuracies.append(accuracy("s2", 0.7, view="224 px, last"))
    with pytest.raises(InputError, match="different views: 96 px, last and 224 px, last"):
        agreements(accuracies, cells([1, 2, 3], distance))
