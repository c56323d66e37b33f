"""Useful share and probe of a run's pool, as `mixmood rank` computes them."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mixmood.core.arrays import Array, Codes
from mixmood.core.errors import InputError
from mixmood.core.seeds import rng_for

if TYPE_CHECKING:
    from mixmood.evidence.gain import LabelledFolds

Values = dict[str, Any]


@dataclass(frozen=True)
class RunOutlook:
    """Computes useful share and probe of pools for the labelled images of a run.

    Attributes:
        labelled: Features, shape (n, d).
        codes: Their classes, shape (n,).
        n_classes: How many classes there are.
        seed: The seed of the run.
    """

    labelled: Array
    codes: Codes
    n_classes: int
    seed: int

    @cached_property
    def folds(self) -> "LabelledFolds | None":
        """Predictions of the supervised head for held-out images; None if none can be held out."""
        from mixmood.evidence.gain import labelled_folds

        rng = rng_for(self.seed, "folds")
        try:
            return labelled_folds(self.labelled, self.codes, self.n_classes, rng)
        except InputError:
            return None

    def share(self, pool: Array) -> Values | None:
        """The useful share of a pool, from its first images; the pool must be in random order."""
        from mixmood.evidence.share import useful_share
        from mixmood.ranking.probing import N_POOL

        rng = rng_for(self.seed, "share", "pool")
        try:
            found = useful_share(self.labelled, pool[:N_POOL], rng, labels=self.codes)
        except InputError:
            return None
        return {
            "share": found.share,
            "interval": list(found.interval),
            "is_trustworthy": found.is_trustworthy,
        }

    def probe(self, pool: Array, algorithm: str, share: Values | None) -> Values | None:
        """The values that the probe measures and the gain that it expects, for this algorithm.

        The measured values are recorded too, so that another map from them to the gain can be
        applied to records.
        """
        from mixmood.evidence.gain import gain_of, pool_effect

        if self.folds is None:
            return None
        effect = pool_effect(self.folds, pool, algorithm, rng_for(self.seed, "probe", "pool"))
        useful = None if share is None else share["share"]
        gain = gain_of(effect, useful, self.folds.accuracy, algorithm)
        named = {"change": "p_right", "error": "error", "unrest": "unrest", "accuracy": "accuracy"}
        measured = {word: getattr(effect, name) for word, name in named.items()}
        return {
            "algorithm": algorithm,
            **measured,
            "supervised": 100 * self.folds.accuracy,
            "is_learnable": self.folds.is_learnable,
            "gain": gain.points,
            "interval": list(gain.interval),
            "p_helps": gain.p_helps,
        }


def probed_algorithm(algorithm: str) -> str:
    """The algorithm that is probed for a run: its own, or else the default of `mixmood rank`."""
    from mixmood.ranking.plan import PROBE_ALGORITHMS

    return algorithm if algorithm in PROBE_ALGORITHMS else PROBE_ALGORITHMS[0]
