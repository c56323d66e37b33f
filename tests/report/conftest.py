"""A small ranking, filter and test bed whose names are hostile, and a browser to look at them."""

import shutil
import tempfile

import pytest

from mixmood.core.records.filter_material import (
    FilterMaterial,
    Gallery,
    ScoredTile,
    ScoreHistogram,
)
from mixmood.core.records.filtering import (
    DistanceChange,
    DistanceInterval,
    Filtering,
    GainChange,
    GainInterval,
)
from mixmood.core.records.page_material import PageMaterial, SetPictures, Tile
from mixmood.core.records.ranking import (
    Candidate,
    LabelledSet,
    NoiseFloor,
    RankedDissimilarity,
    Ranking,
    SetAside,
)
from mixmood.core.records.useful_share import ShareRecord
from mixmood.testbed.analysis.overview import FailureCount, Overview
from mixmood.testbed.analysis.statistics.agreement import AgreementRow
from mixmood.testbed.analysis.statistics.chance import Chance
from mixmood.testbed.analysis.statistics.extremes import Extremes
from mixmood.testbed.analysis.statistics.groups import GroupKey
from mixmood.testbed.analysis.statistics.line import GroupLine
from mixmood.testbed.analysis.statistics.overall import OverallRow
from mixmood.testbed.analysis.summary import AccuracyRow, DistanceRow, Gaps
from mixmood.testbed.analysis.tables import Tables
from mixmood.testbed.grid.cells import Cell

EVIL = "<script>alert(1)</script>"
BREAKOUT = '"></svg></script><img src=x onerror=alert(2)>'
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


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
        backbone={"name": "efficientnet-lite0", "weights_sha256": "cd" * 32, "resolution": 96},
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
        distance=DistanceChange(
            "cosine", 30, DistanceInterval(4.5, (3.9, 5.1)), DistanceInterval(1.25, (0.8, 1.7))
        ),
        probe=GainChange(
            "mixmatch", GainInterval(-1.5, (-4.0, 1.0), 0.1), GainInterval(3.25, (0.5, 6.0), 0.97)
        ),
        backbone={"name": "efficientnet-lite0", "weights_sha256": "cd" * 32, "resolution": 96},
        warnings=("<u>Odd</u> pool.",),
    )


@pytest.fixture(scope="session")
def filter_material():
    def row(name, *is_kept):
        return tuple(
            ScoredTile(f"{name}/{i}.png", PIXEL if i else None, 1.0 - i, kept)
            for i, kept in enumerate(is_kept)
        )

    galleries = tuple(
        Gallery(
            name=name,
            n_kept=900,
            n_dropped=1400,
            labelled=(ScoredTile(f"{name}/own.png", PIXEL),),
            kept=row(name, True, True),
            borderline=row(name, True, False),
            dropped=row(name, False, False),
        )
        for name in ("cat", BREAKOUT)
    )
    histogram = ScoreHistogram(-2.0, 2.0, (0, 1, 9, 50), (2000, 800, 900, 297), (0, 0, 900, 297))
    return FilterMaterial(histogram, galleries, 1)


FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("chromium and chromedriver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options, service)
        yield driver
        driver.quit()


@pytest.fixture
def opened(browser):
    """Opens an address afresh at a width, with an empty log."""

    def open_page(address, width, scheme="light", media="screen"):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )
        for kind in ("browser", "performance"):
            browser.get_log(kind)  # what came before, such as the browser's own first page
        browser.get(address)
        return browser

    return open_page


def bed_cell(task, source, percent, n_labelled, algorithm="mixmatch"):
    return Cell(task, source, percent, n_labelled, algorithm, "fixed-total")


def bed_rows(task, n_labelled, sources, measures):
    """Tables 1 and 2 of one task: accuracy falls as cosine grows, and l2 knows nothing."""
    table1, table2 = [], []

    def add(cell, accuracy):
        table1.append(
            AccuracyRow(
                **vars(cell), accuracy_mean=accuracy, accuracy_spread=0.02, n_runs=3,
                is_best=accuracy == 0.9,
            )
        )  # fmt: skip

    add(bed_cell(task, "none", 0.0, n_labelled, "supervised-epochs"), 0.6)
    add(bed_cell(task, "none", 0.0, n_labelled), 0.9)
    for k, source in enumerate(sources):
        for percent in (50.0, 100.0):
            far = (k + 1) * percent / 10
            cell = bed_cell(task, source, percent, n_labelled)
            add(cell, 0.85 - far / 100)
            table2 += [
                DistanceRow(
                    **vars(cell), measure=measure,
                    distance_mean=far if measure == "cosine" else 3.0 + k,
                    distance_spread=None if k else 0.5, p_median=0.01, n_runs=3,
                    is_significant=k > 0,
                )
                for measure in measures
            ]  # fmt: skip
    return table1, table2


@pytest.fixture(scope="session")
def bed():
    """The overview of a test bed: two tasks, two numbers of labels, one gap."""
    tasks, labels, sources = (EVIL, "mnist"), (20, 60), ("svhn", BREAKOUT, "gaussian")
    made = [bed_rows(t, n, sources, ("cosine", "l2")) for t in tasks for n in labels]
    agreement = {
        "pearson": -0.91, "pearson_interval": (-0.95, -0.8), "spearman": None,
        "spearman_interval": None, "regret_points": 1.5, "regret_interval": (0.0, 3.25),
        "n_seeds": 3,
    }  # fmt: skip
    groups = [GroupKey(t, n, "mixmatch", "fixed-total") for t in tasks for n in labels]
    tables = Tables(
        choice="last",
        n_seeds=3,
        # A gap: one cell of the last task was never run.
        accuracies=[row for rows, _ in made for row in rows][:-1],
        distances=[row for _, rows in made for row in rows][:-2],
        agreements=[
            AgreementRow(**vars(group), measure=measure, **agreement, n_cells=6)
            for group in groups
            for measure in ("cosine", "l2")
        ],
        lines=[
            GroupLine(**vars(group), measure="cosine", x=(5.0, 30.0), y=(0.8, 0.55), pearson=-1.0)
            for group in groups
        ],
        gaps=Gaps(96, 3, 2, (bed_cell("mnist", "gaussian", 100.0, 60),)),
    )
    return Overview(
        mixmood="0.1.0",
        testbed="tiny",
        store="/tmp/<b>store</b>",
        verdict="Nearer pools gave better models.",
        chance=Chance(p_lower=0.02, p_higher=1.0, n_arrangements=48),
        best_measure="cosine",
        n_runs=93,
        failures=[FailureCount(f"ValueError: {EVIL}", 2)],
        compute_s=9000.0,
        versions={"mixmood": ["0.1.0"], "numpy": ["2.3", "2.4"]},
        protocol={"training": {"epochs": 2, "settings": {EVIL: {"a": 1}}}},
        extremes=[Extremes(EVIL, 100.0, "svhn", 0.75, BREAKOUT, 0.65, 3, 0.2)],
        overall=[OverallRow(measure=m, **agreement, n_groups=4) for m in ("cosine", "l2")],
        tables=tables,
    )
