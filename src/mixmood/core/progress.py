"""How long work reports its progress, whoever listens."""

from typing import Protocol


class Progress(Protocol):
    """A listener: the command line draws bars, tests collect, libraries stay silent."""

    def start(self, task: str, total: int | None) -> None:
        """A piece of work called `task` begins; `total` steps are expected, None if unknown."""

    def advance(self, task: str, steps: int = 1) -> None:
        """So many further steps of `task` are done."""

    def finish(self, task: str) -> None:
        """No further steps of `task` will come."""


class Silent:
    """The listener that ignores everything."""

    def start(self, task: str, total: int | None) -> None:
        """Ignore."""

    def advance(self, task: str, steps: int = 1) -> None:
        """Ignore."""

    def finish(self, task: str) -> None:
        """Ignore."""
