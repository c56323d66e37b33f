"""The main job: pools in, a ranking with its certainty out."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from threadpoolctl import threadpool_limits

from mixmood.core.cache.features import FeatureCache
from mixmood.core.cores import checked_jobs
from mixmood.core.errors import OptionError, ShapeError
from mixmood.core.progress import Progress, Silent
from mixmood.core.records.ranking import SCHEMA, Candidate, LabelledSet, Ranking
from mixmood.core.version import __version__
from mixmood.data.pools.pool import FeatureSource, Pool
from mixmood.features.backbones.backbone import Backbone
from mixmood.ranking.reading import Reading
from mixmood.ranking.rounds import read_in_rounds
from mixmood.ranking.statistics.score import MIN_LABELLED, Plan, Scores, noise_floor, score
from mixmood.ranking.verdict import verdict

TOO_NEAR = (
    "its images are nearer to the labelled ones than those are to each other, as near copies or a "
    "pool of little variety would be; its distance says how much nearer."
)
GIVEN_FEATURES = "none: features were given"

Observer = Callable[[Reading, Mapping[str, Reading]], None]
"""Told of the labelled set and the pools as they were read, once the numbers are there."""


def rank(
    labelled: Pool,
    candidates: Mapping[str, Pool],
    plan: Plan,
    *,
    backbone: Backbone | None,
    jobs: int | None = None,
    cache: FeatureCache | None = None,
    until: float | None = None,
    progress: Progress = Silent(),  # noqa: B008 - it holds no state
    observe: Observer | None = None,
) -> Ranking:
    """The candidates ordered by their distance from the labelled set.

    Args:
        labelled: The labelled set, at least eight images.
        candidates: The pools by name.
        plan: Measures, sample size, draws and seed; the first measure ranks.
        backbone: What turns images into features; None when all sets are features already.
        jobs: Threads; all cores if None.
        cache: Where features are kept between runs.
        until: Stop reading as soon as the nearest pool's chance of being the nearest reaches
            this value; None reads all that the draws ask for.
        progress: Told of every image read.
        observe: Shown what was read, for pictures that need more than the record holds.
    """
    check_sets(labelled, candidates)
    if until is not None and not 0.5 < until <= 1:
        raise OptionError(f"until must be over 0.5 and at most 1; got {until}.")
    if until is not None and backbone is not None and backbone.is_batch_dependent:
        # Rounds would cut other batches, and with them change the features of every image.
        raise OptionError(
            f"until cannot be used with {backbone.name}: its features of an image depend on the "
            "batch that it is in. Leave until out, or choose another backbone."
        )

    def reading(pool: Pool, most: int) -> Reading:
        return Reading(pool, most, plan.seed, backbone, jobs, cache, progress)

    base = reading(labelled, max(2 * plan.sample_size * plan.n_draws, MIN_LABELLED))
    base.grow(max(2 * plan.sample_size, MIN_LABELLED))
    fitted = plan.fit(len(base.features))
    most = fitted.sample_size * plan.n_draws
    pools = {name: reading(pool, most) for name, pool in candidates.items()}
    n_threads = checked_jobs(jobs)
    n_draws = read_in_rounds(base, pools, fitted, until, n_threads)
    used = replace(fitted, n_draws=n_draws)
    progress.start("statistics", None)
    features = {name: pool.features for name, pool in pools.items()}
    # Our threads use all cores; those of BLAS inside each of them would only wait for one another.
    with threadpool_limits(1, user_api="blas"):
        scores = score(base.features, features, used, n_threads)
    record = assemble(base, pools, used, scores, backbone)
    progress.finish("statistics")
    if observe is not None:
        observe(base, pools)
    notices = (*notes(plan, used, base, pools), *record.warnings)
    return replace(record, warnings=notices)


def check_sets(labelled: Pool, candidates: Mapping[str, Pool]) -> None:
    """Refuse an empty list of pools, and features mixed with images."""
    if not candidates:
        raise OptionError("Ranking needs at least one candidate pool; got none.")
    for name, pool in candidates.items():
        if _kind(pool) != _kind(labelled):
            raise ShapeError(
                f"Features cannot be mixed with images: the labelled set holds {_kind(labelled)} "
                f"and '{name}' holds {_kind(pool)}. Give all sets in one form."
            )


def _kind(pool: Pool) -> str:
    return "features" if isinstance(pool, FeatureSource) else "images"


def assemble(
    labelled: Reading,
    pools: Mapping[str, Reading],
    plan: Plan,
    scores: Scores,
    backbone: Backbone | None,
) -> Ranking:
    """The record of a finished ranking."""
    measure = plan.measures[0]
    distances = [by_name[measure].distance for by_name in scores.measures]
    names = list(pools)
    order = sorted(range(len(names)), key=lambda k: (distances[k], names[k]))
    floor = noise_floor(labelled.features, plan)
    candidates = tuple(
        _candidate(place, names[k], pools[names[k]], scores, k, floor[measure].upper)
        for place, k in enumerate(order, start=1)
    )
    width = labelled.features.shape[1]
    return Ranking(
        schema=SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        backbone=backbone.describe() if backbone else {"name": GIVEN_FEATURES, "width": width},
        sample_size=plan.sample_size,
        draws=plan.n_draws,
        paper=plan.paper,
        labelled=_labelled_set(labelled),
        measure=measure,
        candidates=candidates,
        best=candidates[0].name,
        verdict=verdict(candidates, measure),
        noise_floor=floor,
        warnings=tuple(f"{labelled.pool.name}: {warning}" for warning in labelled.warnings),
    )


def notes(
    asked: Plan, used: Plan, labelled: Reading, pools: Mapping[str, Reading]
) -> tuple[str, ...]:
    """What was done otherwise than asked, and what it saved."""
    found = []
    if used.sample_size < asked.sample_size:
        found.append(
            f"The sample size is {used.sample_size} instead of {asked.sample_size}: each draw "
            f"takes two samples from {len(labelled.features)} labelled images."
        )
    if used.n_draws < asked.n_draws:
        n_read = sum(len(pool.features) for pool in pools.values())
        n_all = sum(pool.most for pool in pools.values())
        found.append(
            f"Stopped after {used.n_draws} of {asked.n_draws} draws: {n_read} images of the pools "
            f"were read instead of {n_all}."
        )
    return tuple(found)


def _candidate(
    place: int, name: str, reading: Reading, scores: Scores, k: int, floor: float
) -> Candidate:
    first = next(iter(scores.measures[k].values()))
    is_too_near = first.signed < 0 and first.distance > floor
    return Candidate(
        rank=place,
        name=name,
        n_images=len(reading.pool),
        n_unreadable=reading.n_unreadable,
        n_read=len(reading.features),
        fingerprint=reading.pool.fingerprint,
        measures=scores.measures[k],
        p_best=scores.chances_of_best[k],
        rank_interval=scores.rank_intervals[k],
        warnings=(*reading.warnings, *([TOO_NEAR] if is_too_near else [])),
    )


def _labelled_set(reading: Reading) -> LabelledSet:
    labels = reading.pool.labels
    return LabelledSet(
        name=reading.pool.name,
        n_images=len(reading.pool),
        n_unreadable=reading.n_unreadable,
        n_read=len(reading.features),
        fingerprint=reading.pool.fingerprint,
        classes=None if labels is None else labels.counts(),
    )
