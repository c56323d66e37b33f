"""The best and the worst source of a task."""

from mixmood.testbed.analysis.extremes import extremes
from mixmood.testbed.analysis.summary import accuracy_rows


def test_the_best_and_worst_source_are_compared_at_the_highest_percentage(make_record):
    records = [
        make_record(source=source, percent=percent, accuracy=accuracy)
        for source, percent, accuracy in [
            ("a", 50, 0.1), ("a", 100, 0.9), ("b", 50, 0.95), ("b", 100, 0.4), ("c", 100, 0.6),
        ]
    ]  # fmt: skip
    (found,) = extremes(accuracy_rows(records, "last"))
    assert (found.best, found.worst, found.percent, found.n_sources) == ("a", "b", 100, 3)
    assert (found.best_accuracy, found.worst_accuracy) == (0.9, 0.4)


def test_sources_are_compared_only_where_all_of_them_were_run(make_record):
    records = [
        make_record(source="a", n_labelled=10, accuracy=0.5),
        make_record(source="b", n_labelled=10, accuracy=0.4),
        make_record(source="b", n_labelled=20, accuracy=0.99),
    ]
    (found,) = extremes(accuracy_rows(records, "last"))
    assert (found.best, found.best_accuracy) == ("a", 0.5)
    assert extremes(accuracy_rows(records[2:], "last")) == []
    apart = [records[0], records[2]]
    assert extremes(accuracy_rows(apart, "last")) == []
