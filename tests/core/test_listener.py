"""Messages and progress on their way to the caller."""

import pytest

from mixmood.core.listener import Listener, Recorder, Silent


class Calls(Listener):
    def __init__(self):
        self.said = []

    def start(self, task, total):
        self.said.append((task, total))

    def advance(self, task, steps=1):
        self.said.append((task, steps))

    def warn(self, message):
        self.said.append(message)


def test_a_recorder_keeps_messages_and_passes_everything_on():
    calls = Calls()
    recorder = Recorder(calls)
    recorder.start("web", 3)
    recorder.advance("web")
    recorder.finish("web")
    recorder.warn("too few")
    recorder.note("chosen")
    assert calls.said == [("web", 3), ("web", 1), "too few"]
    assert (recorder.warnings, recorder.notes) == (["too few"], ["chosen"])


def test_a_kind_of_recorder_decides_what_it_passes_on():
    class Inner(Recorder):
        def start(self, task, total):
            """Do nothing: the bar has started already."""

    calls = Calls()
    Inner(calls).start("web", 3)
    assert calls.said == []


def test_warnings_are_those_of_python_without_a_listener():
    with pytest.warns(RuntimeWarning, match="too few"):
        Silent().warn("too few")
