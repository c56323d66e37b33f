"""Runs a command and prints its time and memory: `python -m benchmarks.measuring.child CMD...`.

A process inherits the peak memory of the process that started it, so a large process cannot
measure a small one. This small process starts the command instead; it imports nothing large.
"""

import json
import os
import subprocess
import sys
import time


def main(command: list[str]) -> int:
    """Print one line of JSON about the command, which prints nothing here."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        message = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.perf_counter() - start
    if process.returncode:
        sys.stderr.buffer.write(message)
    cpu_s = usage.ru_utime + usage.ru_stime
    cost = {"elapsed_s": elapsed_s, "cpu_s": cpu_s, "peak_mb": usage.ru_maxrss / 1024}
    print(json.dumps(cost))
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
