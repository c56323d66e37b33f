"""Which view is the best for these labelled images, and how accurate is a head in it?"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for
from mixmood.evidence.accuracy import (
    FEWEST_FOLDS,
    Estimate,
    NestedPlan,
    all_logits,
    difference_interval,
    fit_in_parts,
    held_out_accuracy,
    nested_plan,
    right_by_image,
)
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.view import BackboneView
from mixmood.heads.problem import (
    DEFAULT_PENALTY,
    Head,
    HeadProblem,
    LinearHead,
    LinearHeads,
    directions,
    head_problem,
    work_of,
)
from mixmood.heads.registry import HEADS, head_named
from mixmood.numerics.folds import NEVER, Folds, repeated_folds
from mixmood.numerics.logistic import fit_temperature, log_likelihood

Made = TypeVar("Made")
BASE = "supervised"
MARGIN = 0.02
"""A cheaper view is chosen if its log-likelihood is lower by less than this, in nats an image.

On 64 development tasks with 4, 12 and 30 labels a class, the chosen view had 88.2, 93.1 and 94.7 %
right, the best in hindsight 90.2, 93.7 and 95.3 %. Without a margin more pixels are read for no
accuracy, with 0.05 half a point is lost at 12 labels."""
N_FOLDS = 5
FEW, N_REPEATS = 300, 3  # up to FEW images are divided into folds N_REPEATS times; more once
MOST_PENALTY_WORK = 5_000_000  # 500 images of 20 classes; beyond, the penalty is DEFAULT_PENALTY


class FixedPenalty(Head):
    """The supervised head with the same penalty for every view."""

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The heads of all problems; the pool is not used."""
        return problem.labelled.heads_at(np.full(problem.n_problems, DEFAULT_PENALTY))


@dataclass(frozen=True)
class JudgedView:
    """A candidate, and how the supervised head does with it on held-out images."""

    candidate: BackboneView
    log_likelihood: float  # the mean over images, in nats
    accuracy: Estimate

    def describe(self) -> dict[str, Any]:
        """The entry in a record."""
        return {
            "backbone": self.candidate.backbone,
            **self.candidate.view.describe(),
            "log_likelihood": self.log_likelihood,
            "accuracy": self.accuracy.value,
            "interval": [self.accuracy.low, self.accuracy.high],
        }


@dataclass(frozen=True)
class ViewChoice:
    """The view that is used, what it was compared with, and why it was chosen."""

    chosen: BackboneView
    reason: str
    judged: tuple[JudgedView, ...] = ()  # all views that were compared, the cheapest first
    n_images: int = 0  # how many labelled images they were compared on

    def describe(self) -> dict[str, Any]:
        """The entry `view` of a record."""
        return {
            "backbone": self.chosen.backbone,
            **self.chosen.view.describe(),
            "is_chosen": bool(self.judged),
            "reason": self.reason,
            "n_images": self.n_images,
            "compared": [one.describe() for one in self.judged],
        }


