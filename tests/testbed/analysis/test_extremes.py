"""The best and the worst source of a task."""

from mixmood.testbed.analysis.overview import extremes
from mixmood.testbed.analysis.tables import accuracy_rows


def test_the_best_and_worst_source_are_compared_at_the_highest_percentage(make_record):
    records = [
        make_record(source=source, percent=percent, accuracy=accuracy)
        for source, percent, accuracy in [
            ("a", 50, 0.1), ("a", 100, 0.9), ("b", 50, 0.95), ("b", 100, 0.4), ("c", 100, 0.6),
        ]
    ]  # fmt: skip
    (found,) = extremes(accuracy_rows(records, "last"), 5)
    assert (found.best, found.worst, found.percent, found.n_sources) == ("a", "b", 100, 3)
    assert (found.best_accuracy, found.worst_accuracy) == (0.9, 0.4)


def test_sources_are_compared_only_where_all_of_them_were_run(make_record):
    records = [
        make_record(source="a", n_labelled=10, accuracy=0.5),
        make_record(source="b", n_labelled=10, accuracy=0.4),
        make_record(source="b", n_labelled=20, accuracy=0.99),
    ]
    (found,) = extremes(accuracy_rows(records, "last"), 5)
    assert (found.best, found.best_accuracy) == ("a", 0.5)
    assert extremes(accuracy_rows(records[2:], "last"), 5) == []
    apart = [records[0], records[2]]
    assert extremes(accuracy_rows(apart, "last"), 5) == []


def test_a_best_source_must_be_better_than_chance_by_more_than_noise(make_record):
    """By two points and by two standard errors over seeds."""

    def found(*accuracies):
        records = [
            make_record(source=source, seed=seed, accuracy=accuracy)
            for source in ("a", "b")
            for seed, accuracy in enumerate(accuracies)
        ]
        (one,) = extremes(accuracy_rows(records, "last"), 5)
        assert one.chance == 0.2
        return one.is_above_chance

    assert not found(0.19, 0.21)
    assert not found(0.215, 0.215)
    assert not found(0.2, 0.4)
    assert found(0.3, 0.31)
