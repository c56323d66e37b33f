"""Runs the benchmarks and writes benchmarks/RESULTS.md.

    python -m benchmarks                 all cases
    python -m benchmarks small torch     these alone; the others keep their results
    python -m benchmarks --tiny          only shows that they run; writes nothing

Each case runs in its own process, so that it does not load the libraries of others.
"""

import argparse
import json
import subprocess
import sys

from benchmarks.cases import CASES
from benchmarks.measuring.processes import ROOT
from benchmarks.measuring.results import Outcome, lines_of, merge, surroundings


def main() -> int:
    """Run the cases that were asked for; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(CASES)}")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes; nothing is written")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(CASES))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    n_failed = 0
    for name in asked.names or CASES:
        print(f"\n== {name}: {CASES[name][1]}", flush=True)
        before = surroundings()
        found = run(name, asked.tiny)
        if found is None:
            n_failed += 1
            continue
        outcome = Outcome(**found, surroundings=before)
        print("\n".join(lines_of(outcome)), flush=True)
        if not asked.tiny:
            merge(name, outcome)
    return 1 if n_failed else 0


def run(name: str, is_tiny: bool) -> dict | None:
    """The outcome of a case in a process of its own; None if it failed."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.measuring.one",
        name,
        *(["--tiny"] if is_tiny else []),
    ]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"{name} failed; what it said is above.", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
