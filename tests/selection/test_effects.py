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
    sentence, used = answer(GainChange("mixmatch", whole, kept), 10)
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


def test_a_handful_of_kept_images_has_the_advice_that_train_gives_them(labelled, pool, world):
    kept = mixmood.filter(labelled, pool, cache=None, keep=3)
    own = rows_of("kept", pool.features(np.flatnonzero(kept.is_kept)))
    (trained,) = mixmood.train(labelled, own, cache=None).record.pools
    assert kept.record.probe.kept.gain == trained.gain
    assert kept.record.probe.kept.advice == trained.advice == "unsure"
    assert kept.record.answer.startswith("No reason to use the kept images: ")


def test_a_pool_of_which_nothing_is_kept_is_not_used(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, codes = world.useful(60)
    np.savez("mine.npz", features=rows, labels=codes)
    np.save("far.npy", world.foreign(300))
    record = mixmood.filter("mine.npz", "far.npy", out="kept.csv", cache=None).record
    assert record.n_kept == 0
    assert record.answer == "Use no image of this pool: none is kept."
    assert record.next == "mixmood train mine.npz --out run-supervised"


def test_without_classes_the_share_and_advice_of_rank_and_filter_are_the_same(pool, world):
    unnamed = rows_of("labelled", world.useful(60)[0])
    (own,) = mixmood.rank(unnamed, {"pool": pool}, cache=None, draws=2).candidates
    assert own.useful_share == mixmood.filter(unnamed, pool, cache=None).useful_share
    alone, *_ = mixmood.rank(unnamed, {"pool": pool, "copy": pool}, cache=None).candidates
    assert own.useful_share == alone.useful_share


def test_copies_of_labelled_images_do_not_take_the_place_of_useful_ones(world):
    """The share is that of the other images, and so is the threshold that it sets."""
    rows, codes = world.useful(60)
    others = np.concatenate([world.useful(100)[0], world.foreign(300)])
    copied = rows_of("copied", np.concatenate([rows, others]))
    found = [
        mixmood.filter(rows_of("labelled", rows, codes), pool, cache=None).record
        for pool in (rows_of("pool", others), copied)
    ]
    assert found[1].reasons["copy of a labelled image"] == 60
    assert found[1].n_kept == pytest.approx(found[0].n_kept, abs=10)


def test_next_gives_a_pool_the_share_and_the_advice_of_rank(labelled, pool):
    (own,) = mixmood.rank(labelled, {"pool": pool}, cache=None, draws=2).candidates
    (asked,) = mixmood.next(labelled, {"pool": pool}, count=2, cache=None).record.pools
    assert (asked.useful_share, asked.advice) == (own.useful_share, own.advice)
