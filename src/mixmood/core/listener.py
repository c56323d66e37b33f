"""How running work reports to its caller: progress, warnings and notes, on one way."""

import warnings

PROBE, RUNS = "probe", "runs"
UNITS = {PROBE: "pools", RUNS: "runs"}  # of tasks with other steps than those of the command


class Listener:
    """One object that is handed down; this one ignores all, others override what they use."""

    def start(self, task: str, total: int | None) -> None:
        """A piece of work called `task` begins; `total` steps are expected, None if unknown."""

    def advance(self, task: str, steps: int = 1) -> None:
        """`steps` further steps of `task` are done."""

    def finish(self, task: str) -> None:
        """No further steps of `task` will come."""

    def warn(self, message: str) -> None:
        """A fact that may make the result wrong, or costs time."""

    def note(self, message: str) -> None:
        """A fact that is good to know, such as an automatic choice."""


class Silent(Listener):
    """The listener of Python users by default: warnings become Python's, the rest is ignored."""

    def warn(self, message: str) -> None:
        """Give a RuntimeWarning."""
        warnings.warn(message, RuntimeWarning, stacklevel=2)


class Recorder(Listener):
    """Keeps warnings and notes, for a record; passes everything on, if it has a listener."""

    def __init__(self, listener: Listener | None = None) -> None:
        """Begin without messages."""
        self.warnings: list[str] = []
        self.notes: list[str] = []
        self._next = listener or Listener()

    def start(self, task: str, total: int | None) -> None:
        """Pass on."""
        self._next.start(task, total)

    def advance(self, task: str, steps: int = 1) -> None:
        """Pass on."""
        self._next.advance(task, steps)

    def finish(self, task: str) -> None:
        """Pass on."""
        self._next.finish(task)

    def warn(self, message: str) -> None:
        """Keep the warning, and pass it on."""
        self.warnings.append(message)
        self._next.warn(message)

    def note(self, message: str) -> None:
        """Keep the note, and pass it on."""
        self.notes.append(message)
        self._next.note(message)
