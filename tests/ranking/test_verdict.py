"""The sentence under the table."""

from mixmood.core.records.ranking import Candidate, Dissimilarity
from mixmood.ranking.verdict import verdict


def candidate(rank, name, p_holm=0.01, p_best=0.0, first_rank=None):
    result = Dissimilarity(1.0, 0.1, 1.0, 0.01, p_holm, p_holm, (0.5, 1.5), (2.0,), (1.0,))
    interval = (first_rank or rank, rank)
    return Candidate(rank, name, 100, 0, 100, "f", {"js": result}, p_best, interval, ())


def test_a_clear_winner_is_named_with_its_chance():
    pools = [candidate(1, "web", p_best=0.97), candidate(2, "clinic")]
    assert verdict(pools, "js") == "web is the nearest pool (P = 0.97)."


def test_no_chance_is_called_certain():
    pools = [candidate(1, "web", p_best=1.0), candidate(2, "clinic")]
    assert verdict(pools, "js") == "web is the nearest pool (P > 0.99)."


def test_pools_that_cannot_be_told_from_the_winner_are_named():
    pools = [
        candidate(1, "web", p_best=0.5),
        candidate(2, "a", first_rank=1),
        candidate(3, "b", first_rank=1),
        candidate(4, "c", first_rank=1),
        candidate(5, "noise"),
    ]
    expected = "web is the nearest pool (P = 0.50); a, b and c cannot be told from it."
    assert verdict(pools, "js") == expected
    assert "; a cannot be told from it." in verdict(pools[:2], "js")


def test_pools_that_do_not_differ_from_the_labelled_set_are_called_noise():
    pools = [candidate(1, "web", p_holm=0.4), candidate(2, "clinic", p_holm=0.2)]
    assert verdict(pools, "js").startswith("No pool is distinguishable from noise: by js,")
    assert verdict(pools[:1], "js").startswith("web is not distinguishable from noise")


def test_a_single_pool_is_not_called_the_nearest():
    assert "differs from the labelled set (p = 0.01)" in verdict([candidate(1, "web")], "js")
