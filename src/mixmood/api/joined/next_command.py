"""The command that follows the advice of a ranking."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mixmood.core.records.ranking import Ranking
from mixmood.data.images.names import with_frames_option
from mixmood.ranking.plan import RankingPlan
from mixmood.selection.plan import FilterPlan
from mixmood.ssl.plan import TrainingPlan

FEWEST_CLASSES = 2
"""A classifier needs at least so many classes."""
CARRIED = ("backbone", "resolution", "frames", "groups", "seed")
"""Options of the ranking that are repeated in the next command, if it has them."""


def with_command(
    record: Ranking, labelled: Any, given: Mapping[str, Any], plan: RankingPlan
) -> Ranking:
    """The record with the command that follows its advice, if all sets of the command are paths.

    Args:
        record: A ranking.
        labelled: The labelled set as the user gave it.
        given: Each pool as the user gave it.
        plan: The options of the ranking; those that differ from the defaults are repeated.
    """
    advised = record.recommendation
    if advised is None or len(advised.pools) > 1:
        return record  # No command trains with two pools.
    if not all(map(_is_path, (labelled, *(given[name] for name in advised.pools)))):
        return record
    words = _words(record, str(labelled), [str(given[name]) for name in advised.pools], plan)
    if words is None:
        return record
    return replace(record, recommendation=replace(advised, command=shlex.join(words)))


def _words(record: Ranking, labelled: str, pools: list[str], plan: RankingPlan) -> list[str] | None:
    """The words of the command; None if the labelled set has too few classes to train with."""
    advice = {candidate.name: candidate.advice for candidate in record.candidates}
    advised = record.recommendation.pools if record.recommendation else ()
    if advised and advice[advised[0]] == "filter":
        options = _carried(plan, FilterPlan)
        out = f"kept-{_slug(advised[0])}.csv"
        return ["mixmood", "filter", labelled, pools[0], "--out", out, *options]
    if len(record.labelled.classes or {}) < FEWEST_CLASSES:
        return None
    # `train` has no option for frames: the paths say it.
    labelled, *pools = (with_frames_option(path, plan.frames) for path in (labelled, *pools))
    how = ["--unlabelled", pools[0]] if pools else []
    algorithm = plan.probe_algorithm if pools else "supervised"
    # One folder for each pool: `train` refuses a folder that holds a run.
    out = f"run-{_slug(advised[0]) if pools else 'supervised'}"
    words = ["mixmood", "train", "--labelled", labelled, *how, "--algorithm", algorithm]
    return [*words, "--out", out, *_carried(plan, TrainingPlan)]


def _carried(plan: RankingPlan, other: type) -> list[str]:
    """The options of the ranking that the other command needs to treat images in the same way."""
    names = {one.name for one in fields(other)}
    words = []
    for one in fields(plan):
        value = getattr(plan, one.name)
        if one.name in CARRIED and one.name in names and value != one.default:
            words += [f"--{one.name}", str(value)]
    return words


def _slug(name: str) -> str:
    """A pool's name as a part of a file's name.

    >>> _slug("more digits 0-4"), _slug("../..")
    ('more-digits-0-4', 'pool')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "pool"


def _is_path(what: Any) -> bool:
    return isinstance(what, str | os.PathLike)
