"""How long-running work reports its progress."""

from typing import Protocol

PROBE = "probe"
UNITS = {PROBE: "pools"}
"""What the steps of a task are, where they are neither images nor the unit of its command."""


class Progress(Protocol):
    """A listener: the command line draws bars, tests record the calls, libraries stay silent."""

    def start(self, task: str, total: int | None) -> None:
        """A piece of work called `task` begins; `total` steps are expected, None if unknown."""

    def advance(self, task: str, steps: int = 1) -> None:
        """`steps` further steps of `task` are done."""

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
