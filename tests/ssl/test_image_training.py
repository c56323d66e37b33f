"""Training from folders, archives and arrays: what is written, told and refused."""

import json
import sys
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image
from tests.fixtures.training_records import a_record, an_epoch

from mixmood.api.train import train as train_model
from mixmood.core.errors import (
    InputError,
    MissingExtraError,
    OptionError,
    OutputError,
    TrainingError,
)
from mixmood.ssl import image_training
from mixmood.ssl import image_training as tracking
from mixmood.ssl.image_training import nearly_lost_class, parsed_settings, pool_warnings
from mixmood.ssl.models.registry import model_spec, usual_algorithm
from mixmood.ssl.plan import TrainingRunPlan
from mixmood.ssl.record import TrainingRecord
from mixmood.ssl.task import Images, StreamedImages, standardisation_of


def train(*pools, **options):
    """The record of a trained network."""
    return train_model(*pools, **options).record


@pytest.fixture
def quick():
    return {"model": "wrn-tiny", "epochs": 2, "updates": 6, "batch_size": 6, "learning_rate": 1e-2}


def test_a_run_writes_all_its_files(labelled, pool, quick, tmp_path):
    out = tmp_path / "run"
    record = train(labelled, pool, **quick, out=out, validation_share=0.2)
    names = {path.name for path in out.iterdir()}
    assert names == {
        "checkpoint.pt", "model.pt", "model.onnx", "metrics.jsonl", "record.json", "curves.png"
    }  # fmt: skip
    assert TrainingRecord.from_json((out / "record.json").read_text()) == record
    assert record.class_names == ("chequered", "lying", "standing")
    assert (record.n_labelled, record.n_test, record.n_validation) == (12, 6, 6)
    weights = torch.load(out / "model.pt", weights_only=True)
    model_spec("wrn-tiny").build((3, 8, 8), 3).load_state_dict(weights)


def test_arrays_can_be_given_in_place_of_paths(labelled, quick):
    rng = np.random.default_rng(0)
    pool = rng.integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
    assert train(labelled, pool, **quick).n_unlabelled == 20


def test_folders_and_archives_packed_in_any_order_train_the_same_weights(
    labelled, pool, quick, tmp_path
):
    def packed(folder, rng):
        path = tmp_path / f"{folder.name}.tar"
        files = sorted(folder.rglob("*.png"))
        with tarfile.open(path, "w") as archive:
            for place in rng.permutation(len(files)):
                archive.add(files[place], files[place].relative_to(folder))
        return path

    train(labelled, pool, **quick, out=tmp_path / "folders")
    expected = torch.load(tmp_path / "folders" / "model.pt", weights_only=True)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        out = tmp_path / f"archives{seed}"
        train(packed(labelled, rng), packed(pool, rng), **quick, out=out)
        weights = torch.load(out / "model.pt", weights_only=True)
        assert all(torch.equal(weights[name], expected[name]) for name in expected)


def test_test_images_of_their_own_leave_the_labelled_ones_whole(
    labelled, pool, quick, tmp_path, write_images
):
    test = write_images(tmp_path / "test", 9, 5)
    record = train(labelled, pool, test=test, **quick)
    assert (record.n_labelled, record.n_test) == (24, 9)


