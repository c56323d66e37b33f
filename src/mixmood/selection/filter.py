"""The filter itself: from a pool and a fitted scorer to which images are kept, and why."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array, Codes, Mask, Rows
from mixmood.core.errors import OptionError
from mixmood.core.records.filtering import SCHEMA, Filtering
from mixmood.core.text import counted
from mixmood.core.version import __version__
from mixmood.data.images.labels import KEEP, NONE
from mixmood.data.images.pool import Pool
from mixmood.features.backbones.backbone import backbone_entry
from mixmood.features.extract import Extractor
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import labelled_share, typical_threshold
from mixmood.selection.duplicates import originals
from mixmood.selection.plan import FilterPlan, KeepRule
from mixmood.selection.scan import PartFolder, scan_local
from mixmood.selection.scorer import Scorer

REASONS = (
    "",
    "unlike the labelled images",
    "copy of a labelled image",
    "duplicate in the pool",
    "over the count",
    "cannot be read",
    "more of its class than of others",
    "too similar to kept images",
    "labelled",
    "labelled as none of the classes",
)
"""The values of the column `reason`: why an image is not kept; empty if it is."""
KEPT, FOREIGN, COPY_OF_LABELLED, DUPLICATE, OVER_COUNT = range(5)
UNREADABLE, TOO_MANY_OF_CLASS, TOO_SIMILAR, LABELLED, NO_CLASS = range(5, 10)
"""The reasons as indices into REASONS, which arrays hold."""
N_NAMED = 5  # how many unreadable images the record names; the list names them all
CACHED_IMAGES = 50_000  # features of a larger pool would displace everything else in the cache
MOST_DIVERSE = 20_000  # kept images that `diverse` takes: it compares all with all
DIVERSE_SHARE = 0.5  # the share of the kept images that `diverse` keeps


def keep_best(scores: Array, n_kept: int, is_candidate: Mask) -> Mask:
    """The best `n_kept` candidates, or all if there are fewer; of equal scores the lower index."""
    rows = np.flatnonzero(is_candidate)
    is_kept = np.zeros(len(scores), bool)
    is_kept[rows[np.argsort(-scores[rows], kind="stable")[:n_kept]]] = True
    return is_kept


def balanced(scores: Array, classes: Codes, is_kept: Mask, n_classes: int) -> Mask:
    """The best of the kept images of each class, as many as the rarest class that has some."""
    sizes = np.bincount(classes[is_kept], minlength=n_classes)
    chosen, limit = np.zeros(len(scores), bool), int(min(sizes[sizes > 0], default=0))
    for code in range(n_classes):
        chosen |= keep_best(scores, limit, is_kept & (classes == code))
    return chosen


def diverse_order(features: Array, scores: Array, n_chosen: int, strength: float = 0.5) -> Rows:
    """Indices of the chosen images in order: each is typical and differs from those before it.

    Greedy: the next image has the largest (1 - strength) * rank of its score + strength * (1 -
    largest cosine to those chosen), ranks scaled to 0..1 (maximal marginal relevance, Carbonell and
    Goldstein, 1998). Strength, 0 to 1, gives the order of the scores if it is 0. Features have
    shape (n, d), scores (n,); time is n_chosen * n * d.
    """
    n, rows = len(scores), unit_rows(features)
    merit, nearest, is_open = np.empty(n), np.full(n, -1.0), np.ones(n, bool)
    merit[np.argsort(-scores, kind="stable")] = (1 - strength) * np.linspace(1.0, 0.0, n)
    chosen = np.empty(min(n_chosen, n), np.int64)
    for step in range(len(chosen)):
        values = np.where(is_open, merit + strength * (1 - nearest), -np.inf)
        chosen[step] = best = int(values.argmax())
        is_open[best] = False
        nearest = np.maximum(nearest, rows @ rows[best])
    return chosen


@dataclass(frozen=True)
class ScannedPool:
    """The values of all images that a decision needs, about 30 bytes for each image."""

    scores: NDArray[np.float64]  # NaN where an image could not be read, shape (n,)
    classes: NDArray[np.int32]  # predicted ones, -1 without classes, shape (n,)
    reasons: NDArray[np.uint8]  # why an image is not kept, as indices into REASONS, shape (n,)
    problems: tuple[str, ...] = ()  # why the first unreadable images could not be read

    @property
    def is_kept(self) -> Mask:
        """Which images are kept, or may be kept before the decision, shape (n,)."""
        return np.asarray(self.reasons == KEPT)

    @property
    def is_dropped(self) -> Mask:
        """Which images are dropped because of their scores, shape (n,)."""
        return np.isin(self.reasons, (FOREIGN, OVER_COUNT))


def gather_parts(parts: PartFolder) -> ScannedPool:
    """The whole pool from its parts; copies and duplicates are found here."""
    # The hash codes are read first and freed; reading the parts twice saves memory.
    reasons, problems = _reasons_of_parts(parts)
    scores, classes = np.empty(parts.n_images), np.empty(parts.n_images, np.int32)
    for start, part in parts:
        own = slice(start, start + len(part))
        scores[own] = np.where(part.problems == "", part.scores, np.nan)
        classes[own] = part.classes
    return ScannedPool(scores, classes, reasons, tuple(problems))


def _reasons_of_parts(parts: PartFolder) -> tuple[NDArray[np.uint8], list[str]]:
    n_images = parts.n_images
    reasons, codes = np.zeros(n_images, np.uint8), np.empty((n_images, 2), np.uint64)
    problems: list[str] = []
    for start, part in parts:
        own = slice(start, start + len(part))
        codes[own] = part.codes
        reasons[own][part.is_copy] = COPY_OF_LABELLED
        is_unreadable = part.problems != ""
        reasons[own][is_unreadable] = UNREADABLE
        problems += part.problems[is_unreadable][: N_NAMED - len(problems)].tolist()
    # A pool image may be a duplicate of a copy of a labelled image: such copies are compared too.
    repeated, _ = originals(codes, reasons != UNREADABLE)
    reasons[repeated[reasons[repeated] == KEPT]] = DUPLICATE
    return reasons, problems


def decide(
    pool: ScannedPool, rule: KeepRule, auto_threshold: float, n_balanced_classes: int = 0
) -> ScannedPool:
    """The pool with the final reason for each image.

    A share is a share of all images of the pool. Copies are never kept; if the rule is a share or
    a count, the next best images are kept instead. `auto_threshold` is that of `--keep auto`, from
    the fitted filter; 0 classes are not balanced.
    """
    is_limited = rule.share is not None or rule.count is not None
    if is_limited:
        n_kept = rule.count or max(1, round((rule.share or 0.0) * len(pool.scores)))
        is_kept = keep_best(pool.scores, n_kept, pool.is_kept)
    else:
        threshold = auto_threshold if rule.threshold is None else rule.threshold
        is_kept = (pool.scores >= threshold) & pool.is_kept
    # With a share or a count, a useful image may be dropped: its reason is not "unlike".
    is_over = (pool.scores >= auto_threshold) & is_limited
    dropped = np.where(is_over, OVER_COUNT, FOREIGN).astype(np.uint8)
    reasons = np.where(pool.is_kept & ~is_kept, dropped, pool.reasons)
    if n_balanced_classes:
        stays = balanced(pool.scores, pool.classes, is_kept, n_balanced_classes)
        reasons[is_kept & ~stays] = TOO_MANY_OF_CLASS
    return replace(pool, reasons=reasons)


@dataclass(frozen=True)
class FilterJob:
    """A pool, its scorer, and the folder of the scan."""

    pool: Pool
    source: Any  # what it was opened from; workers on other machines open it again
    plan: FilterPlan
    scorer: Scorer
    extractor: Extractor
    parts: PartFolder
    answers: Mapping[int, str] = field(default_factory=dict)  # a person's: a class, NONE or KEEP

    def scanned(self) -> ScannedPool:
        """Scan what is not scanned yet; the pool before the decision."""
        self.parts.begin(self._identity(), resume=self.plan.resume)
        progress = self.extractor.listener
        n_missing = sum(stop - start for start, stop in self.parts.missing())
        progress.start(self.pool.name, n_missing)
        if self.plan.backend == "ray":
            from mixmood.selection.cluster import scan_ray

            scan_ray(self)
        else:
            cache = self.extractor.cache if len(self.pool) <= CACHED_IMAGES else None
            scan_local(self.parts, self.pool, self.scorer, replace(self.extractor, cache=cache))
        progress.finish(self.pool.name)
        pool = gather_parts(self.parts)
        for row, label in self.answers.items():
            if label != KEEP and pool.reasons[row] != UNREADABLE:
                pool.reasons[row] = NO_CLASS if label == NONE else LABELLED
        return pool

    def run(self) -> ScannedPool:
        """Scan what is not scanned yet, then decide."""
        if self.plan.balance and self.scorer.head is None:
            raise OptionError("balance needs classes: give labelled images in class folders.")
        pool, fitted, rule = self.scanned(), self.scorer.filter, self.plan.rule
        if self.plan.typical is not None:
            threshold = typical_threshold(fitted.score.fit.labelled, self.plan.typical)
            rule = KeepRule(threshold=threshold)
        n_classes = len(self.scorer.class_names) if self.plan.balance else 0
        pool = decide(pool, rule, fitted.threshold, n_classes)
        if self.plan.diverse:
            pool = self._diverse(pool)
        wanted = [row for row, label in self.answers.items() if label == KEEP]
        pool.reasons[[row for row in wanted if pool.reasons[row] in (FOREIGN, OVER_COUNT)]] = KEPT
        return pool

    def _identity(self) -> dict[str, Any]:
        """Values that must be the same when an interrupted scan is resumed."""
        state, backbone = hashlib.sha256(), self.extractor.backbone
        state.update(json.dumps(self.scorer.filter.facts).encode())
        for name, values in sorted(self.scorer.filter.arrays.items()):
            state.update(name.encode() + np.ascontiguousarray(values).tobytes())
        return {
            "pool": self.pool.fingerprint,
            "number of images": len(self.pool),
            "backbone": f"{backbone.fingerprint} {backbone.view}" if backbone else "",
            "labelled set or score": state.hexdigest(),
        }

    def _diverse(self, pool: ScannedPool) -> ScannedPool:
        """Keep half of the kept images: typical ones that differ from each other."""
        kept = np.flatnonzero(pool.is_kept)
        if len(kept) > MOST_DIVERSE:
            raise OptionError(
                f"diverse compares all kept images with each other, at most {MOST_DIVERSE}; "
                f"{len(kept)} are kept. Keep fewer with --keep COUNT."
            )
        found = self.extractor.read(self.pool, kept)
        # Each class is halved on its own, so that balanced classes stay balanced.
        groups = pool.classes[found.rows] if self.plan.balance else np.zeros(len(found), np.int32)
        reasons = pool.reasons.copy()
        reasons[kept] = TOO_SIMILAR
        for group in np.unique(groups):
            rows, features = found.rows[groups == group], found.features[groups == group]
            n_chosen = max(1, round(DIVERSE_SHARE * len(rows)))
            order = diverse_order(features, pool.scores[rows], n_chosen, self.plan.diverse)
            reasons[rows[order]] = KEPT
        return replace(pool, reasons=reasons)


def describe(
    job: FilterJob, decided: ScannedPool, labelled: str, warnings: tuple[str, ...] = ()
) -> Filtering:
    """The record of a filtered pool."""
    plan, scorer, is_kept = job.plan, job.scorer, decided.is_kept
    own = scorer.filter.score.fit.labelled
    least = float(decided.scores[is_kept].min()) if is_kept.any() else None
    counts = np.bincount(decided.reasons, minlength=len(REASONS)).tolist()
    classes = None
    if scorer.head is not None:
        sizes = np.bincount(decided.classes[is_kept], minlength=len(scorer.class_names))
        classes = dict(zip(scorer.class_names, sizes.tolist(), strict=True))
    return Filtering(
        schema=SCHEMA,
        mixmood=__version__,
        seed=plan.seed,
        labelled=labelled,
        pool=job.pool.name,
        keep=plan.keep_in_words,
        score=scorer.filter.score.family,
        threshold=least,
        # The share of labelled images whose score reaches the threshold.
        typical=None if least is None else float((own >= least).mean()),
        n_labelled=len(own),
        n_images=len(job.pool),
        n_kept=counts[KEPT],
        n_unreadable=counts[UNREADABLE],
        reasons={REASONS[k]: n for k, n in enumerate(counts) if k and n},
        useful_share=scorer.filter.useful,
        classes=classes,
        probe=None,
        backbone=backbone_entry(job.extractor.backbone),
        warnings=(*warnings, *_notes(decided, own, counts[UNREADABLE])),
    )


def _notes(decided: ScannedPool, labelled: Array, n_unreadable: int) -> Iterator[str]:
    if problems := decided.problems:
        named = "; ".join(problem.rstrip(".") for problem in problems)
        more = "; ..." if n_unreadable > len(problems) else "."
        yield f"{counted(n_unreadable, 'image')} could not be read: {named}{more}"
    if not decided.is_kept.any():
        yield (
            "Nothing was kept: every image of the pool scores too low, or is a copy. Look at the "
            "page before you train, or set --keep yourself."
        )
    elif (labelled_share(labelled, decided.scores[decided.is_kept]) == 0).mean() > 0.5:
        yield (
            "Most kept images are less typical than every labelled image: the pool is mostly "
            "foreign, whatever --keep says."
        )
