"""Ctrl-C that is held back, and children that do not hear it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from mixmood.core.interrupt import (
    children_ignore_interrupt,
    deferred,
    ends_at_once,
    uninterrupted,
)

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


def test_while_libraries_are_loaded_signals_are_the_systems_and_then_what_they_were():
    before = signal.getsignal(signal.SIGINT)
    with ends_at_once():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_ignored_or_left_to_the_system_stays_so(number):
    for disposition in (signal.SIG_IGN, signal.SIG_DFL):
        before = signal.signal(number, disposition)
        try:
            with deferred() as interrupt, ends_at_once():
                assert signal.getsignal(number) is disposition
            assert signal.getsignal(number) is disposition
        finally:
            signal.signal(number, before)
        assert not interrupt.is_requested


def test_sigterm_is_held_back_where_it_is_handled():
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with deferred() as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupt.is_requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_must_not_be_interrupted_ends_first():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - that it goes on
        os.kill(os.getpid(), signal.SIGINT)
        done.append(True)
    assert done


@needs_masks
def test_children_ignore_an_interrupt_and_their_parent_does_not():
    assert blocks_ctrl_c() == "False"
    with children_ignore_interrupt():
        assert blocks_ctrl_c() == "True"
    assert blocks_ctrl_c() == "False"
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
