import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.cli.train import epoch_line
from mixmood.ssl.record import EpochRecord

QUICK = ["--model", "wrn-tiny", "--epochs", "2", "--updates", "4", "--batch-size", "4"]


@pytest.fixture
def folders(tmp_path):
    """A labelled folder of two classes and a pool, as options of the command."""
    rng = np.random.default_rng(0)
    for name in ("labelled/dark", "labelled/light", "pool"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for index in range(8):
            low = 128 if name.endswith("light") else 0
            pixels = rng.integers(low, low + 127, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{index}.png")
    return [
        *("--labelled", str(tmp_path / "labelled")),
        *("--unlabelled", str(tmp_path / "pool")),
        *("--out", str(tmp_path / "run")),
    ]


def invoke(*words):
    return CliRunner().invoke(app, ["train", *words])


def test_a_run_prints_its_accuracies_and_writes_its_files(folders, tmp_path):
    result = invoke(*folders, *QUICK, "--validation-share", "0.2")
    assert result.exit_code == 0, result.stderr
    assert "test accuracy, last epoch" in result.stdout
    assert "selected on validation" in result.stdout
    assert "epoch 2  loss" in result.stderr
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert record["class_names"] == ["dark", "light"]
    assert (tmp_path / "run" / "model.onnx").exists()


def test_settings_of_the_algorithm_can_be_given(folders, tmp_path):
    words = ["--setting", "gamma=3", "--setting", "ood_mask=0.5"]
    result = invoke(*folders, *QUICK, *words)
    assert result.exit_code == 0, result.stderr
    assert "dropped" in result.stderr
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert record["configuration"]["settings"]["gamma"] == 3.0


def test_a_finished_run_can_be_resumed_and_is_not_overwritten(folders):
    assert invoke(*folders, *QUICK).exit_code == 0
    again = invoke(*folders, *QUICK)
    assert again.exit_code == 1
    assert "holds a run already" in again.stderr
    assert invoke(*folders, *QUICK, "--resume").exit_code == 0
    other = invoke(*folders, *QUICK, "--resume", "--seed", "1")
    assert other.exit_code == 1
    assert "belongs to another run" in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithm", "mixmatsch"], "Did you mean 'mixmatch'"),
        (["--algorithm", "mixmatsch", "--setting", "gamma=3"], "Did you mean 'mixmatch'"),
        (["--setting", "gama=3"], "Did you mean 'gamma'"),
        (["--model", "resnet"], "Unknown model 'resnet'"),
        (["--device", "cuda:99"], "'cuda:99' was asked for, but torch finds none here"),
        (["--epochs", "0"], "epochs must be at least 1"),
        (["--setting", "gamma"], "A setting is NAME=VALUE, such as gamma=10; got 'gamma'."),
        (["--setting", "gamma="], "A setting is NAME=VALUE"),
        (["--test-share", "0"], "The test share must lie between 0 and 1; got 0."),
    ],
)
def test_a_misused_command_exits_with_2_and_says_why(folders, words, message):
    result = invoke(*folders, *QUICK, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_pool_that_is_missing_is_misuse(folders):
    without = [word for word in folders if word not in folders[2:4]]
    result = invoke(*without, *QUICK)
    assert result.exit_code == 2
    assert "mixmatch needs unlabelled images; got none" in result.stderr


def test_a_line_of_an_epoch_holds_losses_and_accuracies():
    epoch = EpochRecord(3, 30, 1e-3, 0.5, 0.25, 0.125, 0.4, (0.5, 0.5), 0.75, 0.8, 9.0)
    expected = "epoch 3  loss 0.5000  unlabelled 0.1250  dropped 40 %  test 0.750  validation 0.800"
    assert epoch_line(epoch) == expected


def test_ctrl_c_says_how_to_go_on(folders, tmp_path):
    """`test_clean_exit` has SIGTERM, which the program handles in the same way."""
    metrics = tmp_path / "run" / "metrics.jsonl"

    def press():
        while not metrics.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(press)
        result = invoke(*folders, "--model", "wrn-tiny", "--epochs", "500", "--batch-size", "4")
        metrics.touch()  # so that the thread ends whatever happened
    assert result.exit_code == 130
    assert "continue with the same command and --resume" in result.stderr
    assert (tmp_path / "run" / "checkpoint.pt").exists()


def test_ctrl_c_before_the_first_checkpoint_promises_nothing(folders, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mixmood.api.train.train", interrupted)
    result = invoke(*folders, *QUICK)
    assert result.exit_code == 130
    assert "Stopped before the first checkpoint: only features in the cache" in result.stderr
