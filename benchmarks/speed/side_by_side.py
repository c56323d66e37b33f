"""Two training runs at once with one thread each, against one alone and one after the other."""

import statistics
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.measuring.row import Effort, Row, SkippedError, interleaved, ratios
from mixmood.jobs.local import checked_jobs

N_UPDATES = {"thin": 100, "small": 50}
"""Updates of a measured run of each setting: about four seconds with one thread."""
N_ROUNDS = 4


def train_once(name: str, n_threads: int, n_updates: int) -> None:
    """A run from arrays to its record, as a worker of the test bed does it."""
    from benchmarks.speed.updates import N_LABELLED, N_POOL, SETTINGS, labels
    from mixmood.ssl.train import train

    setting = SETTINGS[name]
    images, classes = setting.pixels(N_LABELLED, seed=1), labels(N_LABELLED)
    options = {"model": setting.spec, "epochs": 1, "updates": n_updates, "threads": n_threads}
    train(images, classes, setting.pixels(N_POOL), images, classes, **options)


def two_runs(effort: Effort) -> list[Row]:
    """Runs an hour, for two networks; the workers have loaded torch before the clock starts."""
    if checked_jobs(None) < 2:
        raise SkippedError("there is one core only")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        settings = ["thin"] if effort.is_tiny else list(N_UPDATES)
        return [row for name in settings for row in compared(workers, name, effort)]


def compared(workers: ProcessPoolExecutor, name: str, effort: Effort) -> list[Row]:
    """One alone, two at once, and one with two threads, alternately."""
    from benchmarks.speed.updates import SETTINGS

    n_updates = 6 if effort.is_tiny else N_UPDATES[name]

    def runs(n_runs: int, n_threads: int) -> None:
        started = [workers.submit(train_once, name, n_threads, n_updates) for _ in range(n_runs)]
        for run in started:
            run.result()

    works = {
        "alone": lambda: runs(1, 1),
        "both": lambda: runs(2, 1),
        "two threads": lambda: runs(1, 2),
    }
    interleaved(works, 1)  # loads torch in both workers
    times = interleaved(works, effort.rounds(N_ROUNDS))
    twice = {way: [2 * spent for spent in times[way]] for way in ("alone", "two threads")}
    hourly = {way: 3600 / statistics.median(spent) for way, spent in times.items()}
    what = f"two runs at once, one thread each, {n_updates} updates; {SETTINGS[name].words}"
    told = f"{2 * hourly['both']:.0f} / {{:.0f}} runs an hour"
    return [
        Row(
            what,
            "one run alone with one thread",
            *ratios(twice["alone"], times["both"]),
            told.format(hourly["alone"]),
            at_least=1.8,
        ),
        Row(
            what,
            "one after the other with two threads each",
            *ratios(twice["two threads"], times["both"]),
            told.format(hourly["two threads"]),
            note="Above 1, runs side by side are the faster; that is what the test bed does.",
        ),
    ]
