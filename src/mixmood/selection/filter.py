"""The filter itself: from a pool and a fitted scorer to a decision for each image."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mixmood.core.arrays import Array
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
from mixmood.selection import decide as decisions
from mixmood.selection.decide import FOREIGN, KEPT, OVER_COUNT, REASONS, UNREADABLE, ScannedPool
from mixmood.selection.plan import FilterPlan
from mixmood.selection.scan import PartFolder, scan_local
from mixmood.selection.scorer import Scorer

CACHED_IMAGES = 50_000
"""Features of a larger pool are not cached: they would displace everything else in the cache."""
MOST_DIVERSE = 20_000
"""The largest number of kept images that `diverse` takes: it compares all with all."""
DIVERSE_SHARE = 0.5
"""The share of the kept images that `diverse` keeps."""


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

    def scanned(self) -> ScannedPool:
        """Scan what is not scanned yet; the pool before the decision."""
        self.parts.begin(self._identity(), resume=self.plan.resume)
        self._scan()
        pool = decisions.gather_parts(self.parts)
        for row, label in self.answers.items():
            if label != KEEP and pool.reasons[row] != UNREADABLE:
                is_none = label == NONE
                pool.reasons[row] = decisions.NO_CLASS if is_none else decisions.LABELLED
        return pool

    def run(self) -> ScannedPool:
        """Scan what is not scanned yet, then decide."""
        if self.plan.balance and self.scorer.head is None:
            raise OptionError("balance needs classes: give labelled images in class folders.")
        pool, fitted, rule = self.scanned(), self.scorer.filter, self.plan.rule
        if self.plan.typical is not None:
            threshold = typical_threshold(fitted.score.fit.labelled, self.plan.typical)
            rule = decisions.KeepRule(threshold=threshold)
        n_classes = len(self.scorer.class_names) if self.plan.balance else 0
        pool = decisions.decide(pool, rule, fitted.threshold, n_classes)
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

    def _scan(self) -> None:
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
        reasons[kept] = decisions.TOO_SIMILAR
        for group in np.unique(groups):
            rows, features = found.rows[groups == group], found.features[groups == group]
            n_chosen = max(1, round(DIVERSE_SHARE * len(rows)))
            order = decisions.diverse_order(
                features, pool.scores[rows], n_chosen, self.plan.diverse
            )
            reasons[rows[order]] = KEPT
        return replace(pool, reasons=reasons)


def describe(
    job: FilterJob, decided: ScannedPool, labelled: str, warnings: tuple[str, ...] = ()
) -> Filtering:
    """The record of a filtered pool."""
    plan, scorer, is_kept = job.plan, job.scorer, decided.is_kept
    useful, own = scorer.filter.useful, scorer.filter.score.fit.labelled
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
        useful_share=ShareRecord(useful.share, useful.interval, useful.is_trustworthy, useful.note),
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