def test_a_pool_beyond_the_memory_limit_is_streamed_to_the_same_weights(
    labelled, pool, quick, tmp_path, told
):
    """Fewer images than the sample of the statistics: the two ways see the same numbers."""
    in_memory = train(labelled, pool, **quick, out=tmp_path / "a")
    streamed = train(
        labelled, pool, **quick, out=tmp_path / "b", memory_limit_bytes=100, listener=told
    )
    assert told.warnings == ["pool: does not fit in memory; images are read as needed."]
    assert streamed.warnings == tuple(told.warnings)
    assert [e.loss for e in in_memory.epochs] == [e.loss for e in streamed.epochs]
    ours, theirs = (torch.load(tmp_path / x / "model.pt", weights_only=True) for x in "ab")
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_streaming_replaces_an_unreadable_image_by_the_next_one_and_says_so_once(pool, told):
    from mixmood.data.open import open_pool

    first, second = sorted(pool.iterdir())[:2]
    first.write_bytes(b"broken")
    images = StreamedImages(open_pool(pool), (8, 8), told)
    rows = np.array([0, 1, 2])
    images.prefetch(rows)
    batch = images.batch(rows)
    assert torch.equal(batch[0], batch[1])
    images.batch(rows)
    assert told.warnings == [
        f"pool: {first.name} cannot be read; it and others like it are replaced by the next "
        "readable images."
    ]
    assert np.array_equal(batch[1, 0].numpy(), np.asarray(Image.open(second)))
    for path in pool.iterdir():
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="pool has no readable image among 30"):
        images.batch(rows)


def test_the_statistics_of_millions_of_images_are_of_images_that_there_are():
    """In single precision the last one of 16,777,220 would be the image behind it."""
    asked = []

    class Millions(Images):
        is_streamed, shape = True, (1, 1, 1)

        def __init__(self):
            """Hold nothing."""

        def __len__(self):
            return 2**24 + 4

        def batch(self, rows):
            asked.extend(rows.tolist())
            return torch.zeros((len(rows), 1, 1, 1), dtype=torch.uint8)

    standardisation_of(Millions())
    assert (len(set(asked)), min(asked), max(asked)) == (4096, 0, 2**24 + 3)


def test_unreadable_images_are_left_out_and_named(labelled, pool, quick, told):
    (labelled / "lying" / "1-0.png").write_bytes(b"broken")
    for path in sorted(pool.iterdir())[:5]:
        path.write_bytes(b"broken")
    record = train(labelled, pool, **quick, listener=told)
    assert any(
        "could not be read and was left out: lying/1-0.png" in text for text in told.warnings
    )
    assert any(
        text.startswith("pool: 5 of ") and "could not be read" in text for text in told.warnings
    )
    assert record.n_unlabelled == 25


def test_a_pool_without_a_readable_image_is_refused(labelled, pool, quick):
    for path in pool.iterdir():
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="pool has no readable image among 30. Check the files"):
        train(labelled, pool, **quick)


def test_labelled_images_none_of_which_is_readable_are_refused(labelled, pool, quick):
    for path in labelled.rglob("*.png"):
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="labelled has no readable image among 24"):
        train(labelled, pool, **quick)


def test_images_of_other_sizes_are_resized_and_that_is_said_once(
    labelled, quick, tmp_path, told, write_images
):
    pool = write_images(tmp_path / "large", 12, 3, size=16, named=False)
    train(labelled, pool, **quick, listener=told)
    assert told.notes == ["large: 12 images resized to 8 x 8 pixels."]


def test_a_chosen_size_resizes_everything(labelled, pool, quick, told):
    record = train(labelled, pool, image_size=6, **quick, listener=told)
    assert len(told.notes) == 2
    assert record.n_parameters > 0
    with pytest.raises(OptionError, match="at least 4 pixels; got 2"):
        train(labelled, pool, image_size=2, **quick)


def test_images_shared_by_pool_and_labelled_set_are_counted(labelled, quick, told):
    """Of 24 images, 18 are labelled and 6 set aside for testing."""
    train(labelled, labelled, **quick, listener=told)
    assert told.warnings == [
        "labelled: 18 images are also among the labelled images.",
        "labelled: 6 images are also among the test images.",
    ]


def test_images_without_classes_are_refused(pool, quick):
    with pytest.raises(InputError, match="The labelled pool pool has no classes. Give them in one"):
        train(pool, pool, **quick)


