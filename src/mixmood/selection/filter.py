"""The filter itself: from a pool and a fitted scorer to a decision for each image."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import OptionError
from mixmood.core.records.filtering import SCHEMA, Filtering
from mixmood.core.records.ranking import ShareRecord
from mixmood.core.text import counted
from mixmood.core.version import __version__
from mixmood.data.images.labels import KEEP, NONE
from mixmood.data.images.pool import Pool
from mixmood.features.backbones.backbone import backbone_entry
from mixmood.features.extract import Extractor
from mixmood.scores.fitting import labelled_share, typical_threshold
from mixmood.selection.decide import (
    FOREIGN,
    KEPT,
    LABELLED,
    NO_CLASS,
    OVER_COUNT,
    REASONS,
    TOO_SIMILAR,
    UNREADABLE,
    KeepRule,
    ScannedPool,
    decide,
    diverse_order,
    gather_parts,
)
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import PartFolder, Scan, scan_local
from mixmood.selection.scorer import Scorer

CACHED_IMAGES = 50_000
"""Features of a larger pool are not cached: they would displace everything else in the cache."""
MOST_DIVERSE = 20_000
"""The largest number of kept images that `diverse` takes: it compares all with all."""
DIVERSE_SHARE = 0.5
"""The share of the kept images that `diverse` keeps."""


@dataclass(frozen=True)
class Decision:
    """The scores of all images of a pool, and the reason for each as an index into REASONS."""

    scanned: ScannedPool
    reasons: NDArray[np.uint8]

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which images are kept, shape (n,)."""
        return np.asarray(self.reasons == 0)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of every image, NaN where it could not be read, shape (n,)."""
        is_unreadable = self.scanned.reasons == UNREADABLE
        return np.where(is_unreadable, np.nan, self.scanned.scores)


@dataclass(frozen=True)
class FilterJob:
    """A pool, its scorer, and the folder of the scan.

    The pool was opened from `source`; workers on other machines open it again.
    """

    pool: Pool
    source: Any
    plan: FilterPlan
    scorer: Scorer
    extractor: Extractor
    parts: PartFolder
    answers: Mapping[int, str] = field(default_factory=dict)
    """What a person said about images: a class, NONE or KEEP by their index."""

    def run(self) -> Decision:
        """Scan what is not scanned yet, then decide."""
        if self.plan.balance and self.scorer.head is None:
            raise OptionError("balance needs classes: give labelled images in class folders.")
        self.parts.begin(self._identity(), resume=self.plan.resume)
        self._scan()
        scanned = gather_parts(self.parts)
        for row, label in self.answers.items():
            if label != KEEP and scanned.reasons[row] != UNREADABLE:
                scanned.reasons[row] = NO_CLASS if label == NONE else LABELLED
        n_classes = len(self.scorer.class_names) if self.plan.balance else 0
        fitted, rule = self.scorer.filter, self.plan.rule
        if self.plan.typical is not None:
            labelled = fitted.score.fit.labelled
            rule = KeepRule(threshold=typical_threshold(labelled, self.plan.typical))
        reasons = decide(scanned, rule, fitted.threshold, n_classes)
        if self.plan.diverse:
            reasons = self._diverse(scanned, reasons)
        wanted = [row for row, label in self.answers.items() if label == KEEP]
        reasons[[row for row in wanted if reasons[row] in (FOREIGN, OVER_COUNT)]] = KEPT
        return Decision(scanned, reasons)

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

    def _scan(self) -> None:
        missing, progress = self.parts.missing(), self.extractor.listener
        progress.start(self.pool.name, sum(stop - start for start, stop in missing))
        keeps = len(self.pool) <= CACHED_IMAGES
        cache = self.extractor.cache if keeps else None
        scan = Scan(self.pool, self.scorer, self.extractor.backbone, self.extractor.jobs, cache)
        if self.plan.backend == "ray":
            from mixmood.selection.cluster import SharedPool, scan_ray

            seed, frames = self.plan.seed, self.plan.frames
            shared = SharedPool(self.source, self.pool.fingerprint, seed, frames)
            scan_ray(scan, shared, missing, self.parts.folder, progress)
        else:
            scan_local(scan, missing, self.parts.folder, progress)
        progress.finish(self.pool.name)

    def _diverse(self, scanned: ScannedPool, reasons: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Keep half of the kept images: typical ones that differ from each other."""
        kept = np.flatnonzero(reasons == 0)
        if len(kept) > MOST_DIVERSE:
            raise OptionError(
                f"diverse compares all kept images with each other, at most {MOST_DIVERSE}; "
                f"{len(kept)} are kept. Keep fewer with --keep COUNT."
            )
        found = self.extractor.read(self.pool, kept)
        features, rows = found.features, found.rows
        # Each class is halved on its own, so that balanced classes stay balanced.
        groups = scanned.classes[rows] if self.plan.balance else np.zeros(len(rows), np.int32)
        chosen = reasons.copy()
        chosen[kept] = TOO_SIMILAR
        for group in np.unique(groups):
            inside = np.flatnonzero(groups == group)
            n_chosen = max(1, round(DIVERSE_SHARE * len(inside)))
            scores = scanned.scores[rows[inside]]
            order = diverse_order(features[inside], scores, n_chosen, self.plan.diverse)
            chosen[rows[inside[order]]] = 0
        return chosen


def describe(
    job: FilterJob, decision: Decision, labelled: str, warnings: tuple[str, ...] = ()
) -> Filtering:
    """The record of a filtered pool."""
    plan, scorer, is_kept = job.plan, job.scorer, decision.is_kept
    useful = scorer.filter.useful
    least = float(decision.scanned.scores[is_kept].min()) if is_kept.any() else None
    counts = np.bincount(decision.reasons, minlength=len(REASONS)).tolist()
    own = scorer.filter.score.fit.labelled
    classes = None
    if scorer.head is not None:
        codes = decision.scanned.classes[is_kept]
        sizes = np.bincount(codes, minlength=len(scorer.class_names)).tolist()
        classes = dict(zip(scorer.class_names, sizes, strict=True))
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
        n_kept=int(is_kept.sum()),
        n_unreadable=counts[UNREADABLE],
        reasons={REASONS[k]: n for k, n in enumerate(counts) if k and n},
        useful_share=ShareRecord(useful.share, useful.interval, useful.is_trustworthy, useful.note),
        classes=classes,
        probe=None,
        backbone=backbone_entry(job.extractor.backbone),
        warnings=(*warnings, *_notes(decision, scorer)),
    )


def _notes(decision: Decision, scorer: Scorer) -> list[str]:
    found = []
    if decision.scanned.problems:
        n_unreadable = int((decision.reasons == UNREADABLE).sum())
        named = "; ".join(problem.rstrip(".") for problem in decision.scanned.problems)
        more = "; ..." if n_unreadable > len(decision.scanned.problems) else "."
        found.append(f"{counted(n_unreadable, 'image')} could not be read: {named}{more}")
    if not decision.is_kept.any():
        return [
            *found,
            "Nothing was kept: every image of the pool scores too low, or is a copy. Look at the "
            "page before you train, or set --keep yourself.",
        ]
    scores = decision.scanned.scores[decision.is_kept]
    typical = labelled_share(scorer.filter.score.fit.labelled, scores)
    if (typical == 0).mean() > 0.5:
        found.append(
            "Most kept images are less typical than every labelled image: the pool is mostly "
            "foreign, whatever --keep says."
        )
    return found
