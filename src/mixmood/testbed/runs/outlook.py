"""Useful share and probe of a run's pool, as records of the test bed hold them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixmood.evidence.labelled import JudgedPart, LabelledEvidence

Values = dict[str, Any]


def share_values(part: "JudgedPart") -> Values | None:
    """The useful share of a pool in plain values."""
    if part.share is None:
        return None
    return {
        "share": part.share.share,
        "interval": list(part.share.interval),
        "is_trustworthy": part.share.is_trustworthy,
    }


def probe_values(evidence: "LabelledEvidence", part: "JudgedPart", algorithm: str) -> Values | None:
    """The values that the probe measures and the gain that it expects; None if it cannot.

    The measured values are recorded too, so that another map from them to the gain can be
    applied to records.
    """
    if evidence.why_no_gain:
        return None
    effect = evidence.effect(part, algorithm)
    probe = evidence.probe(part, algorithm, effect)
    return {
        "algorithm": algorithm,
        "change": effect.p_right,
        "error": effect.error,
        "unrest": effect.unrest,
        "accuracy": effect.accuracy,
        "supervised": probe.accuracy,
        "is_learnable": probe.is_learnable,
        "gain": probe.gain,
        "interval": list(probe.interval),
        "p_helps": probe.p_helps,
    }


def probed_algorithm(algorithm: str) -> str:
    """The algorithm that is probed for a run: its own, or else the default of `mixmood rank`."""
    from mixmood.core.options import PROBE_ALGORITHMS

    return algorithm if algorithm in PROBE_ALGORITHMS else PROBE_ALGORITHMS[0]
