"""What a worker refuses, asked in this process: Ray hands over no more than is given here."""

from types import SimpleNamespace

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.data.readers.array import array_pool
from mixmood.selection.fitted import fit_filter
from mixmood.selection.scan import cluster
from mixmood.selection.scan.cluster import ScanWorker, SharedPool
from mixmood.selection.scan.local import Scan
from mixmood.selection.scorer import Scorer, packed_scorer


@pytest.fixture
def problem(world, rng):
    """Scores the first two images of a pool on a worker; what it says went wrong."""
    fitted = fit_filter(world.useful(30)[0], world.useful(30)[0], rng)

    def ask(pool, fingerprint, backbone=""):
        name = "efficientnet-lite0" if backbone else ""
        scorer = Scorer(fitted, None, (), ("own",) * 30, backbone, name, 64 if backbone else 0)
        worker = ScanWorker(SharedPool(pool, fingerprint), packed_scorer(scorer), "cpu")
        answer = worker({"start": np.array([0]), "stop": np.array([2])})
        return str(answer["problem"][0])

    return ask


def test_a_worker_scores_the_pool_that_was_meant(problem, world):
    rows = world.useful(2)[0]
    assert problem(rows, array_pool(rows, "rows").fingerprint) == ""


def test_a_pool_that_differs_on_a_worker_is_refused(problem, world):
    found = problem(world.useful(2)[0], "another")
    assert "array holds other images on a worker than here. All nodes must see" in found


def test_a_backbone_that_differs_on_a_worker_is_refused(problem):
    images = np.zeros((2, 8, 8), np.uint8)
    found = problem(images, array_pool(images, "images").fingerprint, backbone="another")
    assert "The backbone efficientnet-lite0 differs on a worker. Install the same" in found


def test_a_cluster_that_gives_up_is_an_error_with_the_way_on(world, rng, monkeypatch):
    """Ray repeats the calls of a dead worker; this is what it says when it no longer does."""

    class RayError(Exception):
        pass

    def given_up(*_, **__):
        raise RayError("The actor died too often.")

    dataset = SimpleNamespace(map_batches=lambda *_, **__: SimpleNamespace(iter_batches=given_up))
    data = SimpleNamespace(from_items=lambda *_, **__: dataset, ActorPoolStrategy=SimpleNamespace)
    ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=RayError))
    monkeypatch.setattr(cluster, "_ray_data", lambda: data)
    fitted = fit_filter(world.useful(30)[0], world.useful(30)[0], rng)
    scorer = Scorer(fitted, None, (), ("own",) * 30, "", "", 0)
    scan = Scan(array_pool(world.useful(2)[0], "rows"), scorer, None, jobs=1, cache=None)
    with pytest.raises(InputError, match=r"a worker: The actor died too often\. Continue it"):
        list(cluster._scored(ray, scan, SharedPool(None, ""), [(0, 2)], 1))
