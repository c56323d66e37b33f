"""Kills real processes at random moments, starts them again, and checks the files that they left.

    python -m fuzz.kills                          100 kills, 25 in each of four scenes
    python -m fuzz.kills --kills 5 --only cache   fewer, and of one kind

A process is forked from this one, which has everything imported: kills hit the work and not the
start of an interpreter. It is killed with SIGKILL, which it cannot handle. Afterwards every file
under its final name must be complete. When the same command then runs to its end, the results must
be those of a process that was never killed. Anything else is a finding, and the exit code is 1.
"""

import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.kill_scenes import SCENES, Scene
from fuzz.killed_bed import kill_bed_repeatedly
from fuzz.killing import is_killed, parser_of, run_to_end

BED = "testbed"


@dataclass
class Outcome:
    """The outcome of the kills of one scene."""

    n_kills: int = 0
    n_ends: int = 0
    n_leftovers: int = 0
    findings: list[str] = field(default_factory=list)


def kill_repeatedly(scene: Scene, n_kills: int, rng: random.Random) -> Outcome:
    """Kill a scene's process n times; if one ends by itself, check everything and start again."""
    outcome = Outcome()
    started = time.monotonic()
    run_to_end(scene.whole_command())
    whole_s = time.monotonic() - started
    scene.remember()
    while outcome.n_kills < n_kills:
        if is_killed(scene.command(), rng.uniform(0.05, 1.0) * whole_s):
            outcome.n_kills += 1
            outcome.findings += scene.problems()
            outcome.n_leftovers = max(outcome.n_leftovers, scene.n_leftovers())
        else:
            outcome.n_ends += 1
            outcome.findings += scene.problems() + scene.problems_at_end()
            scene.begin_anew()
    run_to_end(scene.command())
    outcome.findings += scene.problems() + scene.problems_at_end()
    return outcome


def main() -> int:
    """Kill the scenes that were asked for; 1 if there is a finding."""
    parser = parser_of("fuzz.kills", __doc__, [*SCENES, BED])
    parser.add_argument("--kills", type=int, default=25, help="kills in each scene")
    asked = parser.parse_args()
    print(f"{'scene':10}{'kills':>8}{'ended':>8}{'leftovers':>11}{'findings':>10}{'seconds':>9}")
    n_findings = n_kills = 0
    for name in asked.only:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mixmood-kills-") as place:
            if name == BED:
                outcome = Outcome(*kill_bed_repeatedly(Path(place), asked.kills, asked.seed))
            else:
                rng = random.Random(f"{asked.seed} {name}")
                outcome = kill_repeatedly(SCENES[name](Path(place)), asked.kills, rng)
        counts = (outcome.n_kills, outcome.n_ends, outcome.n_leftovers, len(outcome.findings))
        columns = "".join(f"{n:>{w}}" for n, w in zip(counts, (8, 8, 11, 10), strict=True))
        print(f"{name:10}{columns}{time.monotonic() - started:>9.0f}", flush=True)
        for finding in outcome.findings:
            print(f"  {finding}", flush=True)
        n_kills += outcome.n_kills
        n_findings += len(outcome.findings)
    print(f"{n_kills} kills, {n_findings} findings, seed {asked.seed}")
    return 1 if n_findings else 0


if __name__ == "__main__":
    import fuzz.preloaded  # noqa: F401 - before the forks

    sys.exit(main())
