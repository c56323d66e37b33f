"""A small ranking whose names are hostile, and the pictures of its page."""

import os
from pathlib import Path

import pytest
from tests.fixtures.hostile_names import BREAKOUT, EVIL, PIXEL

from mixmood.core.records.ranking import (
    Candidate,
    LabelledSet,
    NoiseFloor,
    PageMaterial,
    RankedDissimilarity,
    Ranking,
    SetAside,
    SetPictures,
    Tile,
)
from mixmood.features.backbones.onnx_network import InputFormat
from mixmood.report import page as render

NORMALISED = InputFormat("nchw", "float32", 1.0, (0.5, 0.4, 0.3), (0.2, 0.2, 0.2))


def dissimilarity(distance, p_value, rank, p_best):
    intra = (10.0, 10.5, 11.0, 10.2)
    return RankedDissimilarity(
        distance=distance,
        spread=0.4,
        signed=distance,
        p_wilcoxon=0.125,
        p_permutation=p_value,
        p_holm=min(3 * p_value, 1.0),
        interval=(max(distance - 1.0, 0.0), distance + 1.0),
        inter=tuple(value + distance for value in intra),
        intra=intra,
        rank=rank,
        p_best=p_best,
        rank_interval=(1, 2) if rank < 3 else (3, 3),
    )


def candidate(rank, name, distances, p_best, warnings=(), l2_rank=None):
    return Candidate(
        rank=rank,
        name=name,
        n_images=12_000,
        n_unreadable=len(warnings),
        n_read=160,
        fingerprint="ab" * 32,
        measures={
            measure: dissimilarity(
                distance, 0.5 / rank, l2_rank if measure == "l2" else rank, p_best
            )
            for measure, distance in distances.items()
        },
        p_best=p_best,
        rank_interval=(1, 2) if rank < 3 else (3, 3),
        warnings=warnings,
        n_distinct=160,
        classes={"cat": 1.0, "<b>dog</b>": 0.0} if rank > 1 else {"cat": 0.5, "<b>dog</b>": 0.5},
    )


@pytest.fixture(scope="session")
def ranking():
    return Ranking(
        schema=1,
        mixmood="0.1.0",
        seed=7,
        backbone={
            "name": "net.onnx",
            "weights_sha256": "cd" * 32,
            "resolution": 96,
            "width": 1280,
            "preprocessing": "pillow-bilinear-square",
            "input": NORMALISED.describe(),
            "device": "cpu",
        },
        sample_size=40,
        draws=4,
        paper=False,
        labelled=LabelledSet("my & labels", 100, 0, 100, "ef" * 32, {"cat": 60, "<b>dog</b>": 40}),
        measure="cosine",
        candidates=(
            candidate(1, "clinic", {"cosine": 0.8, "l2": 3.0}, 0.9, l2_rank=2),
            candidate(
                2,
                EVIL,
                {"cosine": 2.5, "l2": 1.0},
                0.1,
                ("1 file: <i>a.png</i> is broken",),
                l2_rank=1,
            ),
            candidate(3, BREAKOUT, {"cosine": 40.0, "l2": 5.0}, 0.0, l2_rank=3),
        ),
        best="clinic",
        verdict=f"clinic is the nearest pool (P = 0.90); {EVIL} may be as near.",
        noise_floor={
            "cosine": NoiseFloor(0.7, 0.3, 1.5, 33),
            "l2": NoiseFloor(0.5, 0.2, 0.9, 33),
        },
        warnings=("<u>labelled</u>: 1 image is broken.",),
        notes=("The sample size is 40 instead of <b>80</b>.",),
        set_aside=(SetAside("<i>tiny</i>", "it holds only <b>3</b> readable images."),),
    )


def view(name, shift, is_labelled=False):
    tiles = tuple(Tile(f"{name}[{i}]", PIXEL, None if is_labelled else 1.5 + i) for i in range(10))
    return SetPictures(
        tiles=tiles,
        points=tuple((shift + 0.2 * i, 0.3 * (i % 4)) for i in range(10)),
        nearest=() if is_labelled else tiles[:8],
        farthest=() if is_labelled else tiles[2:],
        warnings=("images in grey.",) if shift > 5 else (),
    )


@pytest.fixture(scope="session")
def material(ranking):
    pools = {c.name: view(c.name, 3.0 * c.rank) for c in ranking.candidates}
    return PageMaterial(
        labelled=view(ranking.labelled.name, 0.0, is_labelled=True),
        pools=pools,
        variance=(0.31, 0.12),
        versions={"numpy": "2.4.6"},
    )


@pytest.fixture
def assert_golden(monkeypatch):
    """Asserts that a page is the golden one from its heading on.

    Style and script are left out; MIXMOOD_WRITE_GOLDEN=1 writes the file anew.
    """
    monkeypatch.setattr(render, "_asset", lambda name: f"/* {name} */")

    def check(name, draw, *values):
        text = draw(*values)
        text = text[text.index('<header class="top">') :]
        path = Path(__file__).parent / "golden" / f"{name}.html"
        if os.environ.get("MIXMOOD_WRITE_GOLDEN"):
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8")

    return check
