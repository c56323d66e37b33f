"""Threads: as asked, as measured, and as before in the end."""

import pytest
import torch
from torch import nn

from mixmood.ssl import train as threads
from mixmood.ssl.train import faster_threads, train


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_the_quicker_number_is_chosen_and_nothing_is_left_changed(two_threads, monkeypatch):
    def slow_with(n_slow):
        return lambda model, images: 2.0 if torch.get_num_threads() == n_slow else 0.5

    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    weights = model[1].weight.clone()
    for n_slow, chosen in ((2, 1), (1, 2)):
        monkeypatch.setattr(threads, "_update_s", slow_with(n_slow))
        assert faster_threads(model, (1, 4, 4), 3) == chosen
    monkeypatch.undo()
    assert faster_threads(model, (1, 4, 4), 3) in (1, 2)
    assert torch.equal(model[1].weight, weights)
    assert torch.get_num_threads() == 2


def test_the_number_asked_for_is_used_and_the_callers_comes_back(data, quick, two_threads):
    assert train(*data, **quick, threads=1).record.n_threads == 1
    assert torch.get_num_threads() == 2


def test_a_run_that_goes_on_keeps_its_number(data, quick, two_threads, tmp_path, monkeypatch):
    train(*data, **quick, threads=1, out=tmp_path)
    monkeypatch.setattr("mixmood.ssl.train.faster_threads", lambda *_: 2)
    assert train(*data, **quick, out=tmp_path, resume=True).record.n_threads == 1
