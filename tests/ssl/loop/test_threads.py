"""The number of threads follows from a rule, is recorded, and stays the same when a run goes on."""

import pytest
import torch
from torch import nn

from mixmood.core.errors import TrainingError
from mixmood.ssl.run_folder import CHECKPOINT
from mixmood.ssl.train import default_threads, train


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_small_updates_have_one_thread_and_large_ones_all(two_threads):
    model = nn.Linear(1000, 1000, bias=False)
    assert default_threads(model, (1, 5, 5), 39) == 1
    assert default_threads(model, (1, 5, 5), 40) == 2


def test_the_number_asked_for_is_used_and_the_callers_comes_back(data, quick, two_threads):
    record = train(*data, **quick, threads=1).record
    assert (record.n_threads, record.configuration["threads"]) == (1, 1)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("smallest", [0.0, 1e9])
def test_two_trainings_with_default_options_give_equal_weights(
    data, quick, two_threads, monkeypatch, smallest
):
    monkeypatch.setattr("mixmood.ssl.train.SMALL_UPDATE", smallest)
    first, second = (train(*data, **quick) for _ in range(2))
    assert first.record.n_threads == second.record.n_threads == (1 if smallest else 2)
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, second.model.state_dict()[name]), name


def test_a_run_that_goes_on_keeps_its_number(data, quick, two_threads, tmp_path, monkeypatch):
    train(*data, **quick, threads=3, out=tmp_path)
    monkeypatch.setattr("mixmood.ssl.train.default_threads", lambda *_: 2)
    again = train(*data, **quick, out=tmp_path, resume=True).record
    assert (again.n_threads, again.configuration["threads"]) == (3, 3)


@pytest.mark.parametrize("number", ["0", "1000000", "null"])
def test_an_impossible_number_in_a_checkpoint_is_refused(data, quick, tmp_path, number):
    train(*data, **quick, threads=1, out=tmp_path)
    state = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    state["configuration"] = state["configuration"].replace('"threads": 1', f'"threads": {number}')
    torch.save(state, tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match="cannot be read"):
        train(*data, **quick, out=tmp_path, resume=True)
