"""The expected gain of the whole pool and of its kept part, and what follows from it."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import mixmood
from mixmood.api.filter import answer
from mixmood.cli.main import app
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.records.filtering import GainChange, GainInterval
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray


def rows_of(name, rows, codes=None):
    """Rows of features, with classes or without."""
    labels = None if codes is None else Labels(codes.astype(np.int32), ("a", "b", "c"))
    return FeatureArray(rows, name, labels)


@pytest.fixture
def labelled(world):
    return rows_of("labelled", *world.useful(60))


@pytest.fixture
def pool(world):
    return rows_of("pool", np.concatenate([world.useful(100)[0], world.foreign(300)]))


def test_the_gain_of_the_kept_part_stands_beside_that_of_the_whole_pool(labelled, pool):
    record = mixmood.filter(labelled, pool, cache=None).record
    assert record.probe.algorithm == DEFAULT_PROBE
    assert record.probe.kept.gain > record.probe.whole.gain
    for gain in (record.probe.kept, record.probe.whole):
        assert gain.interval[0] <= gain.gain <= gain.interval[1]
        assert 0 <= gain.p_helps <= 1


def test_the_whole_pool_has_the_gain_and_the_advice_that_rank_gives_it(labelled, pool):
    record = mixmood.filter(labelled, pool, cache=None, seed=3).record
    (own,) = mixmood.rank(labelled, {"pool": pool}, cache=None, draws=2, seed=3).candidates
    assert record.probe.whole == GainInterval(
        own.probe.gain, own.probe.interval, own.probe.p_helps, own.advice
    )


def gain(value, advice):
    return GainInterval(value, (value - 2, value + 2), 0.8, advice)


@pytest.mark.parametrize(
    ("whole", "kept", "start", "word"),
    [
        (gain(-1.0, "avoid"), gain(1.5, "use"), "Use the kept images: +1.5 points", "kept"),
        (gain(3.0, "use"), gain(1.5, "use"), "Use the whole pool: +3.0 points", "whole"),
        (gain(1.0, "use"), gain(1.5, "use"), "Use the kept images", "kept"),
        (gain(-1.0, "avoid"), gain(-1.5, "avoid"), "Do not use the kept images: -1.5", "nothing"),
        (gain(0.1, "filter"), gain(0.2, "unsure"), "No reason to use the kept images", "nothing"),
    ],
)
def test_the_answer_follows_the_advice(whole, kept, start, word):
    sentence, used = answer(GainChange("mixmatch", whole, kept))
    assert sentence.startswith(start)
    assert used == word


def test_the_next_command_can_be_typed(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, codes = world.useful(60)
    np.savez("mine.npz", features=rows, labels=codes)
    np.save("crawl.npy", np.concatenate([world.useful(100)[0], world.foreign(300)]))
    record = mixmood.filter("mine.npz", "crawl.npy", out="kept.csv", cache=None, seed=2).record
    program, *words = shlex.split(record.next)
    assert (program, words[:2], words[-2:]) == ("mixmood", ["train", "mine.npz"], ["--seed", "2"])
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert mixmood.filter("mine.npz", rows, cache=None).record.next in (
        None, "mixmood train mine.npz --out run-supervised",
    )  # fmt: skip


def test_gains_need_classes_and_can_be_left_out(labelled, pool, world):
    assert mixmood.filter(labelled, pool, cache=None, probe=False).record.probe is None
    unnamed = rows_of("labelled", world.useful(60)[0])
    assert mixmood.filter(unnamed, pool, cache=None).record.probe is None


def test_a_handful_of_kept_images_is_not_probed(labelled, pool):
    record = mixmood.filter(labelled, pool, cache=None, keep=20).record
    assert record.probe is None
    assert (record.answer, record.next) == ("", None)
