"""What the listener of a command hears, and what it does not."""

import numpy as np
import pytest

import mixmood
from mixmood.core.cache import FILE_NAME
from mixmood.core.errors import InputError
from mixmood.core.listener import Recorder


@pytest.fixture
def images():
    """Eighteen images, and the classes of the first twelve."""
    images = np.random.default_rng(0).integers(0, 255, (18, 8, 8), dtype=np.uint8)
    return images, (images[:12], np.arange(12) % 2)


VIEW = {"resolution": 64, "depth": "last"}
COMMANDS = {
    "rank": lambda images, labelled, how: mixmood.rank(
        labelled, {"pool": images}, draws=2, probe=False, **how
    ),
    "filter": lambda images, labelled, how: mixmood.filter(labelled, images, probe=False, **how),
    "train": lambda images, labelled, how: mixmood.train(
        labelled, images, algorithm="pseudo-label", **how
    ),
    "check": lambda images, labelled, how: mixmood.check(labelled, **how),
    "next": lambda images, labelled, how: mixmood.next(labelled, images, count=1, **how),
    "embed": lambda images, labelled, how: mixmood.embed(images, **how),
}


def damaged(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FILE_NAME).write_bytes(b"no database, but long enough to look at" * 99)
    return tmp_path / "cache"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_damaged_cache_is_reported_by_every_command(images, tmp_path, command):
    listener = Recorder()
    COMMANDS[command](*images, {"cache": damaged(tmp_path), "listener": listener} | VIEW)
    assert sum("is damaged" in text for text in listener.warnings) == 1


class Reads(Recorder):
    """Keeps what was read, too."""

    def __init__(self):
        super().__init__()
        self.read = []

    def start(self, task, total):
        self.read.append(task)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "embed"])
def test_wrong_groups_are_refused_before_an_image_is_read(images, command):
    """All views of the images were compared first, and a wrong reason for the view was given."""
    listener = Reads()
    with pytest.raises(InputError, match="groups 'patient' is not a column"):
        COMMANDS[command](*images, {"groups": "patient", "listener": listener, "cache": None})
    assert (listener.read, listener.notes, listener.warnings) == ([], [], [])


@pytest.mark.parametrize("command", ["filter", "train", "check", "next"])
def test_labelled_images_that_are_broken_or_repeated_are_reported(images, command):
    """Copies in other folds make an accuracy too good; `next` counted broken images as labels."""
    pixels, (own, classes) = images
    rows = [0, 0, 1, 1, *range(12)]
    labelled = [(own[row], f"class {classes[row]}") for row in rows] + [(b"broken", "class 0")]
    listener, probed = (
        Recorder(),
        {"filter": lambda pool, own, how: mixmood.filter(own, pool, **how)},
    )
    result = (COMMANDS | probed)[command](
        pixels, labelled, {"cache": None, "listener": listener} | VIEW
    )
    record = getattr(result, "record", result)
    heard = " ".join([*listener.warnings, *record.warnings])
    assert "1 of 17 images tried could not be read" in heard
    assert "only 12 of the 16 images read are distinct (75 %)" in heard
    assert command != "next" or record.n_labelled == 16


def test_a_damaged_cache_is_reported_by_a_test_bed(tiny_file, tmp_path):
    listener, cache = Recorder(), str(damaged(tmp_path))
    only = ["source=none"]
    mixmood.run_testbed(
        tiny_file, tmp_path / "store", only=only, seeds=1, jobs=1, cache=cache, listener=listener
    )
    assert sum("is damaged" in text for text in listener.warnings) == 1
