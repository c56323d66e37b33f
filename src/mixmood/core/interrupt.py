"""Ctrl-C at a moment that suits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType


class Interrupt:
    """Whether the user has asked to stop."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.is_requested = False

    def request(self, signal_number: int, frame: FrameType | None) -> None:
        """Note the first request; a second one stops at once."""
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True


@contextmanager
def deferred() -> Iterator[Interrupt]:
    """Within, the first Ctrl-C is only noted, and whoever holds it back asks when to stop."""
    interrupt = Interrupt()
    # Signals reach the main thread alone; elsewhere nothing needs deferring.
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    previous = signal.signal(signal.SIGINT, interrupt.request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes and threads started within do not hear Ctrl-C: who started them stops them.

    A terminal sends it to all its processes, and each would tell of it in a way of its own.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It starts with the first child, and most Pythons then take every block away.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
