import dataclasses

import pytest

from mixmood.core.errors import InputError
from mixmood.ssl.output.curves import curves_png
from mixmood.ssl.output.record import EpochRecord, TrainingRecord


def epoch(number, test, validation=None, unlabelled=None):
    return EpochRecord(
        epoch=number,
        n_updates=10 * number,
        learning_rate=1e-3,
        loss=0.5,
        loss_labelled=0.4,
        loss_unlabelled=unlabelled,
        share_dropped=None,
        pseudo_label_shares=None if unlabelled is None else (0.25, 0.75),
        test_accuracy=test,
        validation_accuracy=validation,
        elapsed_s=float(number),
    )


def record(*epochs):
    return TrainingRecord(
        configuration={"algorithm": "mixmatch"},
        class_names=("a", "b"),
        n_labelled=2,
        n_unlabelled=3,
        n_test=4,
        n_validation=0,
        n_parameters=5,
        device="cpu",
        n_threads=1,
        epochs=epochs,
        elapsed_s=3.0,
        images_per_s=10.0,
    )


TESTED = [0.5, 0.9, 0.6, 0.7, 0.9, 0.8, 0.65]


def test_the_accuracy_has_four_readings():
    """The last five are 0.6, 0.7, 0.9, 0.8, 0.65."""
    validated = [0.1, 0.2, 0.8, 0.3, 0.4, 0.8, 0.7]
    pairs = zip(TESTED, validated, strict=True)
    run = record(*(epoch(n, t, v) for n, (t, v) in enumerate(pairs, start=1)))
    assert (run.accuracy_best, run.best_epoch) == (0.9, 2)
    assert run.accuracy_last == 0.65
    assert run.accuracy_median == 0.7
    assert (run.accuracy_selected, run.selected_epoch) == (0.8, 6)


def test_without_validation_nothing_is_selected():
    run = record(epoch(1, 0.5))
    assert run.accuracy_selected is None
    assert run.selected_epoch is None
    assert run.accuracy_median == 0.5


def test_a_record_survives_json():
    run = record(epoch(1, 0.5, 0.25, unlabelled=0.1), epoch(2, 0.75, 0.5, unlabelled=0.2))
    assert TrainingRecord.from_json(run.to_json()) == run


def test_a_record_of_another_schema_is_refused():
    text = dataclasses.replace(record(epoch(1, 0.5)), schema=7).to_json()
    with pytest.raises(InputError, match="of schema 1 was wanted; got 7"):
        TrainingRecord.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 1, "epochs": 3}'])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(InputError, match="This is no training record"):
        TrainingRecord.from_json(text)


def test_a_record_with_words_for_numbers_is_refused():
    text = record(epoch(1, 0.5), epoch(2, 0.75)).to_json().replace(": 0.75", ': "much"')
    with pytest.raises(InputError, match="This is no training record: '<' not supported"):
        TrainingRecord.from_json(text)


def test_curves_are_a_png():
    plain = curves_png(record(epoch(1, 0.5), epoch(2, 0.75)))
    full = curves_png(record(epoch(1, 0.5, 0.5, 0.3), epoch(2, 0.75, 0.5, 0.2)))
    assert plain.startswith(b"\x89PNG")
    assert full.startswith(b"\x89PNG")
    assert plain != full
