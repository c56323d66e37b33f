"""Adds what an earlier version did not record of a run's pool: all measures, share and probe.

    python -m benchmarks.testbed.restore results/paper-small STORE
    python -m benchmarks.testbed.measure STORE
    mixmood testbed tables --store STORE --beside-paper --out results/paper-small

Nothing is trained: the images of a run are drawn again from its seed. The distances that a record
has must come out the same; this shows that they are the same images. It can be stopped and started
again. Needs the image packs (MIXMOOD_DATA).
"""

import argparse
from dataclasses import replace
from pathlib import Path

from mixmood.measures.registry import MEASURES
from mixmood.testbed.config import Config
from mixmood.testbed.record import RunRecord
from mixmood.testbed.results import measured_pool
from mixmood.testbed.run import drawn, job_for
from mixmood.testbed.store import Store

TOLERANCE = 1e-4
"""Relative; published distances have six digits, and libraries differ in the last ones."""


def lacks_something(record: RunRecord) -> bool:
    """Whether the pool of a run was not measured by everything that there is now."""
    if record.run.is_supervised:
        return False
    return record.probe is None or not MEASURES.keys() <= (record.distances or {}).keys()


def with_all_measures(config: Config) -> Config:
    """The same test bed with every measure."""
    section = config.distances.model_copy(update={"measures": list(MEASURES)})
    return config.model_copy(update={"distances": section})


def measured_again(record: RunRecord, config: Config, cache: str) -> RunRecord:
    """The record with everything that is measured of a pool now."""
    job = replace(job_for(config, record.run, cache=cache), config=with_all_measures(config))
    if job.key != record.key:
        raise SystemExit(f"{record.key} was run with other images or settings.")
    found = measured_pool(job, drawn(job))
    for name, before in (record.distances or {}).items():
        now = found["distances"][name]["distance"]
        if abs(now - before.distance) > TOLERANCE * abs(before.distance):
            raise SystemExit(f"{record.key}: {name} was {before.distance} and is {now} now.")
    return RunRecord.model_validate(record.to_dict() | {"run": record.run} | found, strict=False)


def main() -> None:
    """Measure the pools of a store that lack something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--cache", default="default")
    given = parser.parse_args()
    store = Store(given.store)
    waiting = [record for record in store.records() if lacks_something(record)]
    for number, record in enumerate(waiting, 1):
        store.write(measured_again(record, store.config, given.cache))
        print(f"{number} of {len(waiting)}", flush=True)


if __name__ == "__main__":
    main()
