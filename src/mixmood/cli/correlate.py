"""`mixmood correlate`: do distances predict accuracy?"""

from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.terminal import console, put, show


def correlate(
    accuracies: Annotated[str, typer.Argument(metavar="ACCURACY.csv", help="Accuracy per cell.")],
    distances: Annotated[str, typer.Argument(metavar="DISTANCES.csv", help="Distance per cell.")],
    json: options.Json = None,
    csv: Annotated[
        str | None,
        options.file("Write one row for each task, number of labels and measure; - is stdout."),
    ] = None,
) -> None:
    """Pearson, Spearman and regret of distances against accuracies.

    ACCURACY.csv has the columns task, ood_source, ood_percent, n_labelled, accuracy_mean;
    DISTANCES.csv has task, ood_source, ood_percent, measure, distance_mean. The columns algorithm,
    contamination, regime and n_unlabelled, and n_labelled of distances, are optional: rows that
    differ in them are compared separately, as in the tables that testbed tables writes. Different
    views (optional column view) are refused. Rows of 0 percent are left out, and at least three
    cells are needed. Regret is the accuracy lost, among the sources at their highest percentage, by
    training with the nearest instead of the best.

    Example: mixmood correlate table1_accuracy.csv table2_distances.csv --csv agreement.csv
    """
    from mixmood.api.outputs import check_outputs
    from mixmood.api.testbed import correlate as correlated
    from mixmood.report.testbed.export import agreement_csv, agreement_json, agreement_view

    check_outputs((accuracies, distances), (json, csv))
    rows = correlated(accuracies, distances)
    put(json, agreement_json(rows))
    put(csv, agreement_csv(rows))
    if "-" not in (json, csv):
        show(agreement_view(rows, is_plain=not console().is_terminal))
