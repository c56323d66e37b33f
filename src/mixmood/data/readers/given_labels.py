"""What did a person say about images? `mixmood-labels.csv`: corrections, and labels for pools.

Labels of labelled images correct them; labelled images of pools leave their pool and join the
labelled set. A row that names no image is reported with its reason.
"""

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.arrays import Rows
from mixmood.core.errors import InputError, errors_as
from mixmood.core.files import expanded, inert
from mixmood.core.listener import Listener
from mixmood.core.text import counted, first_names, listed
from mixmood.data.images.labels import KEEP, LABELS_FILE, NONE, needed_labels, read_table
from mixmood.data.images.pool import ImageSource, Labels, Pool
from mixmood.data.readers.kept import parts_of

LONGEST_ROW = 4 * 1024**2  # bytes; a table that Label Studio exports has the pictures in it
LABELLED = ""  # the key of the labelled set among the sets; a pool has its name
Answers = Mapping[int, str]  # what was said of images of a set, by index: a label, NONE or KEEP


@dataclass(frozen=True)
class GivenLabel:
    """One row: an image of a set, by path and perhaps index, and its class, NONE or KEEP."""

    pool: str
    paths: tuple[str, ...]  # names can begin with blanks, and with the quote of `_plain`
    index: int | None
    label: str
    line: int


def read_labels(path: str | Path, classes: Collection[str]) -> list[GivenLabel]:
    """The rows of a file that have a label, in the spelling that is one of the classes, if any."""
    file = expanded(path)
    advice = f"Give the file {LABELS_FILE} that the page to label on saves."
    with errors_as(InputError, f"Cannot read the labels in {file}", advice), _long_cells():
        head, rows = read_table(file, LONGEST_ROW)
        missing = [name for name in ("path", "label") if name not in head]
        if missing:
            raise ValueError(f"it has no column {listed(missing)}; got '{', '.join(head)[:60]}'")
        found = []
        for line, row in rows:
            cells = dict(zip(head, row, strict=True))
            if label := _plain(cells["label"]):
                spelt = (text for text in reversed(_spellings(cells["label"])) if text in classes)
                pool, index = (_plain(cells.get(name, "")) for name in ("pool", "index"))
                place = _spellings(cells["path"]), _index(index, line)
                found.append(GivenLabel(pool, *place, next(spelt, label), line))
        return found


@contextmanager
def _long_cells() -> Iterator[None]:
    """Cells as long as a line may be are read meanwhile."""
    before = csv.field_size_limit(LONGEST_ROW)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _plain(cell: str) -> str:
    """A cell without the quote that keeps a spreadsheet from running it as a formula."""
    text = cell.strip()
    return text[1:] if text.startswith("'") and inert(text[1:]) == text else text


def _spellings(cell: str) -> tuple[str, ...]:
    """The texts that a cell may stand for, the most probable first.

    >>> _spellings("'-1"), _spellings(" a ")
    (('-1', "'-1"), ('a', ' a '))
    """
    return tuple(dict.fromkeys((_plain(cell), cell.strip(), cell)))


def _index(cell: str, line: int) -> int | None:
    try:
        return int(float(cell)) if cell else None  # spreadsheets write 3.0
    except (ValueError, OverflowError):
        raise ValueError(f"line {line} has the index '{cell[:20]}', which is no number") from None


@dataclass(frozen=True)
class GivenLabels:
    """The labelled set with corrections and with labelled images of the pools, after all files."""

    labelled: Pool
    answers: Mapping[str, Answers] = field(default_factory=dict)  # of each pool
    used: tuple[str, ...] = ()  # sentences about the labels that are used
    unused: tuple[str, ...] = ()  # and about those that are not

    @property
    def notes(self) -> tuple[str, ...]:
        """All sentences, for a record."""
        return self.used + self.unused

    def tell(self, listener: Listener) -> None:
        """Say them, where no record is printed that has them."""
        for text in self.used:
            listener.note(text)
        for text in self.unused:
            listener.warn(text)

    def left(self, pools: Mapping[str, Pool]) -> tuple[dict[str, Pool], dict[str, str]]:
        """The pools without the labelled images; and those that have no other, with the reason."""
        left = {name: self.without_labelled(name, pool) for name, pool in pools.items()}
        emptied = [name for name, pool in left.items() if not len(pool) and len(pools[name])]
        for name in emptied:
            del left[name]
        return left, dict.fromkeys(emptied, "all of its images have a label.")

    def without_labelled(self, name: str, pool: Pool) -> Pool:
        """A pool without the images that have a label now or belong to no class."""
        gone = [row for row, label in self.answers.get(name, {}).items() if label != KEEP]
        if not gone:
            return pool
        rows = np.setdiff1d(np.arange(len(pool)), gone)
        return _with_notes_of(pool, parts_of([(pool, rows)], pool.name))


def check_class_names(names: Iterable[str]) -> None:
    """Refuse classes that are called like an answer of the page to label on."""
    for name in names:
        if name in (NONE, KEEP):
            raise InputError(
                f"A class is called '{name}', which has another meaning in labels: it is the "
                f"answer for an image {'of none of the classes' if name == NONE else 'to keep'}. "
                "Rename the class."
            )


