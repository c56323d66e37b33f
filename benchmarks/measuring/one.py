"""Runs one case and prints its outcome as JSON.

python -m benchmarks.measuring.one NAME [--tiny]
"""

import importlib
import json
import sys
import time
from dataclasses import asdict

from benchmarks.cases import CASES
from benchmarks.measuring.row import Effort, SkippedError


def main(name: str, is_tiny: bool) -> None:
    """Print the rows of a case, or why it was skipped."""
    module, function = CASES[name][0].split(":")
    start = time.perf_counter()
    rows, reason = [], None
    try:
        case = getattr(importlib.import_module(f"benchmarks.{module}"), function)
        rows = [asdict(row) for row in case(Effort(is_tiny))]
    except SkippedError as skipped:
        reason = str(skipped)
    elapsed_s = time.perf_counter() - start
    print(json.dumps({"rows": rows, "skipped": reason, "elapsed_s": elapsed_s}))


if __name__ == "__main__":
    main(sys.argv[1], "--tiny" in sys.argv[2:])
