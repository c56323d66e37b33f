"""Ctrl-C between updates, never within one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Within, the first Ctrl-C is only noted: half an update would leave half-changed weights."""
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
