"""Runs written before options were declared in one plan are still read and gone on with.

`fixtures/earlier_run` was trained by that version: `mixmood.train` on dark and light images,
wrn-tiny, 8 updates in 2 epochs, class weights on both losses.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from mixmood.api.predict import predict
from mixmood.api.train import train
from mixmood.core.errors import TrainingError
from mixmood.ssl.output.record import TrainingRecord

EARLIER = Path(__file__).parent.parent / "fixtures" / "earlier_run"
OPTIONS = {
    "model": "wrn-tiny",
    "epochs": 2,
    "updates": 8,
    "batch_size": 4,
    "learning_rate": 1e-2,
    "augment": "none",
}


@pytest.fixture
def run(tmp_path):
    """A copy of the run, to go on with."""
    for name in ("checkpoint.pt", "metrics.jsonl", "record.json", "model.onnx"):
        shutil.copy(EARLIER / name, tmp_path / name)
    return tmp_path


def test_its_record_is_read():
    record = TrainingRecord.from_json((EARLIER / "record.json").read_text())
    assert record.configuration["settings"]["balanced"] is True
    assert record.epochs[-1].share_sure is None
    assert record.accuracy_last == record.epochs[-1].test_accuracy


def test_its_model_classifies():
    found = predict(EARLIER, EARLIER / "labelled")
    assert found.class_names == ("dark", "light")
    assert np.allclose(found.probabilities.sum(axis=1), 1, atol=1e-6)


def test_a_finished_run_goes_on_to_the_record_it_has(run):
    settings = {"balanced": "both"}
    trained = train(
        EARLIER / "labelled", EARLIER / "pool.npy", **OPTIONS, settings=settings, out=run,
        resume=True,
    )  # fmt: skip
    written = json.loads((EARLIER / "record.json").read_text())
    assert [e.loss for e in trained.record.epochs] == [e["loss"] for e in written["epochs"]]


def test_a_run_stopped_half_way_goes_on_to_the_same_losses(run):
    """The checkpoint after the first epoch, as that version wrote it."""
    whole = torch.load(run / "checkpoint.pt", weights_only=True)
    assert len(whole["sums"]) == 6 + 2
    settings = {"balanced": True}
    fresh = train(EARLIER / "labelled", EARLIER / "pool.npy", **OPTIONS, settings=settings).record
    written = json.loads((EARLIER / "record.json").read_text())
    for ours, theirs in zip(fresh.epochs, written["epochs"], strict=True):
        assert ours.loss == pytest.approx(theirs["loss"], rel=1e-5)


def test_another_default_is_named_with_both_values(run):
    message = r"differs in settings.balanced \(both there, labelled here\). Give the options"
    with pytest.raises(TrainingError, match=message):
        train(EARLIER / "labelled", EARLIER / "pool.npy", **OPTIONS, out=run, resume=True)
