"""A CSV file of results that grows row by row, so that a run can be stopped and continued."""

import csv
from pathlib import Path


class RowsFile:
    """Rows with a key; a row that is there is not computed again."""

    def __init__(self, path: Path, keys: tuple[str, ...], values: tuple[str, ...]) -> None:
        """Read what is there; a row that a kill cut short is dropped."""
        self.path, self._keys, self._names = path, keys, (*keys, *values)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows: list[dict[str, str]] = []
        if path.exists():
            # Only a line that ends is whole: a number may have been cut in the middle.
            whole = [
                line for line in path.read_text().splitlines(keepends=True) if line[-1] == "\n"
            ]
            self.rows = list(csv.DictReader(whole))
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        self._known = {self._key(row) for row in self.rows}

    def holds(self, **keys: object) -> bool:
        """Whether the row of these keys is there."""
        return self._key(keys) in self._known

    def add(self, **row: object) -> None:
        """Write a row at once."""
        line = {name: str(row[name]) for name in self._names}
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self._names, lineterminator="\n").writerow(line)
        self.rows.append(line)
        self._known.add(self._key(line))

    def _key(self, row: dict[str, object]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self._keys)