def test_a_class_in_test_but_not_in_labelled_is_refused(
    labelled, pool, quick, tmp_path, write_images
):
    test = write_images(tmp_path / "test", 9, 5)
    (test / "lying").rename(test / "leaning")
    with pytest.raises(TrainingError, match="classes that no labelled image has: leaning"):
        train(labelled, pool, test=test, **quick)


def test_too_few_images_of_a_class_are_refused(labelled, pool, quick):
    for path in sorted((labelled / "lying").iterdir())[1:]:
        path.unlink()
    with pytest.raises(TrainingError, match="Class 'lying' needs at least 2 readable labelled"):
        train(labelled, pool, **quick)


def test_features_are_refused(labelled, quick):
    features = np.zeros((4, 9), dtype=np.float32)
    with pytest.raises(InputError, match="holds features; images are needed to train"):
        train(labelled, features, **quick)


def test_test_images_and_a_test_share_exclude_each_other(labelled, pool, quick):
    with pytest.raises(OptionError, match="Give test images or a test share, not both"):
        train(labelled, pool, test=labelled, test_share=0.5, **quick)


def test_an_empty_pool_is_refused(labelled, quick):
    with pytest.raises(InputError, match="the array has no images"):
        train(labelled, np.zeros((0, 8, 8, 3), dtype=np.uint8), **quick)


def test_a_missing_torch_is_said(labelled, pool, quick, monkeypatch):
    monkeypatch.setattr(image_training.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"Training needs packages .*mixmood\[train\]"):
        train(labelled, pool, **quick)


def test_a_missing_mlflow_is_said(labelled, pool, quick, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    with pytest.raises(MissingExtraError, match=r"mlflow needs .*mixmood\[train\]"):
        train(labelled, pool, **quick, mlflow="sqlite:///nowhere.db")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_can_be_logged_to_mlflow(
    labelled, pool, quick, tmp_path, monkeypatch, mlflow_database
):
    from mlflow.tracking import MlflowClient

    monkeypatch.chdir(tmp_path)
    mlflow_database(tmp_path / "mlflow.db")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    record = train(labelled, pool, **quick, out=tmp_path / "run", mlflow=uri)
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(tracking.EXPERIMENT)
    (logged,) = client.search_runs([experiment.experiment_id])
    assert logged.info.status == "FINISHED"
    assert logged.data.params["settings.gamma"] == "25.0"
    assert logged.data.metrics["accuracy_last"] == pytest.approx(record.accuracy_last)
    history = client.get_metric_history(logged.info.run_id, "test_accuracy")
    assert [m.value for m in history] == [e.test_accuracy for e in record.epochs]
    artifacts = {file.path for file in client.list_artifacts(logged.info.run_id)}
    assert artifacts == {"record.json", "curves.png", "metrics.jsonl"}


@pytest.mark.filterwarnings("ignore")
def test_an_mlflow_that_does_not_answer_is_said(labelled, pool, quick, tmp_path):
    with pytest.raises(OutputError, match="Cannot log to MLflow at nonsense://x"):
        train(labelled, pool, **quick, mlflow="nonsense://x")


def test_settings_are_read_from_words():
    plan = TrainingRunPlan(algorithm="mixmatch")
    assert parsed_settings(plan, ["gamma=10", "views=3", "mixup=false", "ood_mask=0.7"]) == {
        "gamma": 10.0,
        "views": 3,
        "mixup": False,
        "ood_mask": 0.7,
    }
    assert parsed_settings(plan, ["batch_norm=separate"]) == {"batch_norm": "separate"}


def test_auto_is_the_algorithm_of_the_network(labelled, quick, told):
    assert usual_algorithm("efficientnet-lite0") == "freematch"
    options = quick | {"algorithm": "auto", "listener": told}
    assert train(labelled, labelled, **options).configuration["algorithm"] == "mixmatch"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gamma=much", "gamma must be a number; got 'much'"),
        ("views=1.5", "views must be a whole number; got '1.5'"),
        ("mixup=no", "mixup must be true or false; got 'no'"),
    ],
)
def test_settings_of_another_kind_are_refused(word, message):
    with pytest.raises(OptionError, match=message):
        parsed_settings(TrainingRunPlan(algorithm="mixmatch"), [word])


