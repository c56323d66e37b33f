"""Ctrl-C while libraries are loaded ends a command without a traceback."""

import os
import signal
import subprocess
import sys

import pytest

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
