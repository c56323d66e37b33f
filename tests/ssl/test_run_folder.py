"""Stopped runs go on as if they had never stopped."""

import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from mixmood.core.errors import TrainingError
from mixmood.ssl.run_folder import CHECKPOINT
from mixmood.ssl.train import train


class ImpatientError(Exception):
    """Raised by a listener in the middle of a run."""


class StopsAt:
    """A listener that stops a run at some update, as a crash would."""

    def __init__(self, update, error=ImpatientError):
        self.n_done, self.update, self.error = 0, update, error

    def start(self, task, total):
        pass

    def advance(self, task, steps=1):
        self.n_done += steps
        if self.n_done == self.update:
            if self.error is None:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise self.error

    def finish(self, task):
        pass


@pytest.mark.parametrize("algorithm", ["supervised", "mixmatch", "fixmatch", "mean-teacher"])
def test_a_crash_within_an_epoch_loses_only_that_epoch(data, quick, tmp_path, algorithm):
    quick |= {"algorithm": algorithm, "augment": "paper", "validation": (data[3], data[4])}
    whole = train(*data, **quick)
    with pytest.raises(ImpatientError):
        train(*data, **quick, out=tmp_path, progress=StopsAt(6))
    resumed = train(*data, **quick, out=tmp_path, resume=True)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    assert [e.loss for e in whole.record.epochs] == [e.loss for e in resumed.record.epochs]


def test_ctrl_c_within_an_epoch_loses_nothing(data, quick, tmp_path):
    """The signal comes after update 6 of 8, in the middle of the second epoch."""
    whole = train(*data, **quick)
    with pytest.raises(KeyboardInterrupt):
        train(*data, **quick, out=tmp_path, progress=StopsAt(6, None))
    assert torch.load(tmp_path / CHECKPOINT, weights_only=True)["n_done"] == 6
    resumed = train(*data, **quick, out=tmp_path, resume=True)
    assert [e.loss for e in whole.record.epochs] == [e.loss for e in resumed.record.epochs]
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def test_other_threads_train_without_handling_signals(data, quick):
    done = []
    thread = threading.Thread(target=lambda: done.append(train(*data, **quick)))
    thread.start()
    thread.join()
    assert done[0].record.epochs


def test_resuming_nothing_begins_anew(data, quick, tmp_path):
    assert train(*data, **quick, out=tmp_path, resume=True).record.epochs


def test_resuming_a_finished_run_gives_its_record_again(data, quick, tmp_path):
    record = train(*data, **quick, out=tmp_path).record
    again = train(*data, **quick, out=tmp_path, resume=True).record
    assert again == record


@pytest.mark.parametrize(
    ("change", "key"),
    [({"seed": 1}, "seed"), ({"learning_rate": 0.1}, "learning_rate"), ({"ema": 0.5}, "ema")],
)
def test_a_checkpoint_of_another_configuration_is_refused(data, quick, tmp_path, change, key):
    train(*data, **quick, out=tmp_path)
    with pytest.raises(TrainingError, match=f"belongs to another run: it differs in {key}"):
        train(*data, **quick | change, out=tmp_path, resume=True)


def test_a_checkpoint_of_other_images_is_refused(data, quick, tmp_path):
    train(*data, **quick, out=tmp_path)
    with pytest.raises(TrainingError, match="it differs in data"):
        train(*data[:2], data[2][::-1], *data[3:], **quick, out=tmp_path, resume=True)


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 half of one"])
def test_a_broken_checkpoint_is_refused(data, quick, tmp_path, content):
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(TrainingError, match=r"checkpoint.pt cannot be read .* Delete it"):
        train(*data, **quick, out=tmp_path, resume=True)


def test_a_checkpoint_that_would_run_code_is_refused(data, quick, tmp_path):
    torch.save({"configuration": Path("x")}, tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match="cannot be read"):
        train(*data, **quick, out=tmp_path, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        {"n_done": 10**9},
        {"n_done": "8"},
        {"training_s": 0.0},
        {"epochs": "[{}]"},
        {"epochs": "{"},
        {"model": {}},
        {"selected": {"weight": torch.zeros(1)}},
        {"optimiser": {"state": 3}},
        {"configuration": "[]"},
        {"configuration": 5},
    ],
    ids=str,
)
def test_a_checkpoint_with_something_else_in_it_is_refused(data, quick, tmp_path, change):
    train(*data, **quick, out=tmp_path)
    state = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    torch.save(state | change, tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match=r"checkpoint.pt cannot be read .* Delete it"):
        train(*data, **quick, out=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_done": 9, "training_s": 2.5}, "9 updates in 2.5 s are impossible"),
        ({"sums": torch.zeros(3)}, "3 sums where 11 were wanted"),
    ],
    ids=["updates", "sums"],
)
def test_a_checkpoint_says_what_is_impossible_in_it(data, quick, tmp_path, change, message):
    train(*data, **quick, out=tmp_path)
    state = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    torch.save(state | change, tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match=rf"checkpoint.pt cannot be read .*{message}.* Delete"):
        train(*data, **quick, out=tmp_path, resume=True)
