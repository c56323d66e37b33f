"""A ranking in a notebook."""

import numpy as np

import mixmood
from mixmood.report.ranking.page import ranking_html


def test_the_repr_is_one_short_line():
    rng = np.random.default_rng(0)
    pools = {"near": rng.normal(size=(90, 4)), "far": rng.normal(2, size=(90, 4))}
    report = mixmood.rank(rng.normal(size=(60, 4)), pools, draws=4)
    assert repr(report).startswith("<RankReport: 'near' is the nearest of 2 pools, cosine ")
    assert len(repr(report)) < 120
    assert report._repr_html_() == ranking_html(report)


def test_the_table_names_every_pool_and_everything_is_escaped(ranking):
    text = ranking_html(ranking)
    assert text.count("<tr>") == 4
    assert "clinic is the nearest pool" in text
    for word in ("<script>", "<img", "<i>", "<u>", "onerror=alert(2)>"):
        assert word not in text
    assert "set aside, &lt;i&gt;tiny&lt;/i&gt;: it holds only" in text
