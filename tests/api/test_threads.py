"""BLAS has one thread while a command computes, and afterwards as many as before."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mixmood
from mixmood.data.readers.array import FeatureArray


def n_threads():
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


@pytest.fixture
def sets(rng, tmp_path):
    """Labelled features in a file, and a pool."""
    codes = np.arange(24) % 3
    features = np.maximum(rng.normal(size=(24, 16)) + 2 * np.eye(16)[codes], 0)
    np.savez(tmp_path / "labelled.npz", features=features.astype(np.float32), labels=codes)
    return tmp_path / "labelled.npz", np.maximum(rng.normal(size=(60, 16)), 0).astype(np.float32)


@pytest.mark.parametrize(
    "command",
    [
        lambda labelled, pool: mixmood.rank(labelled, [pool], draws=2),
        lambda labelled, pool: mixmood.filter(labelled, pool),
        lambda labelled, pool: mixmood.train(labelled, pool),
        lambda labelled, pool: mixmood.next(labelled, pool, count=2),
        lambda labelled, pool: mixmood.check(labelled),
    ],
    ids=["rank", "filter", "train", "next", "check"],
)
def test_a_command_leaves_the_cores_to_its_own_threads(sets, monkeypatch, command):
    """Two kinds of threads on the same cores would wait for one another."""
    seen, read = [], FeatureArray.features

    def watched(self, indices):
        seen.append(n_threads())
        return read(self, indices)

    monkeypatch.setattr(FeatureArray, "features", watched)
    with threadpool_limits(2, user_api="blas"):
        command(*sets)
        assert n_threads() == {2}
    assert seen
    assert set().union(*seen) == {1}
