import pytest

from mixmood.core.errors import OutputError
from mixmood.jobs.local import Outcome
from mixmood.testbed.cells import runs
from mixmood.testbed.driver import Status, drive, read_status
from mixmood.testbed.run import job_for


@pytest.fixture
def jobs(tiny):
    return [job_for(tiny, run) for run in runs(tiny)]


class Spread:
    """Finishes jobs at once, the last first; fails those of one source; stops after a number."""

    def __init__(self, make_record, broken=None, most=None):
        self.make_record, self.broken, self.most, self.begun = make_record, broken, most, []

    def __call__(self, calls, n_jobs, on_start):
        for call in reversed(calls):
            if self.most is not None and len(self.begun) == self.most:
                raise KeyboardInterrupt
            on_start(call)
            self.begun.append(call.key)
            (job,) = call.argument
            run = job.run.to_dict()
            del run["contamination"]
            if run["source"] == self.broken:
                yield Outcome(call.key, error=ValueError("broken on purpose"))
            else:
                record = self.make_record(**run)
                yield Outcome(call.key, [record.model_copy(update={"key": call.key})])


def test_every_job_is_run_once_and_written(store, jobs, make_record):
    spread = Spread(make_record)
    status = drive(jobs, store, spread, n_jobs=2)
    assert sorted(spread.begun) == sorted(job.key for job in jobs)
    assert store.keys() == set(spread.begun)
    assert (status.n_done, status.n_failed, status.n_left) == (8, 0, 0)


def test_a_driver_that_was_stopped_goes_on_and_repeats_nothing(store, jobs, make_record):
    first, second = Spread(make_record, most=3), Spread(make_record)
    with pytest.raises(KeyboardInterrupt):
        drive(jobs, store, first, n_jobs=1)
    drive(jobs, store, second, n_jobs=1)
    assert not set(first.begun) & set(second.begun)
    assert store.keys() == {*first.begun, *second.begun}


def test_a_failed_run_does_not_stop_the_others_and_waits_to_be_retried(store, jobs, make_record):
    status = drive(jobs, store, Spread(make_record, broken="gaussian"), n_jobs=1)
    assert (status.n_done, status.n_failed) == (6, 2)
    assert "broken on purpose" in store.failures()[0].error.message
    again = Spread(make_record)
    status = drive(jobs, store, again, n_jobs=1)
    assert again.begun == []
    assert (status.n_earlier, status.n_failed_earlier, status.n_left) == (6, 2, 0)
    drive(jobs, store, again, n_jobs=1, retry_failed=True)
    assert len(again.begun) == 2
    assert len(store.keys()) == 8
    assert not store.keys(failed=True)


def test_two_drivers_cannot_share_a_store(store, jobs, make_record):
    with store.locked(), pytest.raises(OutputError, match="Another driver is at work"):
        drive(jobs, store, Spread(make_record), n_jobs=1)


def test_the_state_can_be_read_from_outside(store, jobs, make_record):
    seen = []

    def watch(status, record):
        seen.append((read_status(store), record))

    drive(jobs, store, Spread(make_record), n_jobs=1, watch=watch)
    states = [state for state, _ in seen]
    assert [state.n_done for state in states if not state.running] == list(range(9))
    assert states[1].running == ["digits gaussian 100.0 10 mixmatch fixed-total scratch 1"]
    assert seen[2][1].run.source == "gaussian"


def test_the_end_is_guessed_from_the_runs_so_far():
    status = Status(n_runs=10, n_jobs=2, n_done=3, n_failed=1, n_earlier=2)
    status.elapsed_s = 40.0
    assert status.n_left == 4
    assert status.seconds_left == 40.0
    assert Status(n_runs=1, n_jobs=1).seconds_left is None


def test_a_store_without_a_driver_has_no_state(store):
    assert read_status(store) is None
