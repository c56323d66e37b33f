"""The same MixMatch update in semilearn, the released package of USB."""

import json
import statistics
import subprocess

from benchmarks.measuring.processes import ROOT
from benchmarks.measuring.row import Effort, Row, SkippedError, ratios
from benchmarks.speed.fidelity import PYTHON
from benchmarks.speed.updates import BATCH, SETTINGS, Setting

ROUNDS = {"thin": (10, 6), "small": (8, 5), "paper": (4, 2)}
"""For each setting, how many rounds, and how often each work takes its turn in a round."""

HOW = (
    "semilearn trains on GPUs only: its step was left on the CPU by not sending the batch "
    "elsewhere; its timer (which asks a GPU), tests, checkpoints and average of the weights were "
    "left out; libraries that it imports but does not call here were replaced by empty modules. "
    "It makes six passes of 16 images each, one of which its loss does not use; ours makes one "
    "of 32 and one of 48."
)


def against_semilearn(effort: Effort) -> list[Row]:
    """Both in one process of the peers' environment, alternately, with one thread."""
    if not PYTHON.exists():
        raise SkippedError("the peers are not installed; run make bench-peers")
    settings = ["thin"] if effort.is_tiny else list(SETTINGS)
    return [row for name in settings for row in compared(SETTINGS[name], effort)]


def compared(setting: Setting, effort: Effort) -> list[Row]:
    """Whole updates, and updates whose batch is prepared before."""
    n_rounds, n_each = (2, 2) if effort.is_tiny else ROUNDS[setting.name]
    times = measured(setting.name, n_rounds, n_each)
    ours, whole, step = (1e3 * statistics.median(times[k]) for k in ("ours", "usb", "usb_step"))
    what = f"a MixMatch update of {BATCH} + 2 x {BATCH} images, one thread; {setting.words}"
    return [
        Row(
            what,
            "semilearn 0.3.2, same network, AdamW, flips and shifts, loading in the same process",
            *ratios(times["usb"], times["ours"]),
            f"{whole:.1f} / {ours:.1f} ms",
            at_least=1.5,
        ),
        Row(
            what,
            "semilearn 0.3.2, its batch lying ready (ours still makes its views)",
            *ratios(times["usb_step"], times["ours"]),
            f"{step:.1f} / {ours:.1f} ms",
            note=HOW if setting.name == "thin" else "",
        ),
    ]


def measured(name: str, n_rounds: int, n_each: int) -> dict[str, list[float]]:
    """The seconds of each work, round by round."""
    command = [str(PYTHON), "-m", "benchmarks.peers.usb", name, str(n_rounds), str(n_each)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
