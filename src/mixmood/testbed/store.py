"""The folder of a test bed: its results are the records, one file for every run.

store.json    the configuration that all runs share, written once
runs/         a record for every finished run, named by its key
failed/       the same for runs that ended with an error
driver.json   the progress of the driver, for `testbed status`
lock.sqlite   locked by the driver; the system releases it when the driver ends
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from mixmood.core.errors import InputError, OutputError
from mixmood.core.files import LOOK, TAKE, hold, make_folder, read_json, sweep, write_atomic
from mixmood.testbed.config import Config
from mixmood.testbed.record import SCHEMA, AnyRecord, FailedRun, RunRecord, first_problem

R = TypeVar("R", RunRecord, FailedRun)

PATIENCE_S = 1.0
HEAD = "store.json"
DRIVER = "driver.json"
LOCK = "lock.sqlite"
AGAIN = "Delete it to have it made again."


class Store:
    """Records on disk. Readers need no lock: files are always complete."""

    def __init__(self, folder: str | Path) -> None:
        """Open a store that exists; refuse one of another version."""
        self.folder = Path(folder)
        head = self.folder / HEAD
        if not head.is_file():
            raise InputError(
                f"{self.folder} is no store of a test bed: it has no store.json. "
                "Make one with: mixmood testbed run PRESET --store DIR"
            )
        content = read_json(head, AGAIN)
        if content.get("schema") != SCHEMA:
            raise InputError(
                f"The store {self.folder} is of version {content.get('schema')}; this mixmood "
                f"reads version {SCHEMA}. Use the mixmood that wrote it, or another --store."
            )
        try:
            self.config = Config.model_validate(content.get("config"))
        except ValidationError as error:
            raise InputError(
                f"{head} does not describe a test bed: {first_problem(error)}. "
                "Fetch the file again, or name another --store."
            ) from error

    @classmethod
    def make(cls, folder: str | Path, config: Config) -> "Store":
        """The store in this folder, created if it does not exist, for runs of this protocol."""
        place = Path(folder)
        if not (place / HEAD).exists():
            if place.is_dir():
                # A driver killed at its start leaves a half-written store.json in an empty folder.
                sweep(place, HEAD)
            if place.is_dir() and any(place.iterdir()):
                raise OutputError(
                    f"{place} holds other files and is no store of a test bed. "
                    "Name an empty or a new folder."
                )
            make_folder(place)
            head = {"schema": SCHEMA, "config": config.model_dump(mode="json")}
            write_atomic(place / HEAD, json.dumps(head, indent=1) + "\n")
        store = cls(place)
        ours, theirs = config.protocol(), store.config.protocol()
        for section, values in ours.items():
            for key, value in values.items():
                if theirs[section][key] != value:
                    raise InputError(
                        f"The store {place} holds runs of another protocol: {section}.{key} is "
                        f"{theirs[section][key]!r} there and {value!r} here. Name another --store."
                    )
        for name in ("runs", "failed"):
            make_folder(place / name)
        return store

    def write(self, record: AnyRecord) -> None:
        """Write the record of a run; a finished run deletes the record of its earlier failure."""
        is_failed = isinstance(record, FailedRun)
        text = json.dumps(record.to_dict(), indent=1, sort_keys=True, allow_nan=False) + "\n"
        write_atomic(self._path(record.key, is_failed), text)
        if not is_failed:
            self._path(record.key, True).unlink(missing_ok=True)

    def keys(self, failed: bool = False) -> set[str]:
        """The keys of all finished, or of all failed, runs."""
        return {path.stem for path in self._paths(failed)}

    def records(self) -> list[RunRecord]:
        """The records of all finished runs, in the order of their keys."""
        return [_record(path, RunRecord) for path in self._paths(False)]

    def failures(self) -> list[FailedRun]:
        """The records of all failed runs, in the order of their keys."""
        return [_record(path, FailedRun) for path in self._paths(True)]

    def written_at(self, key: str) -> int:
        """When a finished run was written, in nanoseconds since 1970; 0 without a record."""
        path = self._path(key, False)
        return path.stat().st_mtime_ns if path.is_file() else 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Within, this process is the only driver of the store."""
        lock = self._hold(TAKE, PATIENCE_S)
        if lock is None:
            raise OutputError(
                f"Another driver is at work on the store {self.folder}. Wait for it, "
                "watch it with: mixmood testbed status, or name another --store."
            )
        with closing(lock):
            # The names of half-written files, which a killed driver leaves, begin with a dot.
            sweep(self.folder, HEAD, DRIVER)
            for folder in ("runs", "failed"):
                for path in (self.folder / folder).glob(".*.json.*"):
                    path.unlink(missing_ok=True)
            yield

    @property
    def is_locked(self) -> bool:
        """Whether a driver is at work."""
        if not (self.folder / LOCK).exists():
            return False
        lock = self._hold(LOOK, 0)
        if lock is not None:
            lock.close()
        return lock is None

    def _hold(self, statement: str, patience_s: float) -> sqlite3.Connection | None:
        path = self.folder / LOCK
        try:
            return hold(path, statement, patience_s)
        except sqlite3.Error as error:
            raise OutputError(
                f"Cannot use the lock {path}: {error}. It holds no results: make sure that no "
                "driver is at work and that the folder can be written, then delete that file."
            ) from error

    def _paths(self, failed: bool) -> list[Path]:
        return sorted((self.folder / ("failed" if failed else "runs")).glob("[0-9a-f]*.json"))

    def _path(self, key: str, failed: bool) -> Path:
        return self.folder / ("failed" if failed else "runs") / f"{key}.json"


def _record(path: Path, kind: type[R]) -> R:
    content = read_json(path, AGAIN)
    try:
        # Validated from JSON: strict mode then accepts lists as tuples, but no text as a number.
        return kind.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise InputError(f"{path} is no whole record: {first_problem(error)}. {AGAIN}") from error
