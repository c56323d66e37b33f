"""A store from published records, so that a test bed can be continued where its store is lost.

    python -m benchmarks.testbed.restore results/paper-tuned STORE
    mixmood testbed run paper-tuned --store STORE

The name of the folder is that of the preset, unless --testbed names a file. `records.csv.gz` has
less than the records: losses and the options of the training are not in it. Tables, pages and
`records.csv.gz` do not need them: they are the same from the restored store.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.testbed.records import read_rows
from mixmood.data.splits import NONE
from mixmood.testbed.cells import Run, runs
from mixmood.testbed.config import SCRATCH, Config, load_config
from mixmood.testbed.record import MeasuredDistance, PoolProbe, PoolShare, RunRecord
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store

Row = dict[str, str]
TIMES = ("training_s", "distances_s", "images_per_s", "total_s", "cpu_s")


def restore(folder: Path, store: Path, config: Config) -> tuple[int, int]:
    """Write the records of a folder of results into a store; returns how many, and how many rows.

    A row whose key no run of the present protocol and data has is left out: it would not be used.
    """
    published, keys = records_in(folder), keys_of(config)
    made = Store.make(store, config)
    found = [record for record in published if record.key in keys]
    for record in found:
        made.write(record)
    return len(found), len(published)


def keys_of(config: Config) -> set[str]:
    """The keys of all runs of a test bed, by the present protocol and data sets."""
    return {job_for(config, run).key for run in runs(config)}


def records_in(folder: Path) -> list[RunRecord]:
    """The records of a folder of results; no data sets are needed."""
    return [record_of(row) for row in read_rows(folder)]


def record_of(row: Row) -> RunRecord:
    """The record of a run, as far as its row has it."""
    versions = _below(row, "version_")
    accuracies = _below(row, "accuracy_")
    accuracies.pop("by_epoch", None)
    by_name = {name: float(value) for name, value in accuracies.items()}
    halves = [by_name.pop(name, None) for name in ("half_1", "half_2")]
    return RunRecord(
        key=row["key"],
        run=_run(row),
        data=row["data"],
        mixmood=row["mixmood"],
        versions=versions,
        classes=row["classes"].split(),
        training=_training(row),
        arms=_arms(row),
        accuracy=by_name,
        test_halves=None if None in halves else tuple(halves),
        distances=_distances(row),
        useful_share=_share(row),
        probe=_probe(row),
        times={name: float(row[name]) for name in TIMES if row.get(name)},
        **_head(row),
    )


def _head(row: Row) -> dict[str, Any]:
    """The view of a head on frozen features."""
    if not row.get("view"):
        return {}
    resolution, depth = row["view"].split(" px, ")
    return {"head": {"resolution": int(resolution), "depth": depth}}


def _run(row: Row) -> Run:
    size = row.get("n_unlabelled")
    return Run(
        task=row["task"],
        source=row["ood_source"] or NONE,
        percent=float(row["ood_percent"] or 0),
        n_labelled=int(row["n_labelled"]),
        algorithm=row["algorithm"],
        contamination=row["contamination"],
        regime=row.get("regime") or SCRATCH,
        n_unlabelled=int(size) if size else None,
        seed=int(row["seed"]),
    )


def _below(row: Row, prefix: str) -> Row:
    """The filled columns whose name begins so, without the prefix."""
    return {
        name.removeprefix(prefix): value
        for name, value in row.items()
        if name.startswith(prefix) and value
    }


def _training(row: Row) -> dict[str, Any] | None:
    """The epochs of a network; guesses are known of the last one."""
    accuracies = [float(word) for word in row["accuracy_by_epoch"].split()]
    if not accuracies:
        return None
    epochs: list[dict[str, Any]] = [
        {"epoch": number, "test_accuracy": accuracy, "pseudo_label_shares": None}
        for number, accuracy in enumerate(accuracies, 1)
    ]
    shares = [float(word) for word in row["last_guesses"].split()]
    epochs[-1]["pseudo_label_shares"] = shares or None
    by_epoch = {
        arm: [float(word) for word in row[f"arm_{arm}_by_epoch"].split()]
        for arm in "ABCD"
        if row.get(f"arm_{arm}_by_epoch")
    }
    return {"epochs": epochs, "arms": by_epoch or None}


def _arms(row: Row) -> dict[str, dict[str, float]] | None:
    """The accuracies by arm, of networks from scratch with a pool."""
    found: dict[str, dict[str, float]] = {}
    for name, value in _below(row, "arm_").items():
        arm, _, choice = name.partition("_")
        if choice != "by_epoch":
            found.setdefault(arm, {})[choice] = float(value)
    return found or None


def _distances(row: Row) -> dict[str, MeasuredDistance] | None:
    names = [name.removesuffix("_distance") for name in row if name.endswith("_distance")]
    found = {
        name: MeasuredDistance(
            **{part: float(row[f"{name}_{part}"]) for part in MeasuredDistance.model_fields}
        )
        for name in names
        if row[f"{name}_distance"]
    }
    return found or None


def _share(row: Row) -> PoolShare | None:
    if not row.get("share"):
        return None
    return PoolShare(
        share=float(row["share"]),
        interval=(float(row["share_low"]), float(row["share_high"])),
        is_trustworthy=row["share_is_trustworthy"] == "True",
    )


def _probe(row: Row) -> PoolProbe | None:
    found = _below(row, "probe_")
    if not found:
        return None
    return PoolProbe(
        algorithm=found.pop("algorithm"),
        is_learnable=found.pop("is_learnable") == "True",
        interval=(float(found.pop("low")), float(found.pop("high"))),
        **{name: float(value) for name, value in found.items()},
    )


def main() -> None:
    """Restore a store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--testbed", help="its file, if the name of the folder is no preset")
    given = parser.parse_args()
    n_made, n_rows = restore(
        given.results, given.store, load_config(given.testbed or given.results.name)
    )
    print(f"{n_made} of {n_rows} runs are in {given.store}.")


if __name__ == "__main__":
    main()
