"""Processes that are killed, and such that are left alone."""

import os
import subprocess
import sys

MIXMOOD = [sys.executable, "-m", "mixmood"]


def environment() -> dict[str, str]:
    """The surroundings of a process: one thread, or sums may come in another order."""
    return os.environ | {"OMP_NUM_THREADS": "1"}


def is_killed(command: list[str], seconds: float) -> bool:
    """Kill a process after so long; False if it ended before, as it should."""
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
