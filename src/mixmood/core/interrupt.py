"""Ctrl-C and SIGTERM: handled at a safe moment, or soon even during a long call into C code."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None] | signal.Handlers
ENDS = (signal.SIGINT, signal.SIGTERM)
"""The signals that ask a process to end."""


class Interrupt:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        """Begin without a request."""
        self.is_requested = False

    def request(self, signal_number: int, frame: FrameType | None) -> None:
        """Note the first request; a second one stops at once."""
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Within, `handler` gets the signals that Python handles; no change in other threads."""
    handled = {number: signal.getsignal(number) for number in ENDS}
    handled = {number: before for number, before in handled.items() if callable(before)}
    try:
        for number in handled:
            signal.signal(number, handler)
    except ValueError:
        # Only the main thread may set handlers.
        yield
        return
    try:
        yield
    finally:
        for number, before in handled.items():
            signal.signal(number, before)


@contextmanager
def deferred() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted; the caller looks at it and stops when it can.

    A signal that is ignored, or that Python has left to its host or the system, is left alone.
    """
    interrupt = Interrupt()
    with _handled_by(interrupt.request):
        yield interrupt


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM end the process at once, without a message or cleaning up.

    For commands that load large libraries before there is any result to keep: one call of the
    loader can take seconds, and no handler or thread of Python can run until it returns. A signal
    that is ignored, or that Python has left to its host or the system, is left alone.
    """
    with _handled_by(signal.SIG_DFL):
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Within, Ctrl-C waits until the end; pressed twice, it stops at once."""
    with deferred() as interrupt:
        yield
    if interrupt.is_requested:
        raise KeyboardInterrupt


@contextmanager
def children_ignore_interrupt() -> Iterator[None]:
    """Processes and threads started within ignore SIGINT; the parent stops them.

    A terminal sends SIGINT to all its processes, and each would print a message of its own.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # It would start with the first child, and most versions of Python then unblock SIGINT.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


INTERRUPTED = 130
"""The exit code of a program ended by Ctrl-C."""

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
