"""Commands measured as a user runs them: each in a new process."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cost:
    """Time and memory of a command; `cpu_s` is the processor time of all its threads."""

    elapsed_s: float
    cpu_s: float
    peak_mb: float


def cost(command: list[str]) -> Cost:
    """Run a command to its end and return its time and memory; its failure is an error here."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measuring.child", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return Cost(**json.loads(done.stdout))


def rank_command(labelled: Path, pools: Mapping[str, Path], cache: Path | str) -> list[str]:
    """The command that ranks these folders, with default options except for the cache."""
    named = [f"{name}={path}" for name, path in pools.items()]
    return [sys.executable, "-m", "mixmood", "rank", str(labelled), *named, "--cache", str(cache)]
