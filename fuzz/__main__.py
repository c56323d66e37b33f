"""Gives damaged files to every reader: real files with random changes, hundreds of each kind.

    python -m fuzz                          24,800 inputs, 800 for each of 31 readers
    python -m fuzz --count 50 --only png    fewer, and of one kind
    python -m fuzz --only png --start 123 --count 1    one input again

Each reader runs in its own process. For one input it may use 1.5 GiB of memory and ten seconds of
processor time (300 s of wall-clock time, which a busy machine may need). An input must end in a
result or in an error meant for the user. Anything else is a finding: it is kept in the folder of
findings, and the exit code is 1.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

from fuzz.child import FELL, feed, input_of, lay_out
from fuzz.killing import parser_of
from fuzz.reader import READ, REFUSED, UNREADABLE, WARNED
from fuzz.readers import READERS

OUTCOMES = (READ, UNREADABLE, WARNED, REFUSED, FELL)
MOST_FINDINGS = 20
"""Findings of one reader, after which it gets no more inputs."""


class Run:
    """One run over some readers: its options and its outcomes."""

    def __init__(self, seed: int, findings: Path, deadline: float) -> None:
        """Nothing is fed yet; `deadline` is a time of the monotonic clock."""
        self.seed, self.findings, self._deadline = seed, findings, deadline
        self.tally: dict[str, Counter[str]] = {}
        self.refusals: dict[str, Counter[str]] = {}

    def feed_all(self, name: str, numbers: range) -> None:
        """Feed one reader; if its process dies, another one continues with the next input."""
        self.tally[name], self.refusals[name] = Counter(), Counter()
        next_number = numbers.start
        while next_number < numbers.stop and time.monotonic() < self._deadline:
            if self.tally[name][FELL] >= MOST_FINDINGS:
                break
            next_number = self._feed_some(name, range(next_number, numbers.stop))

    def _feed_some(self, name: str, numbers: range) -> int:
        """The number after the last input that was tried."""
        with tempfile.TemporaryDirectory(prefix="mixmood-fuzz-") as place:
            read_end, write_end = os.pipe()
            child = os.fork()
            if not child:
                os.close(read_end)
                _live(name, self.seed, numbers, Path(place), write_end)
            os.close(write_end)
            next_number = numbers.start
            with os.fdopen(read_end, "rb") as lines:
                for line in lines:
                    number, outcome, detail = json.loads(line)
                    self._note(name, number, outcome, detail)
                    next_number = number + 1
                    if self._is_over(name):
                        os.kill(child, signal.SIGKILL)
                        break
            status = os.waitpid(child, 0)[1]
        if next_number < numbers.stop and not self._is_over(name):
            self._note(name, next_number, FELL, _death(status))
            next_number += 1
        return next_number

    def _is_over(self, name: str) -> bool:
        return time.monotonic() > self._deadline or self.tally[name][FELL] >= MOST_FINDINGS

    def _note(self, name: str, number: int, outcome: str, detail: str) -> None:
        self.tally[name][outcome] += 1
        if outcome == REFUSED:
            self.refusals[name][detail] += 1
        if outcome != FELL:
            return
        folder = self.findings / f"{name}-{self.seed}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        reader = READERS[name]
        lay_out(input_of(name, reader, reader.seeds(), self.seed, number), folder)
        again = f"python -m fuzz --only {name} --seed {self.seed} --start {number} --count 1"
        (folder / "FINDING.txt").write_text(f"{again}\n\n{detail}\n")
        print(f"{name} {number}: {detail.strip().splitlines()[-1][:150]}", flush=True)


def _live(name: str, seed: int, numbers: range, place: Path, out: int) -> None:
    """Run a child process to its end; it never returns."""
    code = 1
    try:
        for word in ("TMPDIR", "HOME"):
            os.environ[word] = str(place)
        tempfile.tempdir = str(place)
        os.chdir(place)
        feed(name, seed, numbers, place, out)
        code = 0
    finally:
        os._exit(code)


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        is_late = number in (signal.SIGALRM, signal.SIGPROF)
        told = "no end in time" if is_late else "the process was killed"
        return f"{told} (signal {number}, {signal.Signals(number).name})"
    return f"the process ended with code {os.waitstatus_to_exitcode(status)}"


def line(name: str, counts: Counter[str]) -> str:
    """A reader, its inputs and their outcomes."""
    return f"{name:16}{counts.total():>8}" + "".join(f"{counts[word]:>12}" for word in OUTCOMES)


def main() -> int:
    """Feed the readers that were asked for; 1 if there is a finding."""
    parser = parser_of("fuzz", __doc__, list(READERS))
    parser.add_argument("--count", type=int, default=800, help="inputs for each reader")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long")
    parser.add_argument("--start", type=int, default=0, help="number of the first input")
    parser.add_argument("--findings", type=Path, default=Path("fuzz/findings"))
    parser.add_argument(
        "--messages", action="store_true", help="show what refused inputs were told"
    )
    asked = parser.parse_args()
    started = time.monotonic()
    run = Run(asked.seed, asked.findings, started + asked.seconds)
    print(f"{'reader':16}{'inputs':>8}" + "".join(f"{word:>12}" for word in OUTCOMES))
    for name in asked.only:
        if READERS[name].needs_torch:
            # What its processes would each import and train is there before they are forked.
            import_module("mixmood.ssl.train")
            READERS[name].seeds()
        run.feed_all(name, range(asked.start, asked.start + asked.count))
        print(line(name, run.tally[name]), flush=True)
    print(line("all", sum(run.tally.values(), Counter[str]())))
    print(f"seed {asked.seed}, {time.monotonic() - started:.0f} s")
    if asked.messages:
        for name, messages in run.refusals.items():
            for message, count in messages.most_common(15):
                print(f"{name} {count:5} {message[:200]}")
    n_fell = sum(counts[FELL] for counts in run.tally.values())
    n_short = sum(asked.count - counts.total() for counts in run.tally.values())
    if n_short:
        print(f"{n_short} inputs were not tried: out of time, or too many findings")
    if n_fell:
        print(f"{n_fell} findings are in {asked.findings}")
    return 1 if n_fell else 0


if __name__ == "__main__":
    # The processes that do the work are forked: what several of them need is imported here once,
    # and so is what asks the system for its fonts. A process without torch is forked faster.
    for _name in ("matplotlib.font_manager", "onnx", "pydicom", "scipy.stats"):
        import_module(_name)

    sys.exit(main())
