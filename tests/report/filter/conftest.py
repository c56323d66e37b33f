"""A small filter whose names are hostile, and the pictures of its page."""

import pytest
from tests.fixtures.hostile_names import BREAKOUT, EVIL, PIXEL

from mixmood.core.records.filtering import (
    Filtering,
    FilterMaterial,
    GainChange,
    GainInterval,
    Gallery,
    ScoreHistogram,
)
from mixmood.core.records.ranking import ShareRecord, Tile
from mixmood.features.backbones.onnx_network import InputFormat


@pytest.fixture(scope="session")
def filtering():
    return Filtering(
        schema=1,
        mixmood="0.1.0",
        seed=7,
        labelled="my & labels",
        pool=EVIL,
        keep="auto",
        score="combined",
        threshold=0.4,
        typical=0.93,
        n_labelled=60,
        n_images=4000,
        n_kept=1200,
        n_unreadable=3,
        reasons={"unlike the labelled images": 2797, "cannot be read": 3},
        useful_share=ShareRecord(0.3, (0.22, 0.41), False, "Near foreign classes <b>hide</b>."),
        classes={"cat": 900, BREAKOUT: 300},
        probe=GainChange(
            "mixmatch",
            GainInterval(-1.5, (-4.0, 1.0), 0.1, "avoid"),
            GainInterval(3.25, (0.5, 6.0), 0.97, "use"),
        ),
        answer="Use the <b>kept</b> images: +3.2 points expected.",
        next="mixmood train '<i>labels</i>' kept.csv --out run-kept",
        backbone={
            "name": "efficientnet-lite0",
            "weights_sha256": "cd" * 32,
            "resolution": 96,
            "input": InputFormat("nhwc").describe(),
        },
        warnings=("<u>Odd</u> pool.",),
    )


@pytest.fixture(scope="session")
def filter_material():
    def row(name, *is_kept):
        return tuple(
            Tile(f"{name}/{i}.png", PIXEL if i else None, None, 1.0 - i, kept)
            for i, kept in enumerate(is_kept)
        )

    galleries = tuple(
        Gallery(
            name=name,
            n_kept=900,
            n_dropped=1400,
            labelled=(Tile(f"{name}/own.png", PIXEL),),
            kept=row(name, True, True),
            borderline=row(name, True, False),
            dropped=row(name, False, False),
        )
        for name in ("cat", BREAKOUT)
    )
    histogram = ScoreHistogram(-2.0, 2.0, (0, 1, 9, 50), (2000, 800, 900, 297), (0, 0, 900, 297))
    return FilterMaterial(histogram, galleries, 1)
