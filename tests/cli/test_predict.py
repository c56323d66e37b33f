import csv
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.core.listener import Recorder
from mixmood.features.backbones import devices
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.devices import PROVIDERS, onnx_runtime
from mixmood.features.backbones.registry import BACKBONES
from mixmood.ssl.predict import Classifier


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run on dark and light images."""
    from mixmood.api.train import train

    root = tmp_path_factory.mktemp("predict")
    rng = np.random.default_rng(0)
    for name, low in (("dark", 0), ("light", 128)):
        (root / "labelled" / name).mkdir(parents=True)
        for index in range(8):
            pixels = rng.integers(low, low + 127, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / "labelled" / name / f"{index}.png")
    train(
        root / "labelled",
        algorithm="supervised",
        model="wrn-tiny",
        epochs=1,
        updates=60,
        learning_rate=1e-2,
        out=root / "run",
    )
    return root


def invoke(*words):
    return CliRunner().invoke(app, ["predict", *map(str, words)])


def test_classes_are_written_as_csv(run, tmp_path):
    out = tmp_path / "classes.csv"
    result = invoke("--model", run / "run", run / "labelled", "--csv", out)
    assert result.exit_code == 0, result.stderr
    assert f"16 images classified; written to {out}" in result.stdout
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert np.mean([row["image"].startswith(row["class"]) for row in rows]) > 0.9
    assert all(float(row["confidence"]) >= 0.5 for row in rows)


def test_without_a_file_the_csv_goes_to_stdout(run):
    result = invoke("--model", run / "run", run / "labelled")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("image,class,confidence,p_dark,p_light\n")
    assert len(result.stdout.splitlines()) == 17


def test_a_dash_is_stdout_as_in_every_command(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("--model", run / "run", run / "labelled", "--csv", "-")
    assert result.stdout.startswith("image,class,confidence,p_dark,p_light\n")
    assert list(tmp_path.iterdir()) == []


def test_the_images_are_never_the_output(run, tmp_path):
    listed = tmp_path / "images.csv"
    listed.write_text("path\n")
    result = invoke("--model", run / "run", listed, "--csv", tmp_path / "." / "images.csv")
    assert result.exit_code == 2
    assert "images.csv is one of the inputs. Name another file to write." in result.stderr
    assert listed.read_text() == "path\n"


@pytest.mark.parametrize("name", ["model.onnx", "record.json"])
def test_the_files_of_the_model_are_never_the_output(run, name):
    before = (run / "run" / name).read_bytes()
    result = invoke("--model", run / "run", run / "labelled", "--csv", run / "run" / name)
    assert result.exit_code == 2
    assert f"{name} is one of the inputs. Name another file to write." in result.stderr
    assert (run / "run" / name).read_bytes() == before


@pytest.mark.parametrize("name", ["labels.csv", "a.png", "sub/b.png"])
def test_images_and_labels_in_the_folder_of_the_images_are_never_the_output(run, tmp_path, name):
    (tmp_path / "sub").mkdir()
    for image in ("a.png", "sub/b.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / image)
    (tmp_path / "labels.csv").write_text("path,label\na.png,dark\nb.png,light\n")
    before = (tmp_path / name).read_bytes()
    result = invoke("--model", run / "run", tmp_path, "--csv", tmp_path / name)
    assert result.exit_code == 2
    assert f"{name} is one of the inputs. Name another file to write." in result.stderr
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b.heic", "1 file was passed over: 1 .heic (convert it first"),
        ("b.png", "could not be read and was left out"),
    ],
)
def test_files_that_are_no_images_are_named_on_stderr(name, message, run, tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / name).write_bytes(b"broken")
    result = invoke("--model", run / "run", tmp_path)
    assert result.exit_code == 0
    assert message in result.stderr


def test_a_file_that_cannot_be_written_is_refused_before_work(run, tmp_path):
    result = invoke("--model", run / "run", run / "labelled", "--csv", tmp_path / "no" / "x.csv")
    assert result.exit_code == 1
    assert "does not exist. Make it first" in result.stderr


def test_a_folder_without_a_model_is_refused(run, tmp_path):
    result = invoke("--model", tmp_path, run / "labelled")
    assert result.exit_code == 1
    assert "Give the folder that `mixmood train --out` wrote" in result.stderr


def test_threads_are_as_many_as_wanted(run):
    for jobs in (1, 3):
        session = Classifier(run / "run", jobs)._session
        assert session.get_session_options().intra_op_num_threads == jobs
    one, many = (
        invoke("--model", run / "run", run / "labelled", "--jobs", jobs).stdout for jobs in (1, 3)
    )
    assert one == many
    result = invoke("--model", run / "run", run / "labelled", "--jobs", 0)
    assert result.exit_code == 2
    assert "jobs must be at least 1; got 0" in result.stderr


class OtherBuild:
    """An ONNX Runtime with DirectML, whose sessions compute on the processor all the same."""

    def __init__(self):
        self._real = onnx_runtime()
        self.SessionOptions = self._real.SessionOptions

    def get_available_providers(self):
        return [PROVIDERS["directml"], PROVIDERS["cpu"]]

    def InferenceSession(self, model, options, providers):  # noqa: N802 - the library's name
        session = self._real.InferenceSession(model, options, providers=[PROVIDERS["cpu"]])
        session.get_providers = lambda: providers
        return session


def test_the_device_is_the_one_that_is_asked_for_and_is_named(run, tmp_path, monkeypatch):
    plain = invoke("--model", run / "run", run / "labelled").stdout
    monkeypatch.setattr(devices, "onnx_runtime", OtherBuild)
    out = tmp_path / "classes.csv"
    words = ("--model", run / "run", run / "labelled", "--csv", out)
    result = invoke(*words, "--device", "directml")
    assert result.exit_code == 0, result.stderr
    assert f"16 images classified on directml; written to {out}" in result.stdout
    assert out.read_text() == plain
    assert "16 images classified; written" in invoke(*words, "--device", "cpu").stdout


@pytest.mark.parametrize(
    ("device", "code", "message"),
    [
        ("coreml", 1, "The device coreml cannot be used: this ONNX Runtime has cpu, directml."),
        ("cud", 2, "Unknown device 'cud'. Did you mean 'cuda'?"),
    ],
)
def test_a_device_that_cannot_be_used_is_refused(run, monkeypatch, device, code, message):
    monkeypatch.setattr(devices, "onnx_runtime", OtherBuild)
    result = invoke("--model", run / "run", run / "labelled", "--device", device)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())


def test_of_a_model_that_takes_features_the_backbone_gets_the_device(run, monkeypatch):
    class Own(Backbone):
        """A backbone without an ONNX form: model.onnx holds the head alone."""

        name, resolution, batch_size, width = "own", 8, 16, 3
        is_batch_dependent, fingerprint, device = False, "own", "cpu"

        def describe(self):
            return {"name": "own", "width": 3}

        def embed(self, batch):
            return batch.mean(axis=(1, 2)).astype(np.float32)

        def use_device(self, device, listener=None):
            self.device = {"auto": "cpu"}.get(device, device)

    monkeypatch.setitem(BACKBONES, "own", lambda resolution: Own())
    model = mixmood.train(
        run / "labelled", algorithm="supervised", backbone="own", listener=Recorder()
    )
    assert model.predict(run / "labelled").device == "cpu"
    assert model.predict(run / "labelled", device="mps").device == "mps"


def test_prediction_does_not_import_torch(run):
    code = (
        "import sys; from mixmood.api.predict import predict; "
        f"predict({str(run / 'run')!r}, {str(run / 'labelled')!r}); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
