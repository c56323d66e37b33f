"""Real runs by real engines: loky and Ray."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from fuzz.tiny_bed import FROZEN, TINY

from mixmood.core.errors import TrainingError
from mixmood.jobs.cluster import RaySpread
from mixmood.jobs.local import Call, spread_local
from mixmood.testbed.cells import runs
from mixmood.testbed.config import parse_config
from mixmood.testbed.driver import drive
from mixmood.testbed.run import execute, execute_batch, job_for

BED = TINY.replace("seeds = 2", "seeds = 1")
"""Four runs."""


def without_times(record):
    content = {k: v for k, v in record.to_dict().items() if k != "times"}
    return json.dumps(content, sort_keys=True)


def content(records):
    return {record.key: without_times(record) for record in records}


@pytest.fixture
def jobs(tmp_path):
    return jobs_of(BED, tmp_path / "cache")


def jobs_of(text, cache):
    bed = parse_config(text, "tiny")
    return [job_for(bed, run, cache=str(cache)) for run in runs(bed)]


@pytest.fixture
def calls(jobs):
    return [Call(job.key, execute, job) for job in jobs]


@pytest.fixture
def naps():
    """Calls for which a worker has nothing to load, where only the engine is looked at."""
    return [Call(str(number), time.sleep, 0.5) for number in range(8)]


def children(pid):
    """All processes below a process, by their ids, with their command lines."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            words = (status.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        parents[int(status.parent.name)] = (int(fields[1]), words)
    found, last = {}, {pid}
    while last:
        last = {child for child, (parent, _) in parents.items() if parent in last}
        found |= {child: parents[child][1] for child in last}
    return found


def workers():
    """Loky's workers below this process."""
    return [words for words in children(os.getpid()).values() if "LokyProcess" in words]


def kill_one(pid, word, done):
    """Kill the first process below `pid` whose command line has the word."""
    while not done.is_set():
        for child, words in children(pid).items():
            if word in words:
                os.kill(child, signal.SIGKILL)
                done.set()
                return
        time.sleep(0.05)


@pytest.fixture
def killer():
    """Kills one worker of this process as soon as there is one."""
    done = threading.Event()
    threads = []

    def start(word):
        threads.append(threading.Thread(target=kill_one, args=(os.getpid(), word, done)))
        threads[0].start()
        return done

    yield start
    done.set()
    for thread in threads:
        thread.join()


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("all_draws", "cluster")
def test_loky_and_ray_give_the_records_of_a_plain_loop(store, tmp_path):
    """Of heads, with a pool and without one: a worker would take seconds to load torch."""
    heads = jobs_of(FROZEN, tmp_path / "cache")
    with_pool = next(job for job in heads if job.run.source == "gaussian")
    pair = [with_pool, next(job for job in heads if job.run.is_supervised)]
    wanted = content(record for job in pair for record in execute_batch([job]))
    begun = []
    calls = [Call(job.key, execute_batch, [job]) for job in pair]
    outcomes = spread_local(calls, 2, begun.append)
    assert content(record for outcome in outcomes for record in outcome.value) == wanted
    assert sorted(call.key for call in begun) == sorted(wanted)
    drive(pair, store, RaySpread(), n_jobs=2)
    assert content(store.records()) == wanted


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("cluster")
def test_ray_repeats_a_call_whose_worker_was_killed(naps, killer):
    killed = killer("ray::compute")
    outcomes = list(RaySpread()(naps, 2, lambda call: None))
    assert killed.is_set()
    assert sorted(outcome.key for outcome in outcomes) == sorted(call.key for call in naps)
    assert not [outcome for outcome in outcomes if outcome.error is not None]


@needs_proc
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_loky_repeats_calls_whose_worker_was_killed(naps, killer):
    killed = killer("LokyProcess")
    outcomes = list(spread_local(naps, 2, lambda call: None))
    assert killed.is_set()
    assert sorted(outcome.key for outcome in outcomes) == sorted(call.key for call in naps)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that kills")
def test_a_run_that_always_costs_its_worker_has_failed_and_the_others_go_on(
    jobs, store, monkeypatch, make_record
):
    deadly, begun = jobs[1].key, []

    # Within the test: functions of its module could not be found by a worker.
    record = make_record()

    def mortal(batch):
        (job,) = batch
        if job.key == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return [record.model_copy(update={"key": job.key, "run": job.run})]

    monkeypatch.setattr("mixmood.testbed.driver.execute_batch", mortal)

    def spread(waiting, n_jobs, on_start):
        return spread_local(waiting, n_jobs, lambda call: (begun.append(call.key), on_start(call)))

    status = drive(jobs, store, spread, n_jobs=2)
    assert (status.n_done, status.n_failed, status.n_left) == (len(jobs) - 1, 1, 0)
    assert store.keys() == {job.key for job in jobs} - {deadly}
    (failed,) = store.failures()
    assert failed.key == deadly
    assert failed.error.kind == "TrainingError"
    assert "killed again when nothing else was running" in failed.error.message
    assert begun.count(deadly) == 2


def test_workers_that_die_before_they_begin_are_given_up(calls, monkeypatch):
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    def broken(*_):
        raise TerminatedWorkerError("killed")
        yield

    monkeypatch.setattr("mixmood.jobs.local._run_batch", broken)
    with pytest.raises(TrainingError, match="Workers died 3 times .* fewer --jobs"):
        list(spread_local(calls, 2, lambda call: None))


@needs_proc
def test_ctrl_c_while_workers_start_stops_them_all(calls, monkeypatch):
    from joblib.externals.loky.process_executor import _ExecutorManagerThread

    start = _ExecutorManagerThread.start

    def start_interrupted(thread):
        os.kill(os.getpid(), signal.SIGINT)
        start(thread)

    monkeypatch.setattr(_ExecutorManagerThread, "start", start_interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(spread_local(calls, 2, lambda call: None))
    assert not workers()


@needs_proc
def test_who_stops_between_two_records_reads_no_warning_and_leaves_no_worker(naps, recwarn):
    outcomes = spread_local(naps, 2, lambda call: None)
    next(outcomes)
    outcomes.close()
    assert not workers()
    assert not [str(warning.message) for warning in recwarn if "tasks" in str(warning.message)]


@needs_proc
def test_no_worker_outlives_the_last_record(naps):
    assert len(list(spread_local(naps, 2, lambda call: None))) == len(naps)
    assert not workers()


def test_an_error_within_a_call_is_its_outcome_and_the_others_go_on():
    class StubbornError(Exception):
        """Of a function: no other process can find it."""

    def divide(number):
        if number < 0:
            raise StubbornError("no less than 0")
        return 6 / number

    calls = [Call(str(number), divide, number) for number in (2, 0, 3, -1)]
    outcomes = {outcome.key: outcome for outcome in spread_local(calls, 2, lambda call: None)}
    assert (outcomes["2"].value, outcomes["3"].value) == (3.0, 2.0)
    assert isinstance(outcomes["0"].error, ZeroDivisionError)
    assert "no less than 0" in str(outcomes["-1"].error)


def test_no_jobs_need_no_engine():
    assert list(spread_local([], 2, lambda job: None)) == []
    assert list(RaySpread()([], 2, lambda job: None)) == []
