"""Which pools does `train` use? Those that `rank` advises, by the same question and numbers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mixmood.api.view_choice import choose_view
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError
from mixmood.core.listener import Listener
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.records.ranking import Probe
from mixmood.core.text import listed
from mixmood.data.images.pool import Pool, scaled
from mixmood.data.open import are_image_files, open_candidates
from mixmood.data.readers.given_labels import with_labels
from mixmood.evidence.advice import PoolAdvice
from mixmood.evidence.view import BASE, ChosenView
from mixmood.features.reading import Reading
from mixmood.features.sample import Extractor, Sample
from mixmood.ranking.judge import PoolGains, default_gains, read_first, read_labelled
from mixmood.ranking.rank import why_not_comparable
from mixmood.ssl.head import PoolDecision, PoolPart
from mixmood.ssl.plan import AUTO, TrainingRunPlan
from mixmood.ssl.record import PoolUse

NO_POOL = "No pool was given: the supervised head is used."
UNKNOWN_SHARE = 0.5


def as_pools(unlabelled: Any) -> Mapping[str, Any] | Sequence[Any]:
    """What the user gave as pools: a dictionary, a list of paths of pools, or one pool.

    >>> as_pools(None), as_pools("crawl/"), as_pools(["a/", "b.zip"])
    ([], ['crawl/'], ['a/', 'b.zip'])
    >>> as_pools(["1.png", "2.png"])
    [['1.png', '2.png']]
    """
    if unlabelled is None:
        return []
    is_list = isinstance(unlabelled, list | tuple) and bool(unlabelled)
    is_list = is_list and not are_image_files(unlabelled)
    if isinstance(unlabelled, Mapping) or (
        is_list and all(isinstance(one, str | os.PathLike) for one in unlabelled)
    ):
        return unlabelled  # type: ignore[no-any-return]
    return [unlabelled]


@dataclass
class HeadSources:
    """What a head is trained on beside its labels: the view, and the pools that are used.

    Attributes:
        unlabelled: The pools as the user gave them.
        plan: The options of the training.
    """

    unlabelled: Any
    plan: TrainingRunPlan

    def view(
        self, labelled: Pool, cache: FeatureCache | None, listener: Listener
    ) -> ChosenView | None:
        """The backbone in the view that the labelled images choose; None for features.

        The pools are opened before: a path that does not exist is an error within a second.
        """
        plan = self.plan
        self.opened = open_candidates(as_pools(self.unlabelled), labelled, plan.seed, cache)
        found = choose_view(
            labelled, plan, jobs=plan.threads, groups=plan.groups, cache=cache,
            listener=listener,
        )  # fmt: skip
        if found is not None:
            listener.note(found.choice.reason)
        return found

    def with_labels(self, labelled: Pool, listener: Listener) -> Pool:
        """The labelled set with the labels of `--labels`; their images leave the pools."""
        pools = {
            name: pool if why_not_comparable(labelled, pool) else _scaled_like(labelled, pool)
            for name, pool in self.opened.pools.items()
        }
        given = with_labels(self.plan.labels, labelled, pools)
        given.tell(listener)
        left = {name: given.without_labelled(name, pool) for name, pool in pools.items()}
        self.opened = replace(self.opened, pools=left)
        return given.labelled

    def pools(
        self, labelled: Sample, test: Sample | None, extractor: Extractor, listener: Listener
    ) -> PoolDecision:
        """The head and the pools to train with; images that are labelled or tested are left out.

        Args:
            labelled: The labelled images.
            test: The test images, if there are any.
            extractor: Reads features in the chosen view.
            listener: Gets progress, and the pools that cannot be used.
        """
        plan, readings = self.plan, self._readings(labelled, test, extractor, listener)
        if not readings:
            return PoolDecision(BASE if plan.algorithm == AUTO else plan.algorithm, NO_POOL)
        if plan.algorithm != AUTO:
            is_used = plan.algorithm != BASE
            uses = {
                name: PoolUse(name, len(one.pool), 0, None, "the algorithm was named")
                for name, one in readings.items()
            }
            parts = [
                PoolPart(uses[name], one, is_used, float(len(one.pool)))
                for name, one in readings.items()
            ]
            return PoolDecision(plan.algorithm, "", tuple(parts))
        own = read_labelled(labelled.pool, plan.seed, extractor)
        return _advised(default_gains(own, readings, plan, listener))

    def _readings(
        self, labelled: Sample, test: Sample | None, extractor: Extractor, listener: Listener
    ) -> dict[str, Reading]:
        """The first images of each pool; those without any are set aside."""
        aside, readings = dict(self.opened.set_aside), {}
        banned = frozenset(() if test is None else test.contents)
        for name, one in self.opened.pools.items():
            if why := why_not_comparable(labelled.pool, one):
                aside[name] = why
                continue
            images = _scaled_like(labelled.pool, one)
            reading = read_first(images, labelled, self.plan.seed, extractor, banned)
            if len(reading.sample):
                readings[name] = reading
            else:
                aside[name] = why_too_small(reading.sample)
        if aside and not readings:
            reasons = " ".join(f"'{name}': {reason}" for name, reason in aside.items())
            raise InputError(f"No pool can be used. {reasons}")
        for name, reason in aside.items():
            listener.warn(f"{name} is set aside: {reason}")
        return readings


def why_too_small(sample: Sample) -> str:
    """Why none of the images that were tried can be used."""
    if sample.n_left_out:
        return f"all of its {sample.n_tried} readable images are labelled or test images."
    return f"it has no readable image among {sample.n_tried}."


def _scaled_like(labelled: Pool, pool: Pool) -> Pool:
    """The pool; images of more than eight bits are scaled like the labelled ones."""
    return scaled(pool, getattr(labelled, "pixel_range", None))


def _advised(gains: PoolGains) -> PoolDecision:
    """The decision by the advice: what `rank` would use is used."""
    union = gains.answer.union
    used = union.pools if union else ()

    def part(name: str) -> PoolPart:
        reading, share = gains.pools[name], gains.parts[name].share
        useful = (UNKNOWN_SHARE if share is None else share.share) * len(reading.pool)
        use = _use(name, len(reading.pool), gains.advice[name], gains.probes[name])
        return PoolPart(use, reading, name in used, max(useful, 1.0))

    reason = gains.answer.sentence if gains.why_no_gain is None else gains.why_no_gain
    if not used:
        reason = f"{reason} The supervised head is used."
    algorithm = DEFAULT_PROBE if used else BASE
    return PoolDecision(algorithm, reason, tuple(map(part, gains.pools)))


def _use(name: str, n_images: int, advice: PoolAdvice, probe: Probe | None) -> PoolUse:
    if probe is None:
        return PoolUse(name, n_images, 0, advice.word, advice.reason)
    return PoolUse(
        name, n_images, 0, advice.word, advice.reason, probe.gain, probe.interval, probe.p_helps
    )


def only_pool(unlabelled: Any) -> Any:
    """The one pool of a network; InputError if there are several."""
    pools = as_pools(unlabelled)
    if len(pools) > 1:
        names = listed([str(one) for one in pools])
        raise InputError(
            f"A network is trained with one pool; got {names}. Train a head (--model head) with "
            "all of them, or give the one that `mixmood rank` advises."
        )
    if not pools:
        return None
    return next(iter(pools.values())) if isinstance(pools, Mapping) else pools[0]