def test_the_record_says_what_was_told(labelled, quick, tmp_path, told):
    train(labelled, labelled, **quick, out=tmp_path, listener=told)
    saved = json.loads((tmp_path / "record.json").read_text())
    assert len(saved["warnings"]) == 2


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


CODES = [0] * 15 + [1] * 30 + [2] * 15
"""A quarter, a half and a quarter of the labelled images."""


def epoch(number, shares, sure=None):
    return an_epoch(number, n_updates=50 * number, pseudo_label_shares=shares, share_sure=sure)


def record(*epochs, batch_size=16, **settings):
    configuration = {"settings": {"threshold": 0.95} | settings, "batch_size": batch_size}
    return a_record(*epochs, configuration=configuration, class_names=("cat", "dog", "owl"))


@pytest.mark.parametrize(
    ("shares", "lost"),
    [
        ((0.25, 0.5, 0.25), None),
        ((0.08, 0.62, 0.3), ("cat", 0.08, 0.25)),
        ((0.09, 0.61, 0.3), None),
        ((0.42, 0.16, 0.42), ("dog", 0.16, 0.5)),
        ((0.3, 0.7, 0.0), ("owl", 0.0, 0.25)),
    ],
)
def test_a_class_is_nearly_lost_below_a_third_of_its_share_of_the_labelled_images(shares, lost):
    assert nearly_lost_class(record(epoch(1, shares)), CODES) == lost


def test_only_the_last_epoch_counts():
    found, lost = (0.25, 0.5, 0.25), (0.0, 0.5, 0.5)
    assert nearly_lost_class(record(epoch(1, lost), epoch(2, found)), CODES) is None
    assert nearly_lost_class(record(epoch(1, found), epoch(2, lost)), CODES)[0] == "cat"


def test_what_may_be_chance_is_not_told():
    """The last epoch has 50 updates: with one guess in each, 12.5 are expected of a quarter."""
    lost = record(epoch(1, (0.25, 0.5, 0.25)), epoch(2, (0.0, 0.5, 0.5)), batch_size=1)
    assert nearly_lost_class(lost, CODES) is None
    with_two = record(*lost.epochs, batch_size=1, unlabelled_ratio=2)
    assert nearly_lost_class(with_two, CODES) == ("cat", 0.0, 0.25)


def test_a_class_that_no_labelled_image_has_cannot_be_lost():
    assert nearly_lost_class(record(epoch(1, (0.5, 0.5, 0.0))), [0] * 30 + [1] * 30) is None


def test_the_warning_names_the_class_both_shares_and_what_to_do():
    (message,) = pool_warnings(record(epoch(1, (0.01, 0.69, 0.3))), CODES)
    assert message.startswith(
        "The guesses for the pool have nearly lost the class 'cat': 1 % of them, where 25 % of the "
        "labelled images have it."
    )
    assert message.endswith("compare with --algorithm supervised.")


def test_a_threshold_that_no_guess_reached_is_told():
    (message,) = pool_warnings(record(epoch(1, None, sure=0.0), epoch(2, None, sure=0.0)), CODES)
    assert message == (
        "No guess reached the threshold of 0.95 in the whole run: the pool was not used. "
        "Train longer, or set a lower threshold."
    )


def test_a_training_without_a_pool_has_nothing_to_tell():
    assert list(pool_warnings(record(epoch(1, None)), CODES)) == []


def test_a_network_takes_one_pool(photos):
    pools = {"a": photos / "pool", "b": photos / "pool"}
    with pytest.raises(InputError, match="A network is trained with one pool; got"):
        train_model(photos / "labelled", pools, model="wrn-tiny")
