"""All records of a store as one flat table, small enough to be published with a paper."""

import gzip
from collections.abc import Sequence
from dataclasses import asdict

from mixmood.report.testbed.sheet import to_csv
from mixmood.testbed.runs.record import MeasuredDistance, RunRecord


def records_csv_gz(records: Sequence[RunRecord]) -> bytes:
    """Gzipped CSV with one row for each run; the same records give the same bytes.

    Accuracies by epoch are one column, separated by spaces.
    """
    rows = [flat(record) for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    whole = [{key: row.get(key) for key in columns} for row in rows]
    return gzip.compress(to_csv(whole).encode(), mtime=0)


def flat(record: RunRecord) -> dict[str, object]:
    """The numbers of a run, one level deep."""
    row: dict[str, object] = {"key": record.key, **asdict(record.run)}
    row |= {f"accuracy_{name}": value for name, value in record.accuracy.to_dict().items()}
    for measure, found in (record.distances or {}).items():
        names = MeasuredDistance.model_fields
        row |= {f"{measure}_{name}": _short(getattr(found, name)) for name in names}
    row |= _outlook(record)
    epochs = record.epochs
    row["accuracy_by_epoch"] = " ".join(f"{epoch.test_accuracy:.4f}" for epoch in epochs)
    shares = epochs[-1].pseudo_label_shares if epochs else None
    row["last_guesses"] = " ".join(f"{share:.3f}" for share in shares or ())
    row["classes"] = " ".join(record.classes)
    row |= {"data": record.data, "mixmood": record.mixmood}
    row |= {f"version_{name}": value for name, value in record.versions.items()}
    return row | {name: round(value, 3) for name, value in record.times.items()}


def _outlook(record: RunRecord) -> dict[str, object]:
    """Useful share and probe, and the accuracies of both halves of the test images."""
    row: dict[str, object] = {}
    parts = {"share": record.useful_share, "probe": record.probe}
    for part, found in parts.items():
        for name in () if found is None else type(found).model_fields:
            value = getattr(found, name)
            key = part if name == part else f"{part}_{name}"
            row[key] = list(map(_short, value)) if name == "interval" else _short(value)
    if record.test_halves is not None:
        row |= {f"accuracy_half_{k}": value for k, value in enumerate(record.test_halves, 1)}
    return row


def _short(value: object) -> object:
    """A number rounded to six digits: more digits are noise, and make the file larger."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
