"""All records of a store as one flat table, small enough to be kept with a paper."""

import gzip
from collections.abc import Sequence

from mixmood.report.testbed.sheet import to_csv
from mixmood.testbed.runs.store import Record


def records_csv_gz(records: Sequence[Record]) -> bytes:
    """One row a run, gzipped CSV; the same records give the same bytes.

    Accuracies by epoch are one column of words, parted by spaces.
    """
    rows = [flat(record) for record in records]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    whole = [{key: row.get(key) for key in columns} for row in rows]
    return gzip.compress(to_csv(whole).encode(), mtime=0)


def flat(record: Record) -> dict[str, object]:
    """The numbers of a run, one level deep."""
    row: dict[str, object] = {"key": record["key"], **record["run"]}
    row |= {f"accuracy_{name}": value for name, value in record["accuracy"].items()}
    for measure, found in (record["distances"] or {}).items():
        names = ("distance", "spread", "signed", "p_wilcoxon", "p_permutation")
        row |= {f"{measure}_{name}": found[name] for name in names}
    epochs = record["training"]["epochs"]
    row["accuracy_by_epoch"] = " ".join(f"{epoch['test_accuracy']:.4f}" for epoch in epochs)
    shares = epochs[-1]["pseudo_label_shares"]
    row["last_guesses"] = "" if shares is None else " ".join(f"{share:.3f}" for share in shares)
    row["classes"] = " ".join(record["classes"])
    row |= {"data": record["data"], "mixmood": record["mixmood"]}
    row |= {f"version_{name}": value for name, value in record["versions"].items()}
    return row | {name: round(value, 3) for name, value in record["times"].items()}
