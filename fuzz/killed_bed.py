"""A test bed whose driver is killed repeatedly, compared with one that is not killed."""

import json
import subprocess
import sys
from pathlib import Path

from fuzz.killing import MIXMOOD, environment
from fuzz.tiny_bed import TINY
from mixmood.testbed.store import Store


def kill_bed_repeatedly(place: Path, n_kills: int, seed: int) -> tuple[int, int, int, list[str]]:
    """How often the driver was killed and ended by itself, what it left, and what is wrong."""
    bed = place / "bed.toml"
    bed.write_text(TINY.replace("seeds = 2", f"seeds = {n_kills}"))
    killed, whole = place / "killed", place / "whole"
    words = [str(bed), str(killed), str(n_kills), str(seed)]
    command = [sys.executable, "-m", "fuzz.kill_often", *words]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    n_killed, n_rewritten, _ = map(int, done.stdout.split())
    findings = [f"testbed: {n_rewritten} records were written twice"] if n_rewritten else []
    options = ["--store", str(whole), "--cache", str(place / "whole-cache"), "--quiet"]
    undisturbed = [*MIXMOOD, "testbed", "run", str(bed), *options]
    subprocess.run(undisturbed, env=environment(), capture_output=True, check=True)
    if _content(killed) != _content(whole):
        findings.append("testbed: other records than undisturbed")
    n_leftovers = len(list(killed.rglob(".*")))
    return n_killed, int(n_killed < n_kills), n_leftovers, findings


def _content(folder: Path) -> list[str]:
    records = Store(folder).records()
    return [json.dumps(r.to_dict() | {"times": None}, sort_keys=True) for r in records]
