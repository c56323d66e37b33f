"""The records of a test bed, from `records.csv.gz` of `mixmood testbed tables --out`."""

import csv
import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.units import Unit
from mixmood.core.records.ranking import Probe, ShareRecord
from mixmood.evidence.advice import advise
from mixmood.evidence.gain import PoolEffect, gain_of
from mixmood.evidence.labelled import N_POOL
from mixmood.measures.registry import MEASURES
from mixmood.testbed.cells import SUPERVISED

WORTH = {"avoid": 0.0, "unsure": 1.0, "filter": 1.0, "use": 2.0}
"""The advice as a number: "filter" and "unsure" are between use and avoid."""


@dataclass(frozen=True)
class Pool:
    """A run with a pool, and what it gained over the supervised run of the same images.

    `gain` is in points; `halves` are the gains on every other test image, where they are known.
    """

    row: dict[str, str]
    gain: float
    halves: tuple[float, float] | None

    @property
    def source(self) -> str:
        """Where foreign images come from."""
        return self.row["ood_source"]

    @property
    def percent(self) -> float:
        """Foreign images as a percentage."""
        return float(self.row["ood_percent"])

    @property
    def accuracy(self) -> float:
        """Test accuracy in points."""
        return accuracy_of(self.row)

    def number(self, name: str) -> float | None:
        """A column as a number; None if it is not there."""
        word = self.row.get(name)
        return float(word) if word else None

    @property
    def share(self) -> ShareRecord | None:
        """The useful share."""
        value = self.number("share")
        if value is None:
            return None
        return ShareRecord(value, (self.number("share_low"), self.number("share_high")))

    @property
    def probe(self) -> Probe | None:
        """The probe, by the map that is shipped now and not by that of the record."""
        if not self.row.get("probe_algorithm"):
            return None
        change, error, unrest, accuracy = (
            self.number(f"probe_{name}") for name in ("change", "error", "unrest", "accuracy")
        )
        share, algorithm = self.number("share"), self.row["probe_algorithm"]
        effect = PoolEffect(change, error, unrest, accuracy)
        gain = gain_of(effect, share, self.number("probe_supervised") / 100, algorithm)
        return Probe(
            gain=gain.points,
            interval=gain.interval,
            p_helps=gain.p_helps,
            algorithm=algorithm,
            change=change,
            error=error,
            accuracy=self.number("probe_supervised"),
            is_learnable=self.row["probe_is_learnable"] == "True",
            n_pool=N_POOL,
        )

    @property
    def advice(self) -> str | None:
        """What is advised."""
        return None if self.probe is None else advise(self.probe, self.share).word

    def predictors(self) -> dict[str, float]:
        """Everything that could order pools; larger is better."""
        found = {}
        for name in MEASURES:
            distance = self.number(f"{name}_distance")
            if distance is not None:
                found[name] = -distance
        if self.share is not None:
            found["useful share"] = self.share.share
        if self.probe is not None:
            found["probe: measured change"] = self.probe.change
            found["probe: expected gain"] = self.probe.gain
            found["advice"] = WORTH[self.advice]
        return found


def accuracy_of(row: dict[str, str], name: str = "") -> float | None:
    """Test accuracy in points: the only one, or that of the last epoch."""
    for key in (name,) if name else ("accuracy_test", "accuracy_last"):
        if row.get(key):
            return 100 * float(row[key])
    return None


def read_rows(folder: Path) -> list[dict[str, str]]:
    """All runs of a folder of results."""
    content = gzip.decompress((folder / "records.csv.gz").read_bytes()).decode()
    return list(csv.DictReader(io.StringIO(content)))


def pools_of(rows: Iterable[dict[str, str]]) -> list[Pool]:
    """The runs that use a pool and have a supervised run of the same images."""
    rows = list(rows)
    base: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        if row["algorithm"] in ("supervised", "supervised-updates"):
            base[_images(row)] = row
    found = []
    for row in rows:
        if row["algorithm"] in SUPERVISED or _images(row) not in base:
            continue
        alone = base[_images(row)]
        halves = [
            (accuracy_of(row, name), accuracy_of(alone, name))
            for name in ("accuracy_half_1", "accuracy_half_2")
        ]
        known = None not in [value for pair in halves for value in pair]
        found.append(
            Pool(
                row,
                accuracy_of(row) - accuracy_of(alone),
                tuple(mine - theirs for mine, theirs in halves) if known else None,
            )
        )
    return found


def _images(row: dict[str, str]) -> tuple[str, ...]:
    return row.get("regime", "scratch"), row["task"], row["n_labelled"], row["seed"]


def units_of(pools: Iterable[Pool], n_labelled: str, algorithm: str) -> dict[Unit, list[Pool]]:
    """The pools of one number of labels and algorithm, by task and seed."""
    found: dict[Unit, list[Pool]] = {}
    for pool in pools:
        if (pool.row["n_labelled"], pool.row["algorithm"]) == (n_labelled, algorithm):
            found.setdefault((pool.row["task"], int(pool.row["seed"])), []).append(pool)
    return found
