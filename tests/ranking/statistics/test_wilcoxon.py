"""The signed-rank p-value, against SciPy's and by hand."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import wilcoxon

from mixmood.ranking.statistics.wilcoxon import wilcoxon_p


@pytest.mark.parametrize("n_draws", [2, 3, 10, 30, 50, 51, 80])
@pytest.mark.parametrize("shift", [0.0, 0.3, 5.0])
def test_the_p_value_is_that_of_scipy(n_draws, shift, rng):
    inter, intra = rng.normal(shift, size=n_draws), rng.normal(size=n_draws)
    assert wilcoxon_p(inter, intra) == pytest.approx(wilcoxon(inter, intra).pvalue, rel=1e-12)


def test_ties_and_equal_pairs_go_the_way_of_scipy(rng):
    inter, intra = rng.integers(0, 4, (2, 30)).astype(float)
    assert wilcoxon_p(inter, intra) == wilcoxon(inter, intra).pvalue


def test_the_p_value_is_one_when_no_pair_differs():
    assert wilcoxon_p(np.ones(30), np.ones(30)) == 1.0


def test_the_smallest_value_is_two_sign_patterns_of_all():
    """All thirty differences positive, or all negative: 2 of 2^30 ways."""
    assert wilcoxon_p(np.arange(1.0, 31.0), np.zeros(30)) == 2 / 2**30


def test_a_usual_ranking_does_without_the_slow_import():
    program = (
        "import sys, numpy as np\n"
        "from mixmood import dissimilarity\n"
        "rows = np.random.default_rng(0).normal(size=(60, 4))\n"
        "dissimilarity(rows[:30], rows[30:], sample_size=10, draws=5)\n"
        "sys.exit('scipy.stats' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
