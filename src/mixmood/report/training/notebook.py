"""A trained model in a notebook: a small HTML table without a style sheet."""

from collections.abc import Iterator
from html import escape

from mixmood.core.words import counted
from mixmood.report.charts.numbers import signed
from mixmood.report.charts.printable import printable
from mixmood.ssl.head.record import HeadRecord
from mixmood.ssl.output.record import TrainingRecord


def training_html(record: HeadRecord | TrainingRecord) -> str:
    """Accuracy, algorithm, images and warnings, as a fragment of HTML."""
    facts = _head_facts(record) if isinstance(record, HeadRecord) else _network_facts(record)
    rows = "".join(f"<tr><th>{_safe(name)}</th><td>{_safe(text)}</td></tr>" for name, text in facts)
    notes = "".join(f"<li>! {_safe(text)}</li>" for text in record.warnings)
    return (
        f"<div><p><b>{_safe(record.summary_line())}</b></p><table><tbody>{rows}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</div>"
    )


def _head_facts(record: HeadRecord) -> Iterator[tuple[str, str]]:
    if record.accuracy.test is not None:
        yield "test", f"{record.accuracy.test:.3f} on {counted(record.n_test, 'image')}"
    yield "algorithm", f"{record.algorithm}: {record.reason}"
    for gain in record.gains:
        low, high = (signed(value, 1) for value in gain.interval)
        yield f"gain of {gain.algorithm}", f"{signed(gain.points, 1)} points ({low} to {high})"
    yield "labelled", f"{record.n_labelled} images of {len(record.class_names)} classes"
    yield "pool", f"{record.n_unlabelled} of {counted(record.n_pool, 'image')} used"


def _network_facts(record: TrainingRecord) -> Iterator[tuple[str, str]]:
    yield "epochs", str(len(record.epochs))
    yield "median of the last five", f"{record.accuracy_median:.3f}"
    if record.accuracy_selected is not None:
        chosen = f"{record.accuracy_selected:.3f} (epoch {record.selected_epoch})"
        yield "selected on validation", chosen
    yield "labelled", f"{record.n_labelled} images of {len(record.class_names)} classes"
    yield "pool", counted(record.n_unlabelled, "image")


def _safe(text: str) -> str:
    return escape(printable(text))
