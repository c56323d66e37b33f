"""The paper's four measures over all draws, against plain loops over the features."""

import statistics

import numpy as np
from scipy.spatial.distance import cdist, cosine, jensenshannon
from threadpoolctl import threadpool_limits

from benchmarks.measuring.row import Effort, Row, interleaved, ratios
from mixmood.measures.registry import PAPER
from mixmood.ranking.draws import drawn_distances, labelled_pairs, subsets

N_DRAWS, SAMPLE_SIZE, WIDTH = 30, 80, 1280


def plain_histograms(x, y, distance):
    """The sum over features of a distance of histograms, feature by feature."""
    total = 0.0
    for feature in range(x.shape[1]):
        edges = np.histogram_bin_edges(x[:, feature], 15)
        p = np.histogram(x[:, feature], edges)[0]
        q = np.histogram(y[:, feature], edges)[0]
        total += distance(p / p.sum(), q / max(q.sum(), 1))
    return total


def plain_measures(x, y):
    """All four measures from x to y, written directly from the paper's formulas."""
    return [
        cdist(x, y, "cityblock").min(axis=1).mean(),
        cdist(x, y, "euclidean").min(axis=1).mean(),
        plain_histograms(x, y, jensenshannon),
        plain_histograms(x, y, cosine),
    ]


def four_measures(effort: Effort) -> list[Row]:
    """C = 30, tau = 80, 1280 features, one pool, on one core."""
    rng = np.random.default_rng(0)
    labelled = rng.gamma(0.5, size=(2 * SAMPLE_SIZE, WIDTH)).astype(np.float32)
    pool = rng.gamma(0.6, size=(SAMPLE_SIZE * N_DRAWS, WIDTH)).astype(np.float32)
    pairs = labelled_pairs(len(labelled), SAMPLE_SIZE, N_DRAWS, rng)
    rows = subsets(len(pool), SAMPLE_SIZE, N_DRAWS, rng)

    def ours():
        return drawn_distances(labelled, [pool], pairs, [rows], PAPER, "drop")

    def plain_draw():
        first, other = labelled[pairs[0]]
        return plain_measures(first, pool[rows[0]]), plain_measures(first, other)

    with threadpool_limits(1):
        drawn, (inter, intra) = ours(), plain_draw()
        # A race between two things that give different answers would mean nothing.
        np.testing.assert_allclose(drawn.inter[:, 0, 0], inter, rtol=1e-5)
        np.testing.assert_allclose(drawn.intra[:, 0], intra, rtol=1e-5)
        times = interleaved({"ours": ours, "plain": plain_draw}, effort.rounds(9))
    plain_all = [N_DRAWS * one for one in times["plain"]]
    ours_s, plain_s = statistics.median(times["ours"]), statistics.median(plain_all)
    what = f"four measures, {N_DRAWS} draws of {SAMPLE_SIZE}, {WIDTH} features, one pool, one core"
    return [
        Row(
            what,
            "loops over features with scipy and numpy.histogram, equal results",
            *ratios(plain_all, times["ours"]),
            f"{plain_s:.1f} / {ours_s:.2f} s",
            at_least=30,
            note=f"The loops are timed for one draw and multiplied by {N_DRAWS}.",
        ),
        Row(
            what,
            "the clock",
            ours_s,
            min(times["ours"]),
            max(times["ours"]),
            f"{ours_s:.2f} s",
            at_most=0.5,
            unit=" s",
        ),
    ]
