"""The time of the procedure in the paper's authors' code, compared with ours."""

import statistics
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring.material import small_jpegs
from benchmarks.measuring.row import Effort, Row, interleaved, ratios
from benchmarks.speed.distances import N_DRAWS, SAMPLE_SIZE, WIDTH
from benchmarks.speed.extraction import Engine
from mixmood.features.extract import Extractor
from mixmood.ranking.distance import measure
from mixmood.ranking.plan import RankingPlan

N_DIMENSIONS = 5


def recomputed(effort: Effort) -> list[Row]:
    """Features computed anew for each dimension, as the authors' code does, for one pool."""
    n_pool = effort.images(SAMPLE_SIZE * N_DRAWS, least=SAMPLE_SIZE)
    plan = RankingPlan()
    with tempfile.TemporaryDirectory() as folder:
        labelled = Engine(
            small_jpegs(Path(folder) / "labelled", 2 * SAMPLE_SIZE, seed=1), 2 * SAMPLE_SIZE
        )
        pool = Engine(small_jpegs(Path(folder) / "pool", n_pool), n_pool)
        rng = np.random.default_rng(0)

        def ours():
            measure(labelled.together(), {"pool": pool.together()}, plan, pool.jobs)

        def theirs():
            for dimension in range(N_DIMENSIONS):
                first, other = (_column(labelled, dimension, rng) for _ in range(2))
                for values in (other, _column(pool, dimension, rng)):
                    edges = np.histogram_bin_edges(first, 15)
                    np.histogram(first, edges), np.histogram(values, edges)

        times = interleaved({"ours": ours, "theirs": theirs}, effort.rounds(3))
    factor = N_DRAWS * WIDTH / N_DIMENSIONS
    all_s = [factor * one for one in times["theirs"]]
    ours_s = statistics.median(times["ours"])
    return [
        Row(
            "the authors' procedure: a new sample pair, and its features, for each dimension",
            "ours: features once, all dimensions; one pool, cosine",
            *ratios(all_s, times["ours"]),
            f"{statistics.median(all_s) / 3600:.1f} h / {ours_s:.1f} s",
            note=f"Extrapolated from {N_DIMENSIONS} of {WIDTH} dimensions of one of {N_DRAWS} "
            "draws. Both use our network and our engine: only the procedure differs.",
        )
    ]


def _column(engine: Engine, dimension: int, rng: np.random.Generator) -> np.ndarray:
    indices = rng.choice(len(engine.source), SAMPLE_SIZE, replace=False)
    found = Extractor(engine.backbone, engine.jobs).read(engine.source, indices)
    return found.features[:, dimension]
