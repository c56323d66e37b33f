"""The number of threads follows from a rule, is recorded, and stays the same when a run goes on."""

import hashlib
import json
import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from mixmood.core.errors import OptionError, OutputError, ShapeError, TrainingError
from mixmood.ssl.algorithms.algorithm import Step, StepLoss
from mixmood.ssl.algorithms.consistency import MeanTeacher
from mixmood.ssl.algorithms.registry import ALGORITHMS
from mixmood.ssl.record import TrainingRecord
from mixmood.ssl.run_folder import CHECKPOINT
from mixmood.ssl.task import as_images, checked_task
from mixmood.ssl.train import default_threads, train


def state(trained):
    return {name: value.clone() for name, value in trained.model.state_dict().items()}


def assert_same_state(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_stripes(data, quick, algorithm):
    quick |= {"updates": 40, "epochs": 2}
    # The paper's weight of 25 drowns twelve labelled images in so short a run.
    settings = {"gamma": 1.0} if algorithm == "mixmatch" else {}
    record = train(*data, algorithm=algorithm, settings=settings, **quick).record
    assert record.accuracy_last > 0.9
    assert record.epochs[-1].loss_labelled < record.epochs[0].loss_labelled


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_gives_the_same_weights(data, quick, algorithm):
    quick |= {"augment": "paper", "algorithm": algorithm}
    assert_same_state(state(train(*data, seed=3, **quick)), state(train(*data, seed=3, **quick)))


def test_another_seed_gives_other_weights(data, quick):
    ours, theirs = (state(train(*data, seed=seed, **quick)) for seed in (0, 1))
    assert not torch.equal(ours["head.weight"], theirs["head.weight"])


def test_the_callers_random_numbers_are_left_alone(data, quick):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    train(*data, **quick)
    assert torch.equal(torch.rand(1), expected)


def test_the_record_tells_what_happened(data, quick):
    record = train(*data, class_names=["top", "middle", "bottom"], **quick).record
    assert [epoch.n_updates for epoch in record.epochs] == [4, 8]
    assert (record.n_labelled, record.n_unlabelled, record.n_test) == (12, 40, 30)
    assert sum(record.epochs[0].pseudo_label_shares) == pytest.approx(1.0)
    assert record.configuration["settings"]["ramp_updates"] == round(8 * 3000 / 9400)
    assert record.images_per_s > 0
    assert record.class_names == ("top", "middle", "bottom")
    assert TrainingRecord.from_json(record.to_json()) == record


def test_an_epoch_is_a_pass_over_the_pool_or_over_the_labelled_images(data, quick):
    quick |= {"updates": None, "epochs": 1, "batch_size": 6}
    assert train(*data, **quick).record.configuration["updates"] == 7
    supervised = train(*data, algorithm="supervised", **quick).record
    assert supervised.configuration["updates"] == 2
    assert supervised.n_unlabelled == 0


def test_an_uneven_number_of_updates_ends_in_a_shorter_epoch(data, quick):
    quick |= {"updates": 7, "epochs": 3}
    assert [e.n_updates for e in train(*data, **quick).record.epochs] == [3, 6, 7]


def test_the_model_is_that_of_the_epoch_selected_on_validation_images(data, quick):
    quick |= {"updates": 12, "epochs": 6}
    trained = train(*data, validation=(data[3][:15], data[4][:15]), **quick)
    record = trained.record
    accuracies = [epoch.validation_accuracy for epoch in record.epochs]
    assert accuracies[record.selected_epoch - 1] == max(accuracies)
    images = torch.from_numpy(data[3]).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        predicted = trained.model(trained.standardise(images)).argmax(1).numpy()
    assert (predicted == data[4]).mean() == pytest.approx(record.accuracy_selected)


def test_averaged_weights_are_tested_in_place_of_the_last_ones(data, quick):
    plain, averaged = (train(*data, ema=decay, **quick) for decay in (0.0, 0.9))
    assert not torch.equal(state(plain)["head.weight"], state(averaged)["head.weight"])
    assert plain.record.epochs[0].loss == averaged.record.epochs[0].loss


@pytest.mark.parametrize("batch_norm", ["joint", "separate", "interleaved"])
def test_every_kind_of_batch_norm_trains(data, quick, batch_norm):
    record = train(*data, settings={"batch_norm": batch_norm}, **quick).record
    assert np.isfinite(record.epochs[-1].loss)


def test_any_module_can_be_trained(data, quick):
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, 3))
    trained = train(*data, **quick | {"model": model, "updates": 40})
    assert trained.model is model
    assert trained.record.accuracy_last > 0.6


