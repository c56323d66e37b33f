"""A test bed whose driver is killed repeatedly, compared with one that is not killed.

The driver is forked from this process, which has everything imported already: kills hit the work
and not the start of an interpreter.
"""

import json
import os
import random
import signal
import time
from pathlib import Path

from fuzz.tiny_bed import TINY
from mixmood.jobs.local import spread_local
from mixmood.testbed.cells import runs
from mixmood.testbed.config import Config, parse_config
from mixmood.testbed.driver import drive
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store


def kill_bed_repeatedly(place: Path, n_kills: int, seed: int) -> tuple[int, int, int, list[str]]:
    """How often the driver was killed and ended by itself, what it left, and what is wrong."""
    config = parse_config(TINY.replace("seeds = 2", f"seeds = {n_kills}"), "bed.toml")
    killed, whole = place / "killed" / "store", place / "whole" / "store"
    rng, n_killed, n_rewritten = random.Random(seed), 0, 0
    written: dict[Path, int] = {}
    while n_killed < n_kills and _is_killed(config, killed, rng.randrange(2), rng.uniform(0, 0.2)):
        n_killed += 1
        for path in (killed / "runs").glob("*.json"):
            n_rewritten += written.setdefault(path, _written_at(path)) != _written_at(path)
    for folder in (killed, whole):
        os.waitpid(_started(config, folder), 0)
    n_rewritten += sum(_written_at(path) != when for path, when in written.items())
    findings = [f"testbed: {n_rewritten} records were written twice"] if n_rewritten else []
    if _content(killed) != _content(whole):
        findings.append("testbed: other records than undisturbed")
    if len(_content(whole)) != len(runs(config)):
        findings.append("testbed: records are missing")
    n_leftovers = len(list(killed.rglob(".*")))
    return n_killed, int(n_killed < n_kills), n_leftovers, findings


def _started(config: Config, folder: Path) -> int:
    """The process that runs the test bed to its end."""
    folder.parent.mkdir(exist_ok=True)
    child = os.fork()
    if not child:
        try:
            cache = str(folder.parent / "cache")
            jobs = [job_for(config, run, cache=cache) for run in runs(config)]
            drive(jobs, Store.make(folder, config), spread_local, n_jobs=1)
        finally:
            os._exit(0)
    return child


def _is_killed(config: Config, folder: Path, n_more: int, seconds: float) -> bool:
    """Kill the driver at some moment after `n_more` further records; False if it ended before."""
    wanted = _n_records(folder) + n_more
    child = _started(config, folder)
    while _n_records(folder) < wanted and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.002)
    time.sleep(seconds)
    try:
        os.kill(child, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    except (ProcessLookupError, ChildProcessError):
        return False


def _n_records(folder: Path) -> int:
    return len(list((folder / "runs").glob("*.json")))


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns


def _content(folder: Path) -> list[str]:
    records = Store(folder).records()
    return [json.dumps(r.to_dict() | {"times": None}, sort_keys=True) for r in records]
