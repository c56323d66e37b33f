import dataclasses
import json

import pytest
from tests.fixtures.training_records import a_record, an_epoch

from mixmood.core.errors import InputError
from mixmood.ssl.image_training import curves_png
from mixmood.ssl.record import HeadRecord, TrainingRecord


def epoch(number, test, validation=None, unlabelled=None):
    return an_epoch(
        number,
        loss_unlabelled=unlabelled,
        pseudo_label_shares=None if unlabelled is None else (0.25, 0.75),
        test_accuracy=test,
        validation_accuracy=validation,
    )


TESTED = [0.5, 0.9, 0.6, 0.7, 0.9, 0.8, 0.65]


def test_the_accuracy_has_four_readings():
    """The last five are 0.6, 0.7, 0.9, 0.8, 0.65."""
    validated = [0.1, 0.2, 0.8, 0.3, 0.4, 0.8, 0.7]
    pairs = zip(TESTED, validated, strict=True)
    run = a_record(*(epoch(n, t, v) for n, (t, v) in enumerate(pairs, start=1)))
    assert (run.accuracy_best, run.best_epoch) == (0.9, 2)
    assert run.accuracy_last == 0.65
    assert run.accuracy_median == 0.7
    assert (run.accuracy_selected, run.selected_epoch) == (0.8, 6)


def test_without_validation_nothing_is_selected():
    run = a_record(epoch(1, 0.5))
    assert run.accuracy_selected is None
    assert run.selected_epoch is None
    assert run.accuracy_median == 0.5


def test_a_record_survives_json():
    run = a_record(epoch(1, 0.5, 0.25, unlabelled=0.1), epoch(2, 0.75, 0.5, unlabelled=0.2))
    assert TrainingRecord.from_json(run.to_json()) == run


def test_a_record_of_another_schema_is_refused():
    text = dataclasses.replace(a_record(epoch(1, 0.5)), schema=7).to_json()
    with pytest.raises(InputError, match="This is no TrainingRecord: .* schema Input should be 1"):
        TrainingRecord.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 1, "epochs": 3}'])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(InputError, match="This is no TrainingRecord"):
        TrainingRecord.from_json(text)


def test_a_record_without_epochs_is_refused():
    content = json.loads(a_record(epoch(1, 0.5)).to_json()) | {"epochs": []}
    with pytest.raises(InputError, match="a run has at least one epoch"):
        TrainingRecord.from_json(json.dumps(content))


def test_a_record_with_words_for_numbers_is_refused():
    text = a_record(epoch(1, 0.5), epoch(2, 0.75)).to_json().replace(": 0.75", ': "much"')
    with pytest.raises(InputError, match="test_accuracy Input should be a valid number"):
        TrainingRecord.from_json(text)


def test_curves_are_a_png():
    plain = curves_png(a_record(epoch(1, 0.5), epoch(2, 0.75)))
    full = curves_png(a_record(epoch(1, 0.5, 0.5, 0.3), epoch(2, 0.75, 0.5, 0.2)))
    assert plain.startswith(b"\x89PNG")
    assert full.startswith(b"\x89PNG")
    assert plain != full


def test_what_is_no_record_of_a_head_is_refused():
    with pytest.raises(InputError, match="This is no HeadRecord"):
        HeadRecord.from_json('{"schema": 1, "model": "wrn"}')