def test_dropout_repeats_itself_by_the_seed(data, quick):
    def weight():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, 3))
        return train(*data, **quick | {"model": model}).model[2].weight

    assert torch.equal(weight(), weight())


class Exploding:
    """An algorithm whose loss is infinite from some update on."""

    name, needs_pool, teacher_decay = "exploding", False, 0.0

    def __init__(self, after):
        self.after = after

    def loss(self, step: Step) -> StepLoss:
        factor = 1.0 if step.update < self.after else float("nan")
        loss = step.network.forward(step.labelled()).square().mean() * factor
        return StepLoss(total=loss, labelled=loss)


@pytest.mark.parametrize("after", [5, 7])
def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(
    data, quick, tmp_path, after
):
    """After 7 it is the last update of the epoch that goes wrong."""
    with pytest.raises(TrainingError, match=r"no longer a number near update 8 of 8.*gamma"):
        train(*data, **quick | {"algorithm": Exploding(after)}, out=tmp_path)
    saved = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert saved["n_done"] == 4
    assert all(torch.isfinite(value).all() for value in saved["model"].values())


def test_metrics_are_one_line_of_json_for_each_epoch(data, quick, tmp_path):
    record = train(*data, **quick, out=tmp_path).record
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["test_accuracy"] for line in lines] == [e.test_accuracy for e in record.epochs]


