"""Stopped runs go on as if they had never stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mixmood.core.errors import TrainingError
from mixmood.ssl.run_folder import CHECKPOINT
from mixmood.ssl.train import train

OPTIONS = {
    "model": "wrn-tiny",
    "epochs": 25,
    "updates": 100,
    "batch_size": 6,
    "learning_rate": 1e-2,
    "ema": 0.9,
    "settings": {"ood_mask": 0.5},
}
RUN = """
import json, sys
import numpy as np
from mixmood.ssl.train import train

with np.load(sys.argv[1]) as data:
    arrays = [data[name] for name in ("labelled", "labels", "unlabelled", "test", "test_labels")]
train(*arrays, **json.loads(sys.argv[2]), out=sys.argv[3])
"""
NAMES = ["labelled", "labels", "unlabelled", "test", "test_labels"]


@pytest.fixture
def one_thread():
    """The number of threads can change the order of sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def known():
    """The weights of the run that is not stopped, once one test has trained it."""
    return {}


@pytest.fixture
def undisturbed(known, data, one_thread):
    if not known:
        known.update(train(*data, **OPTIONS).model.state_dict())
    return known


@pytest.fixture
def process(data, tmp_path):
    """A real process that trains into a folder."""
    np.savez(tmp_path / "data.npz", **dict(zip(NAMES, data, strict=True)))
    arguments = [str(tmp_path / "data.npz"), json.dumps(OPTIONS), str(tmp_path / "run")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    started = subprocess.Popen([sys.executable, "-c", RUN, *arguments], env=environment)
    yield started
    started.kill()
    started.wait()


def stop_after_some_epochs(process, folder: Path, stop: signal.Signals):
    """Send a signal once there are metrics of a few epochs, well before the last one."""
    metrics = folder / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() or len(metrics.read_text().splitlines()) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(stop)
    return process.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_process_goes_on_to_the_same_weights(
    process, undisturbed, data, tmp_path, one_thread, stop
):
    assert stop_after_some_epochs(process, tmp_path / "run", stop) != 0
    saved = torch.load(tmp_path / "run" / CHECKPOINT, weights_only=True)
    assert 0 < saved["n_done"] < OPTIONS["updates"]
    resumed = train(*data, **OPTIONS, out=tmp_path / "run", resume=True)
    for name, value in undisturbed.items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


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
