"""A process that feeds one reader and may crash."""

import json
import os
import random
import resource
import shutil
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from fuzz.reader import REFUSED, Reader, Seed
from fuzz.readers import READERS
from mixmood.core.errors import MixmoodError

FELL = "fell"
BUSY_SECONDS, IDLE_SECONDS = 10, 300
"""Most processor time, and most wall-clock time, of one input."""
SPARE_BYTES = 1536 * 2**20
"""Memory that an input may use in addition to that of the process before."""
LONGEST_MESSAGE = 1000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link")


class Guard:
    """Notes every file changed outside a folder, every program started, every socket opened."""

    def __init__(self, folder: Path) -> None:
        """Watch this process from now on: an audit hook cannot be removed."""
        self._folder = os.path.realpath(folder)
        self.seen: list[str] = []
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes) and flags & _WRITING:
                self._check(event, path)
        elif event in _CHANGES or event == "sqlite3.connect":
            self._check(event, arguments[0])
        elif event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec"):
            self.seen.append(f"{event} {arguments[-1]!r}")

    def _check(self, event: str, path: Any) -> None:
        place = os.path.realpath(os.fsdecode(path))
        if not place.startswith(self._folder + os.sep) and place != os.devnull:
            self.seen.append(f"{event} {place}")


def feed(name: str, seed: int, numbers: range, folder: Path, out: int) -> None:
    """Feed a reader with these inputs; the outcome of each is a line of JSON on the pipe `out`."""
    reader = READERS[name]
    given = reader.seeds()
    where = folder / "input"
    # Once as it is: what is loaded late is loaded now, and the limits hold for reading alone.
    lay_out(given[0], where)
    reader.read(where, given[0].name)
    guard = _limit(folder)
    for number in numbers:
        made = input_of(name, reader, given, seed, number)
        lay_out(made, where)
        _set_alarms(BUSY_SECONDS, IDLE_SECONDS)
        outcome, detail = _verdict(reader, where, made.name)
        _set_alarms(0, 0)
        if guard.seen:
            outcome, detail = FELL, f"it touched {guard.seen[0]}"
            guard.seen.clear()
        os.write(out, json.dumps([number, outcome, detail]).encode() + b"\n")


def input_of(name: str, reader: Reader, given: list[Seed], seed: int, number: int) -> Seed:
    """The input of a number, the same in every process."""
    return reader.make(random.Random(f"{seed} {name} {number}"), given)


def lay_out(made: Seed, folder: Path) -> None:
    """A fresh folder with the input and what belongs beside it."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in {**made.beside, made.name: made.data}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def _limit(folder: Path) -> Guard:
    # The default action ends the process even inside a C library that never comes back.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What libraries print about broken files is of no interest here.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("error")
    return Guard(folder)


def _set_alarms(busy_s: float, idle_s: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, busy_s)
    signal.setitimer(signal.ITIMER_REAL, idle_s)


def _verdict(reader: Reader, folder: Path, name: str) -> tuple[str, str]:
    try:
        return reader.read(folder, name), ""
    except MixmoodError as error:
        message = str(error)
        if not message or "\n" in message or len(message) > LONGEST_MESSAGE:
            return FELL, f"unclear message: {message[:300]!r} ... of {len(message)} characters"
        return REFUSED, message
    except Exception:
        return FELL, traceback.format_exc()[-3000:]
