"""A ranking read back from its JSON, of this version or an earlier one."""

import json
from dataclasses import fields, replace
from typing import Any, TypeVar

from mixmood.core.errors import InputError
from mixmood.core.records.ranking import (
    SCHEMA,
    Candidate,
    LabelledSet,
    LabelWorth,
    NoiseFloor,
    Probe,
    RankedDissimilarity,
    Ranking,
    Recommendation,
    SetAside,
)
from mixmood.core.records.useful_share import ShareRecord

R = TypeVar("R")


def ranking_from_json(text: str) -> Ranking:
    """The ranking that `to_json` wrote.

    Keys that an earlier version did not write get their defaults; keys that this version does not
    know are ignored, so that a record of a later version with the same schema can be read.
    """
    try:
        record = json.loads(text)
        schema = record["schema"]
        if schema != SCHEMA:
            raise InputError(
                f"The ranking has schema {schema}; this version reads schema {SCHEMA}. "
                "Use the version of mixmood that wrote it, or rank again."
            )
        return _ranking(record)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"The text is not the JSON of a ranking ({error}). Give what `rank --json` wrote."
        ) from error


def _ranking(record: dict[str, Any]) -> Ranking:
    places = _places(record["candidates"])
    return Ranking(
        **_known(Ranking, record)
        | {
            "labelled": LabelledSet(**_known(LabelledSet, record["labelled"])),
            "candidates": tuple(
                _candidate(one, place, record["measure"])
                for one, place in zip(record["candidates"], places, strict=True)
            ),
            "noise_floor": {
                name: NoiseFloor(**_known(NoiseFloor, floor))
                for name, floor in record["noise_floor"].items()
            },
            "recommendation": _maybe(Recommendation, record.get("recommendation")),
            "warnings": tuple(record["warnings"]),
            "notes": tuple(record.get("notes", ())),
            "set_aside": tuple(
                SetAside(**_known(SetAside, one)) for one in record.get("set_aside", ())
            ),
        }
    )


def _candidate(record: dict[str, Any], places: dict[str, int], ranked_by: str) -> Candidate:
    measures = {}
    for name, result in record["measures"].items():
        own = record if name == ranked_by else {"p_best": None, "rank_interval": None}
        old = {key: own[key] for key in ("p_best", "rank_interval")} | {"rank": places[name]}
        measures[name] = RankedDissimilarity(**_known(RankedDissimilarity, old | result))
    probe = _maybe(Probe, record.get("probe"))
    if probe is not None:
        probe = replace(probe, worth=_maybe(LabelWorth, record["probe"].get("worth")))
    found = {
        "measures": measures,
        "useful_share": _maybe(ShareRecord, record.get("useful_share")),
        "probe": probe,
    }
    return Candidate(**_known(Candidate, record) | found)


def _maybe(kind: type[R], record: dict[str, Any] | None) -> R | None:
    """A part of the record that may be null."""
    return None if record is None else kind(**_known(kind, record))


def _places(candidates: list[dict[str, Any]]) -> list[dict[str, int]]:
    """The rank of each pool by every measure, which earlier versions did not write."""
    found: list[dict[str, int]] = [{} for _ in candidates]
    for name in candidates[0]["measures"]:
        distances = [
            (one["measures"][name]["distance"], one["rank"], place)
            for place, one in enumerate(candidates)
        ]
        for place, (_, _, k) in enumerate(sorted(distances), start=1):
            found[k][name] = place
    return found


def _known(kind: type, record: dict[str, Any]) -> dict[str, Any]:
    """The entries that a record type has fields for, lists as tuples."""
    names = {one.name for one in fields(kind)}
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in record.items()
        if key in names
    }
