"""Which images are worth a label: useful, uncertain, unlike each other and unlike labelled ones.

Let s(i, j) be the similarity of two images and u_i the value of knowing the class of image i: the
chance that it is useful, times the uncertainty of the classifier. A set of images S that is
labelled beside the labelled ones L is worth

    sum_i u_i max_{j in S or L} s(i, j)

(facility location). The image that adds most, times its own chance to be useful, is added to S
again and again. So an image is chosen if it stands for many images that are uncertain and that no
labelled or chosen image is like.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes, Mask, Rows
from mixmood.core.errors import InputError
from mixmood.core.records.labelling import Proposal
from mixmood.core.seeds import rng_for
from mixmood.core.text import in_percent
from mixmood.data.images.labels import NONE, group_codes, group_names
from mixmood.data.images.pool import Pool
from mixmood.evidence.share import useful_chances
from mixmood.features.extract import Extractor
from mixmood.features.reading import LABELLED
from mixmood.features.sample import Sample
from mixmood.heads.problem import LinearHead, head_problem
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import labelled_share, signed_roots
from mixmood.selection import scorer as scorers
from mixmood.selection.filter import FilterJob, ScannedPool
from mixmood.selection.plan import FilterPlan, NextPlan
from mixmood.selection.scan import PartFolder
from mixmood.selection.scorer import FittedFilter, Scorer

MOST_CANDIDATES = 2000  # compared with each other; of more, of one pool or of all, a random part
LEAST_USEFUL, LEAST_TYPICAL = 0.1, 0.05
"""An image is proposed if its chance to be useful is as large, or if it scores at least as high as
this share of the labelled images."""
FEWEST_FOREIGN = 2
POWER = 3  # of the cosine: similarity falls quickly, so that an image stands for near ones only
MOST_GUESSES = 5
LEAST_LABELLED = 4  # two images of two classes: with fewer, no classifier says what it is unsure of
FEW_USEFUL = 0.05
CLEARLY_FIRST = 0.3  # an image is unsure if its best classes differ by less in probability


@dataclass(frozen=True)
class Candidates:
    """The images of one pool that may be proposed."""

    pool: Pool
    scorer: Scorer
    sample: Sample
    scores: Array
    useful: Array
    nearest: Rows

    def proposal(self, k: int, chances: Array, n_like: int) -> Proposal:
        """The entry of the image k, by its probabilities and how many images it stands for."""
        order = np.argsort(-chances, kind="stable")[:MOST_GUESSES].tolist()
        names, index = self.scorer.class_names, int(self.sample.rows[k])
        guesses = tuple((names[code], round(float(chances[code]), 4)) for code in order)
        return Proposal(
            pool=self.pool.name,
            path=self.pool.locate(index),
            index=index,
            score=float(self.scores[k]),
            useful=round(float(self.useful[k]), 4),
            guesses=guesses,
            nearest=self.scorer.labelled_names[int(self.nearest[k])],
            reason=_reason(guesses, n_like),
        )


@dataclass(frozen=True)
class Proposed:
    """The images to label, the pools by name that they were chosen from, and the classes."""

    images: tuple[Proposal, ...]
    candidates: dict[str, Candidates]
    classes: tuple[str, ...]
    warnings: tuple[str, ...]


def proposed(
    opened: Pool,
    labelled: Pool,
    pools: Mapping[str, Pool],
    answers: Mapping[str, Mapping[int, str]],
    plan: NextPlan,
    extractor: Extractor,
) -> Proposed:
    """Scan the pools, and choose among all candidates.

    `opened` is the labelled set without later labels. Images that were chosen and labelled are no
    random sample of their classes: a filter that is fitted with them takes those that are left for
    foreign. `answers` are those of a person for images of each pool, by their index.
    """
    sampled = scorers.sampled(labelled, scorers.MOST_IN_FILTER, plan.seed, LABELLED)
    own = extractor.read(labelled, sampled)
    codes = own.codes.astype(np.int32)
    head, names = scorers.fit_classifier(own.features, codes, labelled.labels, plan.seed)
    if head is None:
        raise InputError(f"The readable images of {labelled.name} are of one class.")
    found = {
        name: _candidates(opened, pool, answers.get(name, {}), plan, extractor, head, names)
        for name, pool in pools.items()
    }
    owners = [(one, k) for one in found.values() for k in range(len(one.useful))]
    features = np.concatenate([one.sample.features for one in found.values()])
    useful = np.concatenate([one.useful for one in found.values()])
    foreign = [
        extractor.read(pools[name], rows).features
        for name, said in answers.items()
        if name in pools and (rows := sorted(k for k, label in said.items() if label == NONE))
    ]
    if foreign:
        present = np.unique(codes, return_inverse=True)[1]
        useful *= not_foreign(own.features, present, np.concatenate(foreign), features)
    groups, why = None, ""
    if plan.groups is not None:
        try:
            members = []
            for one in found.values():
                every = group_names(one.pool, plan.groups)
                members += [every[row] for row in one.sample.rows.tolist()]
            groups = group_codes(members)
        except InputError as error:
            why = f"The proposed images are not grouped: {error}"
    chances = head.predict_proba(features)
    some = part_by_value(useful * (1 - chances.max(axis=1)), rng_for(plan.seed, "next", "pools"))
    groups = None if groups is None else groups[some]
    parts = (features[some], own.features, useful[some], chances[some], plan.count, groups)
    chosen, n_like = chosen_images(*parts)
    images = tuple(
        owners[row][0].proposal(owners[row][1], chances[row], n)
        for row, n in zip(some[chosen].tolist(), n_like.tolist(), strict=True)
    )
    images = () if is_foreign(images, found) else images
    return Proposed(images, found, names, (why,) if why else ())


def _candidates(
    opened: Pool,
    pool: Pool,
    answers: Mapping[int, str],
    plan: NextPlan,
    extractor: Extractor,
    head: LinearHead,
    names: tuple[str, ...],
) -> Candidates:
    """Scan a pool as `filter` does, and read the images that may be proposed."""
    shared = {one.name: getattr(plan, one.name) for one in fields(plan) if one.name != "count"}
    filter_plan = FilterPlan(**shared)
    scorer = scorers.fit_scorer(opened, pool, filter_plan, extractor, LEAST_LABELLED)
    scorer = replace(scorer, head=head, class_names=names)
    with tempfile.TemporaryDirectory(prefix="mixmood-next-") as folder:
        parts = PartFolder(Path(folder) / "scan", len(pool))
        job = FilterJob(pool, None, filter_plan, scorer, extractor, parts, answers)
        scanned = job.scanned()
        confidence = np.concatenate([part.confidence for _, part in parts])
        nearest = np.concatenate([part.nearest for _, part in parts])
    useful, may_be = useful_of(scorer.filter, scanned.scores)
    rng = rng_for(plan.seed, "next", "candidates")
    sample = extractor.read(pool, candidates_of(scanned, useful, may_be, confidence, rng))
    rows = sample.rows
    return Candidates(pool, scorer, sample, scanned.scores[rows], useful[rows], nearest[rows])


def is_foreign(images: Sequence[Proposal], found: Mapping[str, Candidates]) -> bool:
    """Whether all pools are surely foreign, and no image is an exception."""
    ends = [one.scorer.filter.useful.interval[1] for one in found.values()]
    return max(ends) < FEW_USEFUL and all(one.useful < LEAST_USEFUL for one in images)


def _reason(guesses: tuple[tuple[str, float], ...], n_like: int) -> str:
    """Why the label of an image would help.

    >>> _reason((("cat", 0.5), ("dog", 0.4)), 12), _reason((("cat", 0.9), ("dog", 0.1)), 1)
    ('cat (50 %) or dog (40 %); 12 images are like it', 'unlike the labelled images')
    """
    (first, best), (second, other) = guesses[:2]
    why = "unlike the labelled images"
    if best - other < CLEARLY_FIRST:
        why = f"{first} ({in_percent(best)}) or {second} ({in_percent(other)})"
    return f"{why}; {n_like} images are like it" if n_like > 1 else why


def useful_of(fitted: FittedFilter, scores: Array) -> tuple[Array, Mask]:
    """The chance of each image to be useful, and whether it may be proposed, shape (n,).

    An image also may be if it scores as high as some of the labelled images: if these are no random
    sample of their classes, the useful share is too low.
    """
    fit = fitted.score.fit
    useful = np.interp(scores, *useful_chances(fitted.useful.share, fit))
    is_typical = labelled_share(fit.labelled, scores) >= LEAST_TYPICAL
    return np.maximum(useful, 1e-3), (useful >= LEAST_USEFUL) | is_typical


def not_foreign(labelled: Array, codes: Codes, foreign: Array, features: Array) -> Array:
    """The chance of each image not to be like images that belong to no class, squared, shape (n,).

    By a classifier for which these `foreign` images, shape (f, d), are one more class; 1 if there
    are fewer than two. `codes` are the classes of the labelled images, from 0.
    """
    if len(foreign) < FEWEST_FOREIGN or not len(features):
        return np.ones(len(features))
    n_classes = int(codes.max()) + 1
    every = np.concatenate([codes, np.full(len(foreign), n_classes)])
    problem = head_problem(np.concatenate([labelled, foreign]), every, n_classes + 1)
    chances = problem.labelled.supervised[0].predict_proba(features)
    return np.asarray(np.maximum(1 - chances[:, -1], 1e-3) ** 2)


def candidates_of(
    pool: ScannedPool, useful: Array, may_be: Mask, confidence: Array, rng: np.random.Generator
) -> Rows:
    """The images of a pool that may be proposed, in its order: a `part_by_value`.

    All arrays have shape (n,); `confidence` is the probability of the predicted class.
    """
    rows = np.flatnonzero(pool.is_kept & may_be)
    return rows[part_by_value(useful[rows] * (1 - confidence[rows]), rng)]


def part_by_value(value: Array, rng: np.random.Generator) -> Rows:
    """All images if there are at most MOST_CANDIDATES, else so many random ones, in order.

    Those of a high value, such as useful and uncertain ones, are more probable.
    """
    if len(value) <= MOST_CANDIDATES:
        return np.arange(len(value))
    # The largest of these keys are a random sample with these weights (Efraimidis, 2006).
    keys = np.log(rng.random(len(value))) / (value + 1e-9)
    return np.sort(np.argsort(-keys, kind="stable")[:MOST_CANDIDATES])


def uncertainty(probabilities: Array) -> NDArray[np.float64]:
    """1 - (the largest probability - the second largest) of each row, shape (n,)."""
    best = np.sort(probabilities, axis=1)[:, -2:]
    return np.asarray(1 - (best[:, -1] - best[:, 0]))


def chosen_images(
    features: Array,
    labelled: Array,
    useful: Array,
    probabilities: Array,
    n_chosen: int,
    groups: Codes | None = None,
) -> tuple[Rows, Rows]:
    """The candidates to label, the most valuable first, and how many each stands for.

    One image of each group is chosen before a second one.
    """
    if not len(features):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    roots = signed_roots(features)
    centre = roots.mean(axis=0)
    rows, own = unit_rows(roots, centre), unit_rows(signed_roots(labelled), centre)
    like = np.clip(rows @ rows.T, 0.0, 1.0) ** POWER
    covered = np.clip((rows @ own.T).max(axis=1), 0.0, 1.0) ** POWER
    value = useful * uncertainty(probabilities)
    is_open = np.ones(len(rows), bool)
    groups = np.arange(len(rows)) if groups is None else groups
    n_taken = np.zeros(int(groups.max()) + 1, np.int64)
    chosen: list[int] = []
    while len(chosen) < min(n_chosen, len(rows)):
        gain = useful * (value @ np.maximum(like - covered[:, None], 0.0))
        is_allowed = is_open & (n_taken[groups] == n_taken[groups[is_open]].min())
        best = int(np.where(is_allowed, gain, -1.0).argmax())
        chosen.append(best)
        is_open[best] = False
        covered = np.maximum(covered, like[:, best])
        n_taken[groups[best]] += 1
    nearest = np.argmax(rows @ rows[chosen].T, axis=1)
    return np.array(chosen, np.int64), np.bincount(nearest, minlength=len(chosen))
