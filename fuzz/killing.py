"""Runs processes that are killed, and processes that are not."""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NoReturn

MIXMOOD = [sys.executable, "-m", "mixmood"]
LINGER_S = 20
"""Longest time in which a process that watches another one notices its end."""


def environment() -> dict[str, str]:
    """The environment of a process: one thread, because threads change the order of sums."""
    return os.environ | {"OMP_NUM_THREADS": "1"}


def is_killed(words: list[str], seconds: float) -> bool:
    """Kill a command of mixmood after some seconds; False if it ended before, without an error.

    Its process is forked from this one: what is imported here need not be imported there, so that
    kills hit the work and not the start of an interpreter.
    """
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            _live(words, said)
        deadline = time.monotonic() + seconds
        ended, status = 0, 0
        while not ended and time.monotonic() < deadline:
            time.sleep(0.002)
            ended, status = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            return os.WIFSIGNALED(status)
        if status:
            said.seek(0)
            message = said.read().decode()[-2000:]
            raise RuntimeError(f"mixmood {' '.join(words)} failed: {message}")
    return False


def _live(words: list[str], said: IO[bytes]) -> NoReturn:
    """Run a command in a forked process, with its errors in a file; it never returns."""
    from mixmood.__main__ import main

    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        os.dup2(said.fileno(), sys.stderr.fileno())
        sys.argv = ["mixmood", *words]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def run_to_end(words: list[str]) -> None:
    """Run a command undisturbed; its failure is an error here."""
    is_killed(words, 3600)


def members(session: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = status.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if its_session == str(session) and state != "Z":
            found.append(int(status.parent.name))
    return found


def is_over(session: int) -> bool:
    """Whether no process of a session is left, waiting a little for the last."""
    deadline = time.monotonic() + LINGER_S
    while members(session) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not members(session)


def parser_of(program: str, text: str | None, names: Sequence[str]) -> argparse.ArgumentParser:
    """The options that all programs here have; `text` is what they say of themselves."""
    first, _, _ = (text or "").partition("\n")
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=first)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=names, default=list(names))
    return parser
