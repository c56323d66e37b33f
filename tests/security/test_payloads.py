"""Files that would run code or open other files if they were trusted."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mixmood.core.errors import InputError, TrainingError
from mixmood.data.open import open_pool
from mixmood.ssl.predict import Classifier
from mixmood.ssl.run_folder import CHECKPOINT, load_checkpoint


class Payload:
    """Whoever unpickles it makes a file."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.fixture
def mark(tmp_path):
    """The file that a payload would make; the payload works, and the file is not there."""
    path = tmp_path / "mark"
    pickle.loads(pickle.dumps(Payload(path)))
    assert path.exists()
    path.unlink()
    yield path
    assert not path.exists()


def test_an_array_file_of_objects_is_not_unpickled(mark, tmp_path):
    np.save(tmp_path / "a.npy", np.array([Payload(mark)], dtype=object))
    with pytest.raises(InputError, match="needs pickle"):
        open_pool(tmp_path / "a.npy")


@pytest.mark.parametrize("key", ["images", "labels", "class_names"])
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_no_member_of_an_npz_is_unpickled(mark, tmp_path, key, write):
    arrays = {"images": np.zeros((2, 5, 5), np.uint8), "labels": np.zeros(2, int)}
    write(tmp_path / "a.npz", **arrays | {key: np.array([Payload(mark)], dtype=object)})
    with pytest.raises(InputError, match=f"'{key}.npy' is an array of Python objects"):
        open_pool(tmp_path / "a.npz")


def test_a_pickle_that_calls_itself_an_array_is_not_unpickled(mark, tmp_path):
    """np.load would try, with allow_pickle, what does not start like an array."""
    (tmp_path / "a.npy").write_bytes(pickle.dumps(Payload(mark)))
    with pytest.raises(InputError, match=r"Cannot open .*a\.npy as a NumPy file"):
        open_pool(tmp_path / "a.npy")


@pytest.mark.parametrize("form", ["zip", "legacy", "bare"])
def test_a_checkpoint_is_not_unpickled(mark, tmp_path, form):
    import torch

    content = {"configuration": "{}", "schema": 1, "model": Payload(mark)}
    path = tmp_path / CHECKPOINT
    if form == "bare":
        path.write_bytes(pickle.dumps(content, protocol=2))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    assert zipfile.is_zipfile(path) == (form == "zip")
    with pytest.raises(TrainingError, match=r"checkpoint.pt cannot be read \(.*Error\)"):
        load_checkpoint(tmp_path, {})


def test_a_classifier_does_not_open_other_files(tmp_path):
    onnx = pytest.importorskip("onnx", reason="building graphs needs the extra dev")
    weight = onnx.numpy_helper.from_array(np.ones(4, np.float32), "w")
    onnx.external_data_helper.set_external_data(weight, location="../secret")
    weight.ClearField("raw_data")
    add = onnx.helper.make_node("Add", ["images", "w"], ["y"])
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [add],
        "net",
        [value("images", onnx.TensorProto.FLOAT, ["n", 4])],
        [value("y", onnx.TensorProto.FLOAT, ["n", 4])],
        [weight],
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(InputError, match="it keeps its weights in another file. Give the folder"):
        Classifier(path)
