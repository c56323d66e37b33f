"""Runs of networks that are refused before anything is read or written."""

import pytest

from mixmood.api.train import train
from mixmood.core.errors import OptionError, OutputError


@pytest.fixture
def quick():
    return {"model": "wrn-tiny", "epochs": 2, "updates": 6, "batch_size": 6}


@pytest.mark.parametrize("resume", [False, True])
def test_a_network_does_not_overwrite_the_run_of_a_head(labelled, pool, quick, tmp_path, resume):
    """As when --model is given beside the folder of an earlier run."""
    run, names = tmp_path / "run", ("model.onnx", "record.json", "report.html")
    run.mkdir()
    for name in names:
        (run / name).write_bytes(b"head")
    with pytest.raises(OutputError, match="holds the run of a head, which a network would overwr"):
        train(labelled, pool, **quick, out=run, resume=resume)
    kept = {path.name: path.read_bytes() for path in run.iterdir()}
    assert kept == dict.fromkeys(names, b"head")


def test_a_finished_run_without_its_checkpoint_is_not_overwritten(labelled, pool, quick, tmp_path):
    """Checkpoints are large, and may have been deleted."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "model.pt").write_bytes(b"network")
    with pytest.raises(OutputError, match="holds a run already. Train it again with --resume"):
        train(labelled, pool, **quick, out=run)
    assert [path.name for path in run.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "propagation"}, "propagation trains heads. Give --model head, or one of"),
        ({"settings": {"gamm": 1.0}}, "Unknown setting of mixmatch 'gamm'. Did you mean 'gamma'"),
        ({"model": "wrn-tyni"}, "Unknown model 'wrn-tyni'. Did you mean 'wrn-tiny'"),
        ({"augment": "flip"}, "Unknown augmentation 'flip'"),
        ({"device": "gpu"}, "Unknown device 'gpu'"),
        ({"resume": True}, "resume needs the folder of the run"),
    ],
)
def test_wrong_options_are_refused_before_any_image_is_read(quick, options, message):
    with pytest.raises(OptionError, match=message):
        train("no such folder", "no such pool", **quick | options)


def test_a_missing_pool_is_refused_before_any_image_is_read(quick):
    with pytest.raises(OptionError, match="mixmatch needs unlabelled images; got none"):
        train("no such folder", **quick)
