"""What the page of a test bed can be filtered by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

SUPERVISED = {
    "supervised-epochs": "supervised, same epochs",
    "supervised-updates": "supervised, same updates",
}
TITLES = {
    "task": "Task",
    "n_labelled": "Labels",
    "measure": "Measure",
    "algorithm": "Algorithm",
    "contamination": "Contamination",
}


def is_supervised(row: Row) -> bool:
    """Whether a row is a baseline that leaves the pool unused."""
    return row["algorithm"] in SUPERVISED


@dataclass(frozen=True)
class Choices:
    """Every value of the keys that rows differ by, in the order of the record."""

    values: dict[str, list[Any]]

    @classmethod
    def of(cls, record: Row) -> "Choices":
        """All choices of a record."""
        cells = [row for row in record["table1"] if not is_supervised(row)] or record["table1"]
        return cls(
            {
                "task": _distinct(record["table1"], "task"),
                "n_labelled": sorted(_distinct(record["table1"], "n_labelled")),
                "measure": _distinct(record["table2"], "measure"),
                "algorithm": _distinct(cells, "algorithm"),
                "contamination": _distinct(cells, "contamination"),
            }
        )

    @property
    def filters(self) -> dict[str, list[Any]]:
        """The choices that leave something to choose, by their titles."""
        return {key: found for key, found in self.values.items() if len(found) > 1}

    def marks(self, row: Row) -> dict[str, int]:
        """The attributes that a row is found by: for every key it has, the place of its value.

        A baseline is there for every algorithm and contamination, a pool without contamination
        for every contamination.
        """
        free = set()
        if "source" in row and not row["percent"]:
            free = {"contamination", "algorithm"} if is_supervised(row) else {"contamination"}
        return {
            f"data-{key.replace('_', '-')}": found.index(row[key])
            for key, found in self.values.items()
            if key in row and key not in free
        }

    def variant(self, row: Row) -> str:
        """Algorithm and contamination of a row, where there are several to tell apart."""
        words = [
            str(row[key]) for key in ("algorithm", "contamination") if len(self.values[key]) > 1
        ]
        return ", ".join(words)


def _distinct(rows: list[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))
