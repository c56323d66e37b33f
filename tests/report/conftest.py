"""A small ranking whose every name is hostile, and its pictures."""

import pytest

from mixmood.core.extras import Extras, Tile, View
from mixmood.core.records import Candidate, Dissimilarity, LabelledSet, NoiseFloor, Ranking

EVIL = "<script>alert(1)</script>"
BREAKOUT = '"></svg></script><img src=x onerror=alert(2)>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


def dissimilarity(distance, p_value):
    intra = (10.0, 10.5, 11.0, 10.2)
    return Dissimilarity(
        distance=distance,
        spread=0.4,
        signed=distance,
        p_wilcoxon=0.125,
        p_permutation=p_value,
        p_holm=min(3 * p_value, 1.0),
        interval=(max(distance - 1.0, 0.0), distance + 1.0),
        inter=tuple(value + distance for value in intra),
        intra=intra,
    )


def candidate(rank, name, distances, p_best, warnings=()):
    return Candidate(
        rank=rank,
        name=name,
        n_images=12_000,
        n_unreadable=len(warnings),
        n_read=160,
        fingerprint="ab" * 32,
        measures={
            measure: dissimilarity(distance, 0.5 / rank) for measure, distance in distances.items()
        },
        p_best=p_best,
        rank_interval=(1, 2) if rank < 3 else (3, 3),
        warnings=warnings,
    )


@pytest.fixture(scope="session")
def ranking():
    return Ranking(
        schema=1,
        mixmood="0.1.0",
        seed=7,
        backbone={"name": "efficientnet-lite0", "weights_sha256": "cd" * 32, "resolution": 96},
        sample_size=40,
        draws=4,
        paper=False,
        labelled=LabelledSet("my & labels", 100, 0, 100, "ef" * 32, {"cat": 60, "<b>dog</b>": 40}),
        measure="cosine",
        candidates=(
            candidate(1, "clinic", {"cosine": 0.8, "l2": 3.0}, 0.9),
            candidate(
                2, EVIL, {"cosine": 2.5, "l2": 1.0}, 0.1, ("1 file: <i>a.png</i> is broken",)
            ),
            candidate(3, BREAKOUT, {"cosine": 40.0, "l2": 5.0}, 0.0),
        ),
        best="clinic",
        verdict=f"clinic is the nearest pool (P = 0.90); {EVIL} cannot be told from it.",
        noise_floor={
            "cosine": NoiseFloor(0.7, 0.3, 1.5, 33),
            "l2": NoiseFloor(0.5, 0.2, 0.9, 33),
        },
        warnings=("The sample size is 40 instead of 80.",),
    )


def view(name, shift, is_labelled=False):
    tiles = tuple(Tile(f"{name}[{i}]", PIXEL, None if is_labelled else 1.5 + i) for i in range(10))
    return View(
        tiles=tiles,
        points=tuple((shift + 0.2 * i, 0.3 * (i % 4)) for i in range(10)),
        nearest=() if is_labelled else tiles[:8],
        farthest=() if is_labelled else tiles[2:],
        coverage=(0.6, 0.4) if is_labelled else (1.0, 0.0) if shift > 5 else (0.5, 0.5),
        warnings=("images in grey.",) if shift > 5 else (),
    )


@pytest.fixture(scope="session")
def extras(ranking):
    pools = {c.name: view(c.name, 3.0 * c.rank) for c in ranking.candidates}
    return Extras(
        labelled=view(ranking.labelled.name, 0.0, is_labelled=True),
        pools=pools,
        variance=(0.31, 0.12),
        classes=("cat", "<b>dog</b>"),
        versions={"numpy": "2.4.6"},
    )
