"""What a worker refuses, asked in this process: Ray hands over no more than is given here."""

from types import SimpleNamespace

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.data.readers.array import array_pool
from mixmood.features.extract import Extractor
from mixmood.jobs.cluster import RaySpread
from mixmood.selection.cluster import ScanWorker, scan_ray
from mixmood.selection.filter import FilterJob
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import PartFolder
from mixmood.selection.scorer import Scorer, fit_filter


@pytest.fixture
def problem(world, rng):
    """Scores the first two images of a pool on a worker; what it says went wrong."""
    fitted = fit_filter(world.useful(30)[0], world.useful(30)[0], rng)

    def ask(pool, fingerprint, backbone=""):
        name = "efficientnet-lite0" if backbone else ""
        scorer = Scorer(fitted, None, (), ("own",) * 30, backbone, name, 64 if backbone else 0)
        worker = ScanWorker(pool, fingerprint, FilterPlan(), scorer, "cpu")
        _, outcome = worker.scored((0, 2))
        return str(outcome.error or "")

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


def test_a_cluster_that_gives_up_is_an_error_with_the_way_on(world, rng, monkeypatch, tmp_path):
    """Ray repeats the calls of a dead worker; this is what it says when it no longer does."""

    class RayError(Exception):
        pass

    def given_up():
        raise RayError("The actor died too often.")

    ray = SimpleNamespace(
        exceptions=SimpleNamespace(RayError=RayError),
        cluster_resources=given_up,
        shutdown=lambda: None,
    )
    monkeypatch.setattr(RaySpread, "connected", lambda *_: ray)
    fitted = fit_filter(world.useful(30)[0], world.useful(30)[0], rng)
    scorer = Scorer(fitted, None, (), ("own",) * 30, "", "", 0)
    pool, parts = array_pool(world.useful(2)[0], "rows"), PartFolder(tmp_path, 2)
    job = FilterJob(pool, None, FilterPlan(), scorer, Extractor(None, jobs=1), parts)
    with pytest.raises(InputError, match=r"a worker: The actor died too often\. Continue it"):
        scan_ray(job)
