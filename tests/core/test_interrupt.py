"""Ctrl-C that is held back, and children that do not hear it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from mixmood.core.interrupt import deaf_children, deferred

ASKS_WHAT_IS_BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(0, []))"

needs_masks = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs masks")


def blocks_ctrl_c():
    command = [sys.executable, "-c", ASKS_WHAT_IS_BLOCKED]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_first_ctrl_c_is_noted_and_the_second_stops_at_once():
    with deferred() as interrupt:
        assert not interrupt.is_requested
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.is_requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_afterwards_ctrl_c_is_what_it_was():
    before = signal.getsignal(signal.SIGINT)
    with deferred():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_hold_nothing_back():
    asked = []

    def work():
        with deferred() as interrupt:
            asked.append((signal.getsignal(signal.SIGINT), interrupt.is_requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(signal.getsignal(signal.SIGINT), False)]


@needs_masks
def test_children_are_deaf_and_their_parent_is_not():
    assert blocks_ctrl_c() == "False"
    with deaf_children():
        assert blocks_ctrl_c() == "True"
    assert blocks_ctrl_c() == "False"
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
