"""The progress of the test bed in a store."""

from dataclasses import dataclass

from mixmood.testbed.grid.cells import runs
from mixmood.testbed.runs.driver import Status, read_status
from mixmood.testbed.runs.record import FailedRun
from mixmood.testbed.runs.store import Store


@dataclass(frozen=True)
class StoreStatus:
    """Finished runs, failed runs, and the process that works on the store.

    Attributes:
        name: The name of the test bed.
        n_runs: Runs that its file asks for.
        n_done: Runs that are finished.
        failures: The records of runs that ended with an error.
        driver: The state of the process that works on the store now; None if there is none.
    """

    name: str
    n_runs: int
    n_done: int
    failures: tuple[FailedRun, ...]
    driver: Status | None


def store_status(store: Store) -> StoreStatus:
    """The status of a store, read from its files."""
    return StoreStatus(
        store.config.name,
        len(runs(store.config)),
        len(store.keys()),
        tuple(store.failures()),
        read_status(store) if store.is_locked else None,
    )
