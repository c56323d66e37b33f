"""A test bed of a few runs, for faults that need one."""

import pytest
from fuzz.tiny_bed import TINY

from mixmood.testbed.grid.cells import runs
from mixmood.testbed.grid.config import parse_config
from mixmood.testbed.runs.run import job_for


@pytest.fixture
def tiny_bed(tmp_path, make_record):
    """A configuration, its jobs, and what makes a record without any training."""
    config = parse_config(TINY.replace("seeds = 2", "seeds = 1"), "tiny")
    jobs = [job_for(config, run, cache=str(tmp_path / "cache")) for run in runs(config)]

    def record_of(job):
        return make_record().model_copy(update={"key": job.key, "run": job.run})

    return config, jobs, record_of
