"""A process that is asked to end does so soon, whatever it is busy with."""

import os
import signal
import subprocess
import sys
import time

import pytest

BUSY = """
import ctypes, sys, time
from mixmood.core.interrupt import ends_promptly

with ends_promptly(lambda: "Stopped.", grace_s=float(sys.argv[1])):
    print("ready", flush=True)
    # One call into C that holds no lock and hears no signal handler of Python's.
    libc = ctypes.CDLL(None)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        libc.usleep(ctypes.c_uint(900_000))
"""
DEFERRED = BUSY.replace(
    'print("ready"',
    "import signal; signal.signal(signal.SIGINT, lambda *_: None); "
    "signal.signal(signal.SIGTERM, lambda *_: None); print('ready'",
)


@pytest.fixture
def busy():
    """A process that ignores the signals it gets, as a long call into C does."""
    started = []

    def start(grace_s):
        command = [sys.executable, "-c", DEFERRED, str(grace_s)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_it_after_a_moment(busy, number):
    process = busy(0.5)
    start = time.monotonic()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Stopped." in stderr
    # Three times the patience: a busy machine wakes threads late.
    assert 0.4 < time.monotonic() - start < 10


def test_a_second_signal_ends_it_at_once(busy):
    process = busy(60)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


def test_a_command_that_ends_by_itself_is_left_alone():
    from mixmood.core.interrupt import ends_promptly

    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)
    with ends_promptly(lambda: "never said", grace_s=0.0):
        pass
    after = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(after)
    assert after == before


STARTING = """
import importlib.abc, sys, time

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "mixmood.cli.main":
            print("ready", flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Slow())
from mixmood.__main__ import main
main()
"""
LOADING_TORCH = """
import ctypes, importlib.abc, sys

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print("ready", flush=True)
            # As the loader of a large library: no other thread of Python's runs meanwhile.
            ctypes.PyDLL(None).sleep(60)

sys.meta_path.insert(0, Slow())
from mixmood.__main__ import main
main()
"""
TRAINING = ("train", "--labelled", "labelled", "--model", "wrn", "--out", "run")


def ended_when_ready(number, code, *words):
    """The exit code and stderr of a process that gets a signal as soon as it says "ready"."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    return process.returncode, stderr


def test_ctrl_c_while_the_commands_are_imported_prints_no_traceback():
    assert ended_when_ready(signal.SIGINT, STARTING) == (-signal.SIGINT, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_torch_is_loaded_ends_the_training_at_once(number):
    """Nothing is there to be kept, and no handler could run before the loader returns."""
    assert ended_when_ready(number, LOADING_TORCH, *TRAINING) == (-number, "")
