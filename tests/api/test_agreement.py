"""What `rank`, `filter` and `train` say about the same sets is the same.

`benchmarks.agreement.commands` compares all of it, on images and with several seeds.
"""

import numpy as np
import pytest
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def labelled_by(sizes, rng, spread=2.0):
    """Features of one class after the other, as many of each as `sizes` says."""
    codes = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    centres = np.random.default_rng(1).normal(0, spread, (len(sizes), 8))
    names = tuple(f"class {code}" for code in range(len(sizes)))
    rows = rng.normal(size=(len(codes), 8)) + centres[codes]
    return FeatureArray(rows, "mine", Labels(codes, names))


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    mine = labelled_by((12, 12, 12), rng)
    like = labelled_by((50, 50, 50), rng)
    like = like.features(np.arange(len(like)))
    return mine, np.concatenate([like, rng.normal(3.0, 1.0, (150, 8))])


def test_share_gain_advice_and_accuracy_are_the_same_in_every_command(sets):
    mine, crawl = sets
    ranked = mixmood.rank(mine, {"crawl": crawl}, cache=None, draws=2, seed=1)
    (pool,) = ranked.candidates
    kept = mixmood.filter(mine, crawl, cache=None, seed=1).record
    record = mixmood.train(mine, {"other name": crawl}, cache=None, seed=1).record
    alone = mixmood.train(mine, cache=None, seed=1).record
    assert kept.useful_share == pool.useful_share
    assert kept.probe.whole.gain == pool.probe.gain == record.pools[0].gain
    assert kept.probe.whole.p_helps == pool.probe.p_helps == record.pools[0].p_helps
    assert kept.probe.whole.advice == pool.advice == record.pools[0].advice
    assert (record.pools[0].n_used > 0) == (ranked.union is not None)
    found = ranked.labelled.accuracy
    assert (alone.accuracy.cross_validated, alone.accuracy.interval) == (
        found.value, found.interval,
    )  # fmt: skip
    if not record.pools[0].n_used:
        assert record.accuracy == alone.accuracy


def test_train_warns_of_a_class_that_is_never_predicted():
    """Forty-two images of one class and two of another: always the first is right in 95 %."""
    few = labelled_by((42, 2), np.random.default_rng(0), spread=0.1)
    record = mixmood.train(few, cache=None).record
    assert record.accuracy.cross_validated > 0.9
    assert record.accuracy.balanced == pytest.approx(0.5, abs=0.02)
    assert record.accuracy.never_predicted == ("class 1",)
    assert any("the class class 1 (2 images) is never predicted" in w for w in record.warnings)
    assert "as the mean over classes" in record.summary_line()


@pytest.mark.parametrize(("cache", "promise"), [("none", "nothing is kept"), ("c", "in the cache")])
def test_an_interrupted_training_promises_a_cache_only_if_it_has_one(
    cache, promise, tmp_path, monkeypatch
):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mixmood.api.train.train", interrupted)
    words = ["train", "mine", "--out", str(tmp_path / "run"), "--cache", cache]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 130
    assert promise in done.stderr