def with_labels(
    files: Sequence[str | Path], labelled: Pool, pools: Mapping[str, Pool]
) -> GivenLabels:
    """The labelled set and the answers for each pool; of the same image, the last file counts."""
    if not files:
        return GivenLabels(labelled)
    # The pools that lists of `filter` are made of: labelled images are not in the list.
    every = [base for pool in pools.values() for base in getattr(pool, "bases", ())]
    bases: dict[str, Pool] = {base.name: base for base in every if base.name not in pools}
    sets, dropped = _Sets({LABELLED: labelled, **pools}), _Sets(bases)
    classes = () if labelled.labels is None else labelled.labels.names
    check_class_names(classes)
    answers: dict[str, dict[int, str]] = {name: {} for name in (*sets.pools, *bases)}
    unused: list[str] = []
    n_again = 0
    for file in files:
        own: dict[tuple[str, int], GivenLabel] = {}
        for given in read_labels(file, classes):
            key = sets.find(given)
            if isinstance(key, str) and not isinstance(base := dropped.find(given), str):
                key = base
            if isinstance(key, str):
                unused.append(f"{given.paths[0]} ({key})")
                continue
            other = own.setdefault(key, given)
            if other.label != given.label:
                raise InputError(
                    f"{file} gives {given.paths[0]} two labels: '{other.label}' in line "
                    f"{other.line} and '{given.label}' in line {given.line}. Delete one of them."
                )
        for (name, row), given in own.items():
            n_again += answers[name].get(row, given.label) != given.label
            answers[name][row] = given.label
    own_answers = answers.pop(LABELLED)
    joined = _joined(labelled, own_answers, {**bases, **pools}, answers)
    told = tuple(_sentences(labelled, own_answers, answers, n_again))
    if not unused:
        return GivenLabels(joined, answers, told)
    warning = f"{counted(len(unused), 'label')} of --labels not used: {first_names(unused)}."
    return GivenLabels(joined, answers, told, (warning,))


@dataclass(frozen=True)
class _Sets:
    """The labelled set and the pools, in which images are looked up."""

    pools: Mapping[str, Pool]
    _places: dict[str, dict[str, int]] = field(default_factory=dict)
    """The index of every image by its path, of sets in which an index did not fit."""

    def find(self, given: GivenLabel) -> tuple[str, int] | str:
        """The set and the index of an image; or why it is not found."""
        names = [key for key, pool in self.pools.items() if given.pool in (key, pool.name)]
        # A pool may have another name in this command: then the path alone decides.
        for among in (names, [name for name in self.pools if name not in names]):
            found = [(name, row) for name in among if (row := self._row(name, given)) is not None]
            if len(found) > 1:
                return f"in {len(found)} sets"
            if found:
                return found[0]
        if not names and given.pool:
            return f"of {given.pool}, which is not given"
        return "no such image"

    def _row(self, name: str, given: GivenLabel) -> int | None:
        pool, index = self.pools[name], given.index
        if index is not None and 0 <= index < len(pool) and pool.locate(index) in given.paths:
            return index
        if name not in self._places:
            self._places[name] = {pool.locate(row): row for row in range(len(pool))}
        places = self._places[name]
        return next((places[path] for path in given.paths if path in places), None)


def _joined(
    labelled: Pool, own: Answers, pools: Mapping[str, Pool], answers: Mapping[str, Answers]
) -> Pool:
    """The labelled set, corrected, and the images of pools that have a class now."""
    is_labelled = any(set(some.values()) - {NONE, KEEP} for some in answers.values())
    if labelled.labels is None and not own and not is_labelled:
        return labelled  # pools can be filtered by images without classes
    known = needed_labels(labelled)
    changed = {row: label for row, label in own.items() if label != KEEP}
    kept = [row for row in range(len(labelled)) if changed.get(row) != NONE]
    given = [changed.get(row, known.names[known.codes[row]]) for row in kept]
    parts: list[tuple[Any, Rows]] = [(labelled, np.array(kept, np.int64))]
    for name, some in answers.items():
        rows = sorted(row for row, label in some.items() if label not in (NONE, KEEP))
        if rows:
            parts.append((pools[name], np.array(rows, np.int64)))
            given += [some[row] for row in rows]
    if len(parts) == 1 and not changed:
        return labelled
    every = (*known.names, *sorted(set(given) - set(known.names)))
    place = {name: code for code, name in enumerate(every)}
    labels = Labels(np.array([place[name] for name in given], np.int32), every)
    return _with_notes_of(labelled, parts_of(parts, labelled.name, labels))


def _with_notes_of(pool: Pool, part: Pool) -> Pool:
    if isinstance(pool, ImageSource) and isinstance(part, ImageSource):
        part.notes = pool.notes
    return part


def _sentences(
    labelled: Pool, own: Answers, answers: Mapping[str, Answers], n_again: int
) -> Iterator[str]:
    known = labelled.labels or Labels(np.empty(0, np.int32), ())
    n_none = sum(label == NONE for label in own.values())
    n_same = sum(label in (KEEP, known.names[known.codes[row]]) for row, label in own.items())
    kinds = {"corrected": len(own) - n_none - n_same, "left out as none of the classes": n_none}
    for words, n in (kinds | {"confirmed": n_same}).items():
        if n:
            yield f"{labelled.name}: {counted(n, 'label')} {words}."
    for name, some in answers.items():
        n_none, n_kept = (list(some.values()).count(word) for word in (NONE, KEEP))
        kinds = {"labelled": len(some) - n_none - n_kept, "of none of the classes": n_none}
        if told := [f"{n} {what}" for what, n in (kinds | {"to keep": n_kept}).items() if n]:
            yield f"{name}: {listed(told)} by --labels."
    every = [own, *answers.values()]
    new = Counter(label for some in every for label in some.values() if label not in (NONE, KEEP))
    for name in sorted(set(new) - set(known.names)):
        near = [one for one in known.names if one.casefold() == name.casefold()]
        near += get_close_matches(name, known.names, n=1, cutoff=0.7)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        yield f"'{name}' is a new class of {counted(new[name], 'image')}.{hint}"
    if n_again:
        yield f"{counted(n_again, 'image')} with another label in a later file, which counts."
