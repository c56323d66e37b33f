"""Runs processes that are killed, and processes that are not."""

import os
import subprocess
import sys
import time
from pathlib import Path

MIXMOOD = [sys.executable, "-m", "mixmood"]
LINGER_S = 20
"""Longest time in which a process that watches another one notices its end."""


def environment() -> dict[str, str]:
    """The environment of a process: one thread, because threads change the order of sums."""
    return os.environ | {"OMP_NUM_THREADS": "1"}


def is_killed(command: list[str], seconds: float) -> bool:
    """Kill a process after some seconds; False if it ended before, without an error."""
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return process.returncode < 0
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {said.decode()[-2000:]}")
    return False


def run_to_end(command: list[str]) -> None:
    """Run a command undisturbed; its failure is an error here."""
    is_killed(command, 3600)


def members(session: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = status.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if its_session == str(session) and state != "Z":
            found.append(int(status.parent.name))
    return found


def is_over(session: int) -> bool:
    """Whether no process of a session is left, waiting a little for the last."""
    deadline = time.monotonic() + LINGER_S
    while members(session) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not members(session)
