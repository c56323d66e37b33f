"""Ctrl-C and SIGTERM end a command soon, even during a long call into C code."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mixmood.cli.terminal.options import INTERRUPTED
from mixmood.core.interrupt import ENDS

GRACE_S = 1.2
"""Seconds that a command has to save its work after the first signal."""

SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def ends_promptly(final_message: Callable[[], str], grace_s: float = GRACE_S) -> Iterator[None]:
    """Inside, the first signal lets the command end by itself within `grace_s`; a second ends it.

    Python runs signal handlers only between two steps of its interpreter, and one call of torch
    can take minutes. So a thread waits for signals: the interpreter writes their numbers to a
    pipe at once, whatever the main thread does. Files are written to temporary names, so that
    an abrupt end leaves no half-written ones.

    Args:
        final_message: Returns the line to print on stderr before an abrupt end.
        grace_s: Seconds between the first signal and an abrupt end.
    """
    if threading.current_thread() is not threading.main_thread():
        # Signals reach the main thread alone.
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    is_done = threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(reader, is_done, final_message, grace_s), daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        is_done.set()
        os.close(writer)
        watcher.join()
        os.close(reader)


def _watch(
    reader: int, is_done: threading.Event, final_message: Callable[[], str], grace_s: float
) -> None:
    """Wait for signals; an empty read is the end of the command."""
    n_signals = 0
    while received := os.read(reader, 16):
        n_signals += sum(number in ENDS for number in received)
        if n_signals == 1:
            second = threading.Thread(
                target=_end_after, args=(is_done, final_message, grace_s), daemon=True
            )
            second.start()
        elif n_signals > 1 and not is_done.is_set():
            _end(final_message)


def _end_after(is_done: threading.Event, final_message: Callable[[], str], grace_s: float) -> None:
    if not is_done.wait(grace_s):
        _end(final_message)


def _end(final_message: Callable[[], str]) -> None:
    """End the process at once, with the exit code of an interrupted command."""
    cursor = SHOW_CURSOR if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{cursor}\n{final_message()}\n".encode(errors="replace"))
    os._exit(INTERRUPTED)
