"""Runs a test bed in a process that is killed again and again.

    python -m fuzz.kill_often FILE STORE N SEED

The driver is forked from this process, which has everything imported already: kills hit the
work and not the start of an interpreter. Prints how often it killed, and whether a record that
was written once was ever written again.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import fuzz.preloaded  # noqa: F401 - before the forks
from mixmood.jobs.local import spread_local
from mixmood.testbed.cells import runs
from mixmood.testbed.config import Config, load_config
from mixmood.testbed.driver import drive
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store


def work(config: Config, folder: Path) -> None:
    """Run the test bed to its end."""
    jobs = [job_for(config, run, cache=str(folder.parent / "cache")) for run in runs(config)]
    drive(jobs, Store.make(folder, config), spread_local, n_jobs=1)


def n_records(folder: Path) -> int:
    """How many records there are."""
    return len(list((folder / "runs").glob("*.json")))


def is_killed(config: Config, folder: Path, n_more: int, seconds: float) -> bool:
    """Kill the driver at some moment after `n_more` further records; False if it ended before."""
    wanted = n_records(folder) + n_more
    child = os.fork()
    if not child:
        work(config, folder)
        os._exit(0)
    while n_records(folder) < wanted and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.002)
    time.sleep(seconds)
    try:
        os.kill(child, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    except (ProcessLookupError, ChildProcessError):
        return False


def main(file: str, store: str, n_kills: int, seed: int) -> None:
    """Kill the driver n times, let it run to its end, and print what was counted."""
    config, folder = load_config(file), Path(store)
    rng, n_killed, n_rewritten = random.Random(seed), 0, 0
    seen: dict[Path, int] = {}
    while n_killed < n_kills and is_killed(config, folder, rng.randrange(2), rng.uniform(0, 0.2)):
        n_killed += 1
        for path in (folder / "runs").glob("*.json"):
            n_rewritten += seen.setdefault(path, path.stat().st_mtime_ns) != path.stat().st_mtime_ns
    n_before_end = len(seen)
    work(config, folder)
    n_rewritten += sum(path.stat().st_mtime_ns != when for path, when in seen.items())
    sys.stdout.write(f"{n_killed} {n_rewritten} {n_before_end}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