def test_a_folder_that_holds_a_run_is_not_overwritten(data, quick, tmp_path):
    train(*data, **quick, out=tmp_path)
    with pytest.raises(OutputError, match="holds a run already. Go on with it by --resume"):
        train(*data, **quick, out=tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(data, quick, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot make the folder .*file"):
        train(*data, **quick, out=tmp_path / "file" / "run")


BAD_OPTIONS = [
    ({"epochs": 0}, "epochs must be at least 1; got 0"),
    ({"updates": 0}, "updates must be at least 1; got 0"),
    ({"batch_size": 0}, "batch_size must be at least 1; got 0"),
    ({"learning_rate": 0.0}, "learning_rate must be a number above 0; got 0"),
    ({"learning_rate": float("nan")}, "learning_rate must be a number above 0; got nan"),
    ({"weight_decay": -1.0}, "weight_decay must be 0 or a number above; got -1"),
    ({"ema": 1.0}, "ema must be at least 0 and below 1; got 1"),
    ({"resume": True}, "resume needs the folder of the run"),
    ({"algorithm": "mixmatsch"}, "Unknown algorithm 'mixmatsch'. Did you mean 'mixmatch'"),
    ({"settings": {"gama": 1}}, "Unknown setting of mixmatch 'gama'. Did you mean 'gamma'"),
    ({"settings": {"views": 0}}, "views of mixmatch must be at least 1; got 0"),
    ({"settings": {"temperature": 0.0}}, "temperature of mixmatch must be at least 1e-06"),
    ({"settings": {"alpha": 0.0}}, "alpha of mixmatch must be at least 1e-06"),
    ({"settings": {"gamma": -1.0}}, "gamma of mixmatch must be at least 0; got -1"),
    ({"settings": {"ramp_updates": -1}}, "ramp_updates of mixmatch must be at least 0"),
    ({"settings": {"ood_mask": 2.0}}, "ood_mask of mixmatch must be between 0 and 1; got 2"),
    ({"settings": {"batch_norm": "both"}}, "Unknown batch_norm 'both'"),
    ({"settings": {"batch_norm": 3}}, "Unknown batch_norm '3'"),
    ({"settings": {"gamma": "10"}}, "gamma must be a number; got '10'"),
    ({"settings": {"views": 1.5}}, "views must be a whole number; got 1.5"),
    ({"settings": {"mixup": "false"}}, "mixup must be a bool; got 'false'"),
    ({"algorithm": "fixmatch", "settings": {"threshold": 2.0}}, "threshold of fixmatch must be"),
    ({"algorithm": "mean-teacher", "ema": 0.9}, "mean-teacher has an average of its own"),
    ({"device": "gpu"}, "Unknown device 'gpu'"),
    ({"augment": "flop"}, "Unknown augmentation 'flop'"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_an_impossible_option_is_refused(data, quick, options, message):
    with pytest.raises(OptionError, match=message):
        train(*data, **quick | options)


def test_a_digest_is_of_the_pixels_and_copies_none_of_them(data):
    """A pool may fill half of the memory."""
    images = as_images(np.zeros((60_000, 8, 8, 1), np.uint8), "unlabelled")
    task = checked_task((data[0], data[1]), images, (data[3], data[4]), None, None)
    tracemalloc.start()
    digest = task.digest()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    parts = [data[0].tobytes(), data[1].tobytes(), b"|", data[3].tobytes(), data[4].tobytes()]
    whole = b"".join([*parts, b"||", bytes(60_000 * 64)])
    assert digest == hashlib.sha256(whole).hexdigest()[:16]
    assert peak < 1_000_000


def test_an_empty_pool_is_refused(data, quick):
    with pytest.raises(TrainingError, match="The unlabelled pool is empty"):
        train(*data[:2], data[2][:0], *data[3:], **quick)


def test_no_pool_is_refused_by_an_algorithm_that_needs_one(data, quick):
    with pytest.raises(OptionError, match="mixmatch needs unlabelled images; got none"):
        train(*data[:2], None, *data[3:], **quick)


def test_a_single_class_is_refused(data, quick):
    with pytest.raises(TrainingError, match=r"At least 2 classes are needed to train; got 1"):
        train(data[0], np.zeros(12, int), data[2], data[3], np.zeros(30, int), **quick)


def test_a_class_without_labelled_images_is_refused(data, quick):
    labels = np.where(data[1] == 1, 2, data[1])
    with pytest.raises(TrainingError, match="at least one labelled image; none is of 1"):
        train(data[0], labels, *data[2:], **quick)


@pytest.mark.parametrize("role", ["test", "validation"])
def test_a_class_that_no_labelled_image_has_is_refused(data, quick, role):
    strange = data[4] + 1
    if role == "test":
        arguments, validation = (*data[:4], strange), None
    else:
        arguments, validation = data, (data[3], strange)
    with pytest.raises(TrainingError, match=f"The {role} images have classes that no .*: 3"):
        train(*arguments, validation=validation, **quick)


def test_labels_beyond_the_names_are_refused(data, quick):
    with pytest.raises(ShapeError, match="between 0 and 1; got 0 to 2"):
        train(*data, class_names=["a", "b"], **quick)


def test_labels_of_another_length_are_refused(data, quick):
    with pytest.raises(ShapeError, match=r"one whole number for each of the 12 images; .*\(11,\)"):
        train(data[0], data[1][:11], *data[2:], **quick)


def test_no_labelled_images_are_refused(data, quick):
    with pytest.raises(TrainingError, match="There are no labelled images"):
        train(data[0][:0], data[1][:0], *data[2:], **quick)


def test_images_of_different_shapes_are_refused(data, quick):
    with pytest.raises(ShapeError, match=r"must have one shape .* unlabelled \(1, 4, 8\)"):
        train(*data[:2], data[2][:, :4], *data[3:], **quick)


def test_images_that_are_no_bytes_are_refused(data, quick):
    with pytest.raises(ShapeError, match="labelled must be a uint8 array .* got float64"):
        train(data[0] / 255, *data[1:], **quick)


def test_images_with_channels_first_are_refused(data, quick):
    with pytest.raises(ShapeError, match=r"labelled must have 1 or 3 channels, in the last place"):
        train(data[0].transpose(0, 3, 1, 2), *data[1:], **quick)


class Greedy(Exploding):
    """An algorithm that says it needs no pool and asks for one."""

    name = "greedy"

    def loss(self, step: Step) -> StepLoss:
        step.unlabelled(1)


def test_an_algorithm_that_asks_for_a_pool_it_did_not_announce_is_refused(data, quick):
    with pytest.raises(TrainingError, match="greedy asked for unlabelled images; got none"):
        train(*data, **quick | {"algorithm": Greedy(0)})


def test_a_mean_teacher_without_a_teacher_is_refused(data, quick):
    algorithm = MeanTeacher()
    object.__setattr__(algorithm, "teacher_decay", 0.0)
    with pytest.raises(TrainingError, match="mean-teacher needs a teacher; got none"):
        train(*data, **quick | {"algorithm": algorithm})


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
