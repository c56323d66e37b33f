"""What is measured of the pool of a run: distances, useful share and probe."""

from contextlib import nullcontext, suppress
from functools import cache
from typing import Any

from mixmood.core.arrays import Array, Codes
from mixmood.core.cache import open_cache
from mixmood.core.errors import InputError
from mixmood.core.listener import Recorder
from mixmood.core.options import PROBE_ALGORITHMS
from mixmood.core.seeds import rng_for
from mixmood.data.readers.array import ImageArray
from mixmood.data.splits import Pixels
from mixmood.evidence.labelled import MOST_JUDGED, JudgedPart, LabelledEvidence
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.backbones.view import BackboneView
from mixmood.features.extract import Extractor
from mixmood.features.sample import Sample
from mixmood.ranking.distance import quick_distances
from mixmood.ranking.plan import RankingPlan
from mixmood.testbed.run import Job

N_PERMUTATIONS = 99
"""Permutations for p-values: tables only need to know whether they are below 0.05."""


def distances_between(labelled: Array, pool: Array, plan: RankingPlan) -> dict[str, Any]:
    """The distances by measure, without intervals, of features (n, d) and a shuffled pool's."""
    # Draws take rows in order.
    order = rng_for(plan.seed, "order", "labelled").permutation(len(labelled))
    some = pool[: plan.sample_size * plan.draws]
    return {**quick_distances(labelled[order], some, plan, N_PERMUTATIONS)}


def distance_plan(job: Job) -> RankingPlan:
    """The plan of a job's distances, fitted to its number of labelled images."""
    section = job.config.distances
    return RankingPlan(
        measures=tuple(section.measures),
        sample_size=section.sample_size,
        draws=section.draws,
        seed=job.run.seed,
    ).fitted(job.run.n_labelled)


def sample_of(job: Job, images: Pixels, network: Backbone) -> Sample:
    """Images in the given order, in the view of the backbone; cached if the job has a cache."""
    with open_cache(job.cache, Recorder()) or nullcontext() as kept:
        return Extractor(network, 1, kept).read(ImageArray(images, "images"))


def chosen_network(job: Job, images: Pixels, labels: Codes) -> Backbone:
    """The backbone of heads, in the view that was asked for or that the labelled images choose."""
    section = job.config.frozen
    side = section.resolution if isinstance(section.resolution, int) else None
    name, network = section.backbone, loaded_backbone(section.backbone, side)
    views = network.views(section.resolution, section.depth)
    view = views[-1]
    if len(views) > 1:
        pool, rows = ImageArray(images, "images"), range(min(len(images), MOST_JUDGED))
        wanted = [BackboneView(name, one) for one in views]
        with open_cache(job.cache, Recorder()) or nullcontext() as kept:
            found = Extractor(None, 1, kept).read_views({name: network}, wanted, pool, rows)
        features = {one: sample.features for one, sample in found.items()}
        # Without a class of two images nothing can be compared: the largest view is used.
        with suppress(InputError):
            evidence = ViewEvidence(features, labels[: len(rows)], found[wanted[0]].digests)
            view = evidence.choice.chosen.view
    return network.at(view, with_last=True)


@cache
def loaded_backbone(name: str, resolution: int | None) -> Backbone:
    """The backbone, loaded once in a worker for all of its runs."""
    return load_backbone(name, resolution)


def judged_values(evidence: LabelledEvidence, part: JudgedPart, algorithm: str) -> dict[str, Any]:
    """Useful share and probe of a pool in plain values; None where something cannot be measured.

    What the probe measures is recorded beside the gain that it expects, so that another map from
    one to the other can be applied to records.
    """
    share = probe = None
    if (estimate := part.share) is not None:
        share = {
            "share": estimate.share,
            "interval": estimate.interval,
            "is_trustworthy": estimate.is_trustworthy,
        }
    if not evidence.why_no_gain:
        # An algorithm without a map to points has the default probe of `mixmood rank`.
        probed = algorithm if algorithm in PROBE_ALGORITHMS else PROBE_ALGORITHMS[0]
        effect = evidence.effect(part, probed)
        found = evidence.probe(part, probed, effect)
        names = ("algorithm", "is_learnable", "gain", "interval", "p_helps")
        probe = {name: getattr(found, name) for name in names}
        probe |= {name: getattr(effect, name) for name in ("error", "unrest", "accuracy")}
        probe |= {"change": effect.p_right, "supervised": found.accuracy}
    return {"useful_share": share, "probe": probe}
