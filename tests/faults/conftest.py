"""A test bed of a few runs and small pools of images, for faults that need them."""

import numpy as np
import pytest
from fuzz.tiny_bed import TINY

from mixmood.testbed.cells import runs
from mixmood.testbed.config import parse_config
from mixmood.testbed.run import job_for


@pytest.fixture
def tiny_bed(tmp_path, make_record):
    """A configuration, its jobs, and what makes a record without any training."""
    config = parse_config(TINY.replace("seeds = 2", "seeds = 1"), "tiny")
    jobs = [job_for(config, run, cache=str(tmp_path / "cache")) for run in runs(config)]

    def record_of(job):
        return make_record().model_copy(update={"key": job.key, "run": job.run})

    return config, jobs, record_of


@pytest.fixture(scope="module")
def rank_pools(tmp_path_factory):
    """The words of a command that reads images and uses a cache."""
    folder = tmp_path_factory.mktemp("pools")
    rng = np.random.default_rng(0)
    paths = [folder / f"{name}.npy" for name in ("labelled", "near", "dark")]
    for path, n_images, highest in zip(paths, (16, 24, 24), (255, 255, 40), strict=True):
        np.save(path, rng.integers(0, highest, (n_images, 8, 8, 3), dtype=np.uint8))
    quick = ["--draws", "4", "--resolution", "64", "--measure", "l2", "--no-probe"]
    return ["rank", *map(str, paths), *quick]
