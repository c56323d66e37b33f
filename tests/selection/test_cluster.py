"""A scan on Ray: the same bytes as on one machine, and nothing lost when a worker dies."""

import os
import signal
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.core.listener import Silent
from mixmood.data.images.pool import FeatureSource
from mixmood.data.readers.array import array_pool
from mixmood.features.extract import Extractor
from mixmood.selection.cluster import scan_ray
from mixmood.selection.filter import FilterJob
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import PartFolder, scan_local
from mixmood.selection.scorer import Scorer, fit_filter

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, at import and at its end
]


class DiesOnce(FeatureSource):
    """Rows of features whose reader is killed once, when it comes to a certain row."""

    name = "dies once"
    fingerprint = "the same everywhere"

    def __init__(self, rows, marker):
        self._rows, self._marker = rows, Path(marker)

    def __len__(self):
        return len(self._rows)

    @property
    def width(self):
        return self._rows.shape[1]

    def features(self, indices):
        if 40 in indices and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._rows[indices]


class Fails(DiesOnce):
    """Rows whose reader fails in a way that nobody foresaw."""

    def features(self, indices):
        raise RuntimeError("the shelf fell over")


class Counts(Silent):
    """Adds up the steps."""

    def __init__(self):
        self.n = 0

    def advance(self, task, steps=1):
        self.n += steps


@pytest.fixture
def scan(world, rng, monkeypatch, tmp_path):
    """A filter of 100 rows in parts of 8, and the rows."""
    monkeypatch.setattr("mixmood.selection.scan.PART_SIZE", 8)
    labelled, labels = world.useful(40)
    rows = np.concatenate([world.useful(50)[0], world.foreign(50)])
    fitted = fit_filter(labelled, rows, rng, labels=labels)
    names = tuple(f"own {i}" for i in range(40))
    scorer = Scorer(fitted, None, (), names, backbone="", backbone_name="", resolution=0)
    parts = PartFolder(tmp_path / "here", 100)
    parts.begin({}, resume=False)
    pool, extractor = array_pool(rows, "rows"), Extractor(None, jobs=2)
    return FilterJob(pool, rows, FilterPlan(), scorer, extractor, parts), rows


def written(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*.npz"))}


@pytest.mark.usefixtures("cluster")
def test_parts_are_the_same_bytes_though_a_worker_was_killed(scan, tmp_path):
    from ray import cloudpickle

    local, rows = scan
    scan_local(local.parts, local.pool, local.scorer, local.extractor)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    source, there = DiesOnce(rows, tmp_path / "killed"), PartFolder(tmp_path / "there", 100)
    there.begin({}, resume=False)
    counts = Counts()
    extractor = Extractor(None, jobs=2, listener=counts)
    scan_ray(replace(local, pool=source, source=source, extractor=extractor, parts=there))
    assert (tmp_path / "killed").exists()
    assert counts.n == 100
    assert written(there.folder) == written(local.parts.folder)
    assert len(written(there.folder)) == 13
    assert there.missing() == []


@pytest.mark.usefixtures("cluster")
def test_a_pool_that_differs_on_a_worker_is_refused(scan):
    local, rows = scan
    with pytest.raises(InputError, match="array holds other images on a worker"):
        scan_ray(replace(local, source=rows + 1.0))
    assert written(local.parts.folder) == {}


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_fails_unforeseen_is_said_with_the_way_on(scan, tmp_path):
    from ray import cloudpickle

    local, rows = scan
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    source = Fails(rows, tmp_path / "unused")
    with pytest.raises(
        InputError,
        match="The scan failed on a worker: RuntimeError: the shelf fell over. Continue it with",
    ):
        scan_ray(replace(local, pool=source, source=source))


def test_nothing_is_started_where_nothing_is_missing(scan, tmp_path, monkeypatch):
    monkeypatch.setattr("mixmood.jobs.cluster.RaySpread.connected", None)
    scan_ray(replace(scan[0], parts=PartFolder(tmp_path, 0)))
