"""What to type after a ranking."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mixmood.core.records.ranking import Ranking


def with_command(record: Ranking, labelled: Any, given: Mapping[str, Any]) -> Ranking:
    """The record with the command that follows its advice, if all sets in it are paths.

    Args:
        record: A ranking.
        labelled: What was given as the labelled set.
        given: What was given for each pool.
    """
    advised = record.recommendation
    if advised is None or len(advised.pools) > 1:
        return record  # no command trains with two pools
    if not all(map(_is_path, (labelled, *(given[name] for name in advised.pools)))):
        return record
    command = _command(record, str(labelled), [str(given[name]) for name in advised.pools])
    return replace(record, recommendation=replace(advised, command=command))


def _command(record: Ranking, labelled: str, pools: list[str]) -> str:
    words = {candidate.name: candidate.advice for candidate in record.candidates}
    advised = record.recommendation.pools if record.recommendation else ()
    if advised and words[advised[0]] == "filter":
        return shlex.join(["mixmood", "filter", labelled, pools[0], "--out", "kept.csv"])
    command = ["mixmood", "train", "--labelled", labelled]
    command += ["--unlabelled", pools[0]] if pools else ["--algorithm", "supervised"]
    return shlex.join([*command, "--out", "run"])


def _is_path(what: Any) -> bool:
    return isinstance(what, str | os.PathLike)
