"""`mixmood.correlate`: how well distances predict accuracies, from two tables."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mixmood.testbed.analysis.correlate import Agreement


def correlate(accuracies: str | Path, distances: str | Path) -> "list[Agreement]":
    """Pearson, Spearman and regret of distances against accuracies, one row for each measure.

    Args:
        accuracies: A CSV table with the columns task, ood_source, ood_percent, n_labelled and
            accuracy_mean.
        distances: A CSV table with the columns task, ood_source, ood_percent, measure and
            distance_mean.
    """
    from mixmood.testbed.analysis.correlate import agreements, read_accuracies, read_distances

    return agreements(read_accuracies(accuracies), read_distances(distances))
