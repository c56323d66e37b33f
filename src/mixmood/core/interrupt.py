"""Ctrl-C and SIGTERM: handled at a safe moment."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], None] | signal.Handlers
ENDS = (signal.SIGINT, signal.SIGTERM)  # the signals that ask a process to end


class Interrupt:
    """Whether the user has asked to stop."""

    is_requested = False

    def request(self, signal_number: int, frame: FrameType | None) -> None:
        """Note the first request; a second one stops at once."""
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True


@contextmanager
def _handled_by(handler: Handler) -> Iterator[None]:
    """Within, `handler` gets the signals that Python handles; no change in other threads."""
    # Only the main thread may set handlers. Ignored signals, and those of a host, are left alone.
    ends = ENDS if threading.current_thread() is threading.main_thread() else ()
    handled = {number: before for number in ends if callable(before := signal.getsignal(number))}
    try:
        for number in handled:
            signal.signal(number, handler)
        yield
    finally:
        for number, before in handled.items():
            signal.signal(number, before)


@contextmanager
def deferred() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted; the caller looks at it and stops when it can."""
    interrupt = Interrupt()
    with _handled_by(interrupt.request):
        yield interrupt


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM end the process at once, without a message or cleaning up.

    For commands that load torch before there is any result to keep: a KeyboardInterrupt while it
    is loaded can abort the process with a message of C++.
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
    """Processes and threads started within ignore SIGINT; the parent stops them."""
    # A terminal sends SIGINT to all its processes, and each would print a message of its own.
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
