"""The rows of a filter's list: one for each image, made part by part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mixmood.data.pools.kept import located
from mixmood.data.pools.pool import Pool
from mixmood.selection.decide import REASONS
from mixmood.selection.scan.parts import PartFolder, ScanPart


@dataclass(frozen=True, slots=True)
class ListRow:
    """One image in the list; the fields are the columns of CSV and Parquet."""

    path: str
    pool: str
    index: int
    score: float | None
    keep: int
    reason: str
    nearest: str
    predicted_class: str
    confidence: float | None

    def values(self) -> tuple[object, ...]:
        """The values in the order of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


COLUMNS = tuple(field.name for field in fields(ListRow))


@dataclass(frozen=True)
class ListContent:
    """Everything that the rows of a list are made from."""

    pool: Pool
    pool_name: str
    """The name of the pool in the list."""
    parts: PartFolder
    reasons: NDArray[np.uint8]
    class_names: Sequence[str]
    labelled_names: Sequence[str]

    def rows(self) -> Iterator[list[ListRow]]:
        """The rows of one part after the other."""
        for start, part in self.parts:
            yield [self._row(start, place, part) for place in range(len(part))]

    def _row(self, start: int, place: int, part: ScanPart) -> ListRow:
        index = start + place
        reason = int(self.reasons[index])
        is_readable = not part.problems[place]
        code = int(part.classes[place])
        nearest = int(part.nearest[place])
        return ListRow(
            path=located(self.pool, index),
            pool=self.pool_name,
            index=index,
            score=round(float(part.scores[place]), 6) if is_readable else None,
            keep=int(reason == 0),
            reason=REASONS[reason],
            nearest=self.labelled_names[nearest] if 0 <= nearest < len(self.labelled_names) else "",
            predicted_class=self.class_names[code] if code >= 0 else "",
            confidence=round(float(part.confidence[place]), 4) if code >= 0 else None,
        )
