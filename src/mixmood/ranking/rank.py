"""The whole ranking: pools in, a record with the certainty of each result out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Listener, Silent
from mixmood.core.records.ranking import Ranking
from mixmood.data.images.pool import FeatureSource, Pool
from mixmood.evidence.labelled import N_FIRST
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED, POOL, Reading
from mixmood.jobs.local import checked_jobs
from mixmood.ranking.distance import score, why_widths_differ
from mixmood.ranking.judge import gains_of
from mixmood.ranking.plan import MIN_LABELLED, RankingPlan
from mixmood.ranking.record import Situation, ranking_record
from mixmood.ranking.rounds import read_in_rounds

LEAST_SAMPLE = 20  # it shrinks no further for a small pool: all pools would be judged by it


@dataclass(frozen=True)
class RankedPools:
    """A ranking, and the sets as far as they were read: the page also shows some images."""

    record: Ranking
    labelled: Reading
    pools: dict[str, Reading]


def rank(
    labelled: Pool,
    candidates: Mapping[str, Pool],
    plan: RankingPlan,
    *,
    backbone: Backbone | None,
    views: ViewEvidence | None = None,
    set_aside: Mapping[str, str] | None = None,
    cache: FeatureCache | None = None,
    progress: Listener = Silent(),  # noqa: B008 - it holds no state
) -> RankedPools:
    """The candidates ordered by their gain or by their distance.

    Args:
        labelled: The labelled set, at least eight images.
        candidates: The pools by name.
        plan: The options.
        backbone: None when all sets are features already.
        views: The labelled images in all views among which that of the backbone was chosen.
        set_aside: Pools that could not be opened, with the reason.
        cache: Where features are kept between runs.
        progress: Called after every image read.
    """
    if not candidates and not set_aside:
        raise OptionError("Ranking needs at least one candidate pool; got none.")
    aside = dict(set_aside or {})
    for name, pool in candidates.items():
        if why := why_not_comparable(labelled, pool):
            aside[name] = why
    check_left(candidates, aside, plan.strict)
    extractor = Extractor(backbone, plan.jobs, cache, progress)
    most = max(2 * plan.sample_size * plan.draws, MIN_LABELLED)
    base = Reading.begin(labelled, most, plan.seed, LABELLED, extractor)
    base = base.read_on(max(2 * plan.sample_size, MIN_LABELLED))
    used = plan.fitted(len(base.sample))
    if backbone is not None and backbone.is_batch_dependent:
        # Rounds would form other batches, and so change the features of every image.
        used = replace(used, until=None)
    left = {name: pool for name, pool in candidates.items() if name not in aside}
    if short := [pool for pool in left.values() if len(pool) < used.sample_size]:
        base = base.read_on(most)
        begun = [Reading.begin(pool, len(pool), plan.seed, POOL, extractor) for pool in short]
        sizes = [len(one.read_on(one.most, base.sample).sample) for one in begun]
        # A pool that is too small for any ranking does not count: it will be set aside.
        enough = [size for size in sizes if size >= LEAST_SAMPLE]
        used = replace(used, sample_size=min([used.sample_size, *enough]))
    pools = {
        name: Reading.begin(pool, used.sample_size * used.draws, plan.seed, POOL, extractor)
        for name, pool in left.items()
    }
    n_threads = checked_jobs(plan.jobs)
    rounds = read_in_rounds(base, pools, used, n_threads, least=N_FIRST if plan.probe else 0)
    aside |= rounds.too_small
    ranked = {name: pool for name, pool in rounds.pools.items() if name not in aside}
    check_left(ranked, aside, plan.strict)
    progress.start("statistics", None)
    features = {name: pool.sample.last for name, pool in ranked.items()}
    scores = score(rounds.labelled.sample.last, features, used, n_threads, rounds.measured)
    progress.finish("statistics")
    algorithm = plan.probe_algorithm if plan.probe else None
    gains = gains_of(rounds.labelled, ranked, plan.seed, plan.groups, progress, algorithm)
    record = ranking_record(gains, scores, Situation(plan, used, backbone, rounds, aside, views))
    return RankedPools(record, gains.labelled, gains.pools)


def why_not_comparable(labelled: Pool, pool: Pool) -> str | None:
    """Why a pool cannot be compared with the labelled set; None if it can."""
    if isinstance(labelled, FeatureSource) and isinstance(pool, FeatureSource):
        return why_widths_differ(labelled.width, pool.width)
    own, other = (
        "features" if isinstance(one, FeatureSource) else "images" for one in (labelled, pool)
    )
    if own == other:
        return None
    return (
        f"features cannot be mixed with images: the labelled set holds {own}, the pool {other}. "
        "Give all sets in one form."
    )


def check_left(names: Iterable[str], set_aside: Mapping[str, str], is_strict: bool) -> None:
    """Refuse a ranking with no pool left; with `is_strict`, one with any pool set aside."""
    if not set_aside or (not is_strict and set(names) - set(set_aside)):
        return
    reasons = " ".join(f"'{name}': {reason}" for name, reason in sorted(set_aside.items()))
    if is_strict:
        raise InputError(f"With strict, every pool must be ranked. Could not rank {reasons}")
    raise InputError(f"No pool can be ranked. {reasons}")
