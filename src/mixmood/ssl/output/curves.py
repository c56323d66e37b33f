"""A plot of the losses and accuracies of a run, from its record."""

import io

from mixmood.ssl.output.record import TrainingRecord


def curves_png(record: TrainingRecord) -> bytes:
    """Losses and accuracies over the updates, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    losses, accuracies = figure.subplots(1, 2)
    updates = [epoch.n_updates for epoch in record.epochs]
    losses.plot(updates, [e.loss_labelled for e in record.epochs], label="labelled")
    unlabelled = [e.loss_unlabelled for e in record.epochs]
    if all(value is not None for value in unlabelled):
        # `or 0.0` is for the type checker: no value is None here.
        losses.plot(updates, [value or 0.0 for value in unlabelled], label="unlabelled")
    losses.set(xlabel="update", ylabel="loss", title=str(record.configuration["algorithm"]))
    losses.legend()
    accuracies.plot(updates, [e.test_accuracy for e in record.epochs], label="test")
    validated = [e.validation_accuracy for e in record.epochs]
    if record.selected_epoch is not None:
        accuracies.plot(updates, [v or 0.0 for v in validated], label="validation")
        accuracies.axvline(
            record.epochs[record.selected_epoch - 1].n_updates, color="grey", linestyle=":"
        )
    accuracies.set(xlabel="update", ylabel="accuracy", ylim=(0, 1), title="accuracy")
    accuracies.legend()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
