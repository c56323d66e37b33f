"""Sends Ctrl-C at random moments, half of the times twice, and checks how commands end.

    python -m fuzz.interrupts                          120 times, 40 for each of three commands
    python -m fuzz.interrupts --count 5 --only rank    fewer, and of one command

As in a terminal, the signal goes to the command and to all processes it started. It must end at
once, in one line meant for the user, and leave no process behind. Anything else is a finding, and
the exit code is 1.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz.kill_scenes import CacheScene, TrainScene
from fuzz.killing import MIXMOOD, is_over, members, parser_of
from fuzz.tiny_bed import TINY

INTERRUPTED = (130, -signal.SIGINT)
"""By our handler, or by the signal itself while Python starts or ends."""
FOREIGN = ("Traceback", "ignored", "Error", "UserWarning")
START_S = 0.5
"""Earlier, Python is still loading and prints its own message."""
PATIENCE_S = 60


def rank(place: Path) -> list[str]:
    """Rank a pool without anything in the cache."""
    return [*MIXMOOD, *CacheScene(place).command()]


def train(place: Path) -> list[str]:
    """Train a very small network."""
    return [*MIXMOOD, *TrainScene(place).command()]


def testbed(place: Path) -> list[str]:
    """Run a test bed with two workers."""
    (place / "bed.toml").write_text(TINY)
    words = ["run", str(place / "bed.toml"), "--store", str(place / "out"), "--jobs", "2"]
    return [*MIXMOOD, "testbed", *words]


COMMANDS = {"rank": (rank, 1.5), "train": (train, 6.0), "testbed": (testbed, 8.0)}
"""Each with the seconds after which it is interrupted at the latest."""


def findings(command: list[str], seconds: float, again_s: float | None) -> list[str]:
    """What is wrong with how a command ends when it is interrupted after so long."""
    with subprocess.Popen(
        command,
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        time.sleep(seconds)
        is_ended = process.poll() is not None
        for pause in (0, again_s):
            if pause is not None:
                time.sleep(pause)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)
        try:
            _, said = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return [f"still runs after {PATIENCE_S} s"]
    found = []
    expected = (0,) if is_ended else INTERRUPTED
    if process.returncode not in expected or any(word in said for word in FOREIGN):
        found.append(f"exit {process.returncode}: {said[-2000:]}")
    if not is_over(process.pid):
        found.append(f"processes left: {members(process.pid)}")
        os.killpg(process.pid, signal.SIGKILL)
    return found


def main() -> int:
    """Interrupt what was asked for; 1 if anything was not as it should be."""
    parser = parser_of("fuzz.interrupts", __doc__, list(COMMANDS))
    parser.add_argument("--count", type=int, default=40, help="times for each command")
    asked = parser.parse_args()
    # What a shell sends to the background ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    n_findings = 0
    for name in asked.only:
        command_in, latest = COMMANDS[name]
        rng = random.Random(f"{asked.seed} {name}")
        for number in range(asked.count):
            again_s = rng.uniform(0, 0.3) if number % 2 else None
            with tempfile.TemporaryDirectory(prefix="mixmood-interrupts-") as place:
                found = findings(command_in(Path(place)), rng.uniform(START_S, latest), again_s)
            for finding in found:
                print(f"  {name} {number}: {finding}", flush=True)
            n_findings += len(found)
        print(f"{name:10}{asked.count:>6} interrupted", flush=True)
    print(f"{n_findings} findings, seed {asked.seed}")
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