@dataclass(frozen=True, eq=False)
class ViewEvidence:
    """Labelled images in several views, to choose one; InputError if none can be held out."""

    features: Mapping[BackboneView, Array]  # (n, d) by each candidate, the preferred first
    codes: Codes
    contents: Sequence[bytes]  # a digest of each image
    groups: Codes | None = None  # images of one group are held out together
    n_threads: int = 1  # views that are fitted at once

    @cached_property
    def choice(self) -> ViewChoice:
        """The view, from all images."""
        codes = self._codes
        judged = tuple(
            JudgedView(one, _mean(logits, codes), held_out_accuracy(logits, codes, self.groups))
            for one, logits in self.held_out.items()
        )
        values = {one.candidate: one.log_likelihood for one in judged}
        chosen = _first_near_best(values)
        return ViewChoice(chosen, _reason(values, chosen), judged, len(codes))

    @cached_property
    def folds(self) -> Folds:
        """The fold of each image in each repeat, from all contents: no seed changes the view."""
        keys = zip(self.contents, self._codes.tolist(), strict=True)
        order = np.array([row for *_, row in sorted((*key, row) for row, key in enumerate(keys))])
        seed = hashlib.sha256(b"".join(self.contents[row] for row in order.tolist())).hexdigest()
        codes, groups = self._codes[order], None if self.groups is None else self.groups[order]
        n_repeats = N_REPEATS if len(codes) <= FEW else 1
        found = repeated_folds(codes, N_FOLDS, n_repeats, rng_for(0, "view", seed), groups)
        return found[:, np.argsort(order)]

    def nested_logits(self, final: Array) -> Array:
        """Held-out logits of the whole procedure, (repeats, n, k): no fold takes part in a choice.

        `final` are those of the final head in the chosen view, on the same folds. Folds without
        which another view would be chosen are predicted by the supervised head in that view, for a
        pool is only read in the chosen one. With two folds no choice can be made without one.
        """
        if self.folds.max() + 1 < FEWEST_FOLDS:
            return final
        found, plan = final.copy(), self._plan
        logits = self._logits(len(plan.weights), len(plan.weights) + len(plan.pairs))
        for repeat, fold in plan.outer:
            inside = {one: plan.inside(fits, repeat, fold) for one, fits in logits.items()}
            values = {one: _mean(held_out, self._codes) for one, held_out in inside.items()}
            candidate = _first_near_best(values)
            if candidate != self.choice.chosen:
                out = self.folds[repeat] == fold
                found[repeat, out] = self.held_out[candidate][repeat, out]
        return found

    @cached_property
    def held_out(self) -> dict[BackboneView, Array]:
        """Logits of held-out images in every view, shape (repeats, n, k)."""
        logits = self._logits(0, len(self._plan.weights))
        return {one: self._plan.out_of_fold(found) for one, found in logits.items()}

    @cached_property
    def _plan(self) -> NestedPlan:
        return nested_plan(self.folds)

    @cached_property
    def _problems(self) -> dict[BackboneView, HeadProblem]:
        """In every view, the fits without one fold and then those without two, not yet computed."""
        n_classes = int(self._codes.max()) + 1
        weights = np.concatenate([self._plan.weights, self._plan.pairs])
        return self._in_every_view(
            lambda one: head_problem(self.features[one], self._codes, n_classes, weights=weights)
        )

    def _logits(self, first: int, last: int) -> dict[BackboneView, Array]:
        """Logits of all images by the heads of the fits `first` to `last` - 1, in every view."""
        problems = self._problems

        def logits_in(candidate: BackboneView) -> Array:
            features, problem = self.features[candidate], problems[candidate]
            is_large = work_of(features, problem.labelled.n_classes) > MOST_PENALTY_WORK
            head = FixedPenalty() if is_large else HEADS[BASE]
            return fit_in_parts(head, problem.part(first, last), directions(features))[1]

        return self._in_every_view(logits_in)

    def _in_every_view(self, function: Callable[[BackboneView], Made]) -> dict[BackboneView, Made]:
        with ThreadPoolExecutor(self.n_threads) as threads:
            return dict(zip(self.features, threads.map(function, self.features), strict=True))

    @cached_property
    def _codes(self) -> Codes:
        return np.unique(self.codes, return_inverse=True)[1]


@dataclass(frozen=True)
class ChosenView:
    """The backbone in the view that is used, and why."""

    backbone: Backbone
    name: str  # its name as it was given
    choice: ViewChoice
    evidence: ViewEvidence | None = None  # None without a choice, or if made on a sample
    left_out: Mapping[str, str] = field(default_factory=dict)  # not compared, and why

    def describe(self) -> dict[str, Any]:
        """The entry `view` of a record."""
        left_out = {"left_out": dict(self.left_out)} if self.left_out else {}
        return self.choice.describe() | left_out


def _mean(logits: Array, codes: Codes) -> float:
    """The mean log-likelihood of held-out rows; logits of others are NaN."""
    return float(np.nanmean(log_likelihood(logits, codes)))


def _first_near_best(values: Mapping[BackboneView, float]) -> BackboneView:
    """The first candidate that loses less than MARGIN against the best."""
    least = max(values.values()) - MARGIN
    return next(candidate for candidate, value in values.items() if value > least)


def _reason(values: Mapping[BackboneView, float], chosen: BackboneView) -> str:
    best = max(values, key=lambda candidate: values[candidate])
    several = len({candidate.backbone for candidate in values}) > 1
    names = {one: str(one) if several else str(one.view) for one in values}
    if len(values) == 1:
        return f"{names[chosen]} is the only view that was offered."
    if best == chosen:
        return (
            f"{names[chosen]} has the highest log-likelihood of {len(values)} views on held-out "
            "labelled images."
        )
    return (
        f"{names[chosen]} is the cheapest of {len(values)} views that lose less than {MARGIN} nats "
        f"on held-out labelled images against the best, {names[best]}."
    )


