"""Ctrl-C, and SIGTERM where it is treated like it, at a moment that suits."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGINT, signal.SIGTERM)
"""What asks a process to end."""


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
def deferred() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted; the caller looks at it and stops when it can.

    A signal that is ignored, or that Python has left to its host or the system, is left alone.
    """
    interrupt = Interrupt()
    handled = {number: signal.getsignal(number) for number in ENDS}
    handled = {number: handler for number, handler in handled.items() if callable(handler)}
    try:
        for number in handled:
            signal.signal(number, interrupt.request)
    except ValueError:
        # Signals reach the main thread alone; elsewhere nothing needs deferring.
        yield interrupt
        return
    try:
        yield interrupt
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


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

    A terminal sends it to all its processes, and each would print a message of its own.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    # It starts with the first child, and most Pythons then take every block away.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