MOST_FOLDS_WORK = 2_000_000_000  # if a fit takes more work, nothing is cross-validated


@dataclass(frozen=True)
class TrainedHead:
    """A head, fitted to all labelled rows, and its accuracy on held-out images."""

    name: str
    head: LinearHead  # its temperature is calibrated
    accuracy: Estimate | None  # cross-validated; None if no row could be held out
    gain: Estimate | None  # against the supervised head on the same folds; None without a pool
    logits: Array  # of held-out rows, shape (repeats, n, k); NaN for rows that were never held out
    others: Mapping[str, LinearHead]  # every head that was fitted
    reason: str


def train_head(
    features: Array,
    codes: Codes,
    n_classes: int,
    pool: Array | None,
    rng: np.random.Generator,
    *,
    algorithm: str = BASE,
    useful: Array | None = None,
    groups: Codes | None = None,
    views: ViewEvidence | None = None,
) -> TrainedHead:
    """A head on all labelled rows, with its cross-validated accuracy; all fits are made at once.

    `features`, (n, d), are those of the labelled images, `pool`, (m, d), of the unlabelled ones,
    `useful`, (m,), the chance of each of these to be useful, 1 if None. Rows of one group are held
    out together. `views` are the same rows in all views, if that of `features` was chosen among
    them: its folds are used, and no fold takes part in the choice of the view that judges it.
    """
    n_pool = 0 if pool is None else len(pool)
    uses_pool = head_named(algorithm).uses_pool and n_pool > 0
    folds, why_not = _folds(work_of(features, n_classes), codes, rng, groups)
    folds = folds if views is None or why_not else views.folds
    plan = nested_plan(folds)
    problem = head_problem(features, codes, n_classes, pool, plan.weights, useful)
    names = (BASE, algorithm) if uses_pool and not why_not else (algorithm,)
    heads = {name: HEADS[name] for name in names}
    fitted, logits = all_logits(heads, problem, directions(features), rng)
    outside = {name: plan.out_of_fold(one) for name, one in logits.items()}
    own = outside[algorithm]
    if why_not:
        return TrainedHead(algorithm, fitted[algorithm], None, None, own, fitted, why_not)
    judged = own if views is None else views.nested_logits(own)
    seen = np.isfinite(own).all(axis=(0, 2))
    finals = {
        name: replace(head, temperature=fit_temperature(outside[name][:, seen], codes[seen]))
        for name, head in fitted.items()
    }
    gain = None
    if uses_pool:
        right, before = (right_by_image(outside[name], codes)[seen] for name in (algorithm, BASE))
        gain = difference_interval(right - before, None if groups is None else groups[seen])
    reason = _reason_of_head(algorithm, gain, n_pool)
    accuracy = held_out_accuracy(judged, codes, groups)
    return TrainedHead(algorithm, finals[algorithm], accuracy, gain, judged, finals, reason)


def _folds(
    work: int, codes: Codes, rng: np.random.Generator, groups: Codes | None
) -> tuple[Folds, str]:
    """The folds, and why no row is held out; empty if some are."""
    none = np.full((1, len(codes)), NEVER)
    if work > MOST_FOLDS_WORK:
        return none, "Too many images and classes to cross-validate: the accuracy is unknown."
    try:
        n_repeats = N_REPEATS if len(codes) <= FEW else 1
        return repeated_folds(codes, N_FOLDS, n_repeats, rng, groups), ""
    except InputError:
        why = "No class has two images (groups) to hold one out: accuracy cannot be estimated."
        return none, why


def _reason_of_head(algorithm: str, gain: Estimate | None, n_pool: int) -> str:
    """That the head was asked for, and what the pool changed: it may well do harm."""
    if gain is None:
        lacks = HEADS[algorithm].uses_pool and n_pool == 0
        but = ", but there is no pool image to learn from" if lacks else ""
        return f"{algorithm} was asked for{but}."
    return (
        f"{algorithm} was asked for; on held-out images it differs from supervised by "
        f"{100 * gain.value:+.1f} points ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})."
    )
