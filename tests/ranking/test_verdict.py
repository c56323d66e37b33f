"""The sentence under the table."""

import pytest

from mixmood.core.records.ranking import NoiseFloor, RankedDissimilarity
from mixmood.evidence.advice import nearness
from mixmood.ranking.distance import Scores
from mixmood.ranking.record import verdict

FLOOR = {"js": NoiseFloor(0.4, 0.1, 0.9, 10)}


def result(p_holm=0.01, rank=1, p_best=0.9, first_rank=1, signed=1.0):
    return RankedDissimilarity(
        abs(signed), 0.1, signed, 0.01, p_holm, p_holm, (0.5, 1.5), (2.0,), (1.0,), rank, p_best,
        (first_rank, rank),
    )  # fmt: skip


def candidate(rank, name, p_holm=0.01, p_best=0.0, first_rank=None, signed=1.0):
    return name, {"js": result(p_holm, rank, p_best, first_rank or rank, signed)}


def sentence(*candidates):
    scores = Scores(dict(candidates), FLOOR)
    return verdict(scores, "js", scores.nearness("js"))


SAME, DIFFERENT, NEARER = "cannot be told apart", "differ", "nearer to the labelled set than chance"


@pytest.mark.parametrize(
    ("p_holm", "signed", "expected"),
    [
        (0.4, 1.0, "same"),
        (0.01, 1.0, "different"),
        (0.05, 1.0, "different"),
        (0.4, -1.0, "nearer"),
        (0.01, -1.0, "nearer"),
        (0.4, -0.5, "same"),  # not beyond the noise floor
        (0.01, -0.5, "different"),
    ],
)
def test_a_pool_is_the_same_nearer_than_chance_allows_or_different(p_holm, signed, expected):
    assert nearness(result(p_holm, signed=signed), FLOOR["js"]) == expected


def test_a_pool_of_near_copies_is_nearer_than_chance_allows_whatever_its_distance():
    """With few and varied labelled images the noise floor is high, and hides copies."""
    assert nearness(result(0.4, signed=-0.5), FLOOR["js"], copied=0.7) == "nearer"
    assert nearness(result(0.4, signed=-0.5), FLOOR["js"], copied=0.3) == "same"
    scores = Scores(dict([candidate(1, "web", p_holm=0.4, signed=-0.5)]), FLOOR, {"web": 0.7})
    assert scores.nearness("js") == {"web": "nearer"}
    assert NEARER in verdict(scores, "js", scores.nearness("js"))


@pytest.mark.parametrize(
    ("options", "relation"),
    [({"p_holm": 0.4}, SAME), ({}, DIFFERENT), ({"p_holm": 0.4, "signed": -1.0}, NEARER)],
)
def test_the_nearest_pool_is_named_with_its_chance_and_its_relation(options, relation):
    found = sentence(candidate(1, "web", p_best=0.97, **options), candidate(2, "clinic"))
    assert found.startswith("web is the nearest pool (P = 0.97)")
    assert [words for words in (SAME, DIFFERENT, NEARER) if words in found] == [relation]
    assert "clinic" not in found


def test_no_chance_is_called_certain():
    assert "(P > 0.99)" in sentence(candidate(1, "web", p_best=1.0), candidate(2, "clinic"))


def test_pools_that_may_be_as_near_are_named():
    rivals = [candidate(k, name, first_rank=1) for k, name in enumerate("abc", start=2)]
    pools = candidate(1, "web", p_best=0.5), *rivals, candidate(5, "noise")
    assert sentence(*pools).endswith("a, b and c may be as near.")
    assert sentence(*pools[:2]).endswith("; a may be as near.")


def test_of_many_rivals_the_number_is_given():
    rivals = [candidate(k, f"pool {k}", first_rank=1) for k in range(2, 9)]
    assert "; 7 other pools may be as near." in sentence(candidate(1, "web", p_best=0.5), *rivals)


def test_a_pool_that_differs_is_never_called_equal_to_one_that_does_not():
    clean = candidate(1, "clean", p_holm=0.4, p_best=0.6)
    half, third = (candidate(k, name, first_rank=1) for k, name in ((2, "half"), (3, "third")))
    of_best, of_rival = sentence(clean, half).split(";")
    assert SAME in of_best
    assert "half may be as near but differs" in of_rival
    assert "half and third may be as near but differ" in sentence(clean, half, third)
    other = candidate(2, "clean", p_holm=0.4, first_rank=1)
    of_best, of_rival = sentence(candidate(1, "half", p_best=0.6), other).split(";")
    assert DIFFERENT in of_best
    assert "clean may be as near" in of_rival
    assert SAME in of_rival


def test_when_no_pool_differs_the_sentence_says_so():
    pools = candidate(1, "web", p_holm=0.4, p_best=0.55), candidate(2, "clinic", p_holm=0.2)
    assert sentence(*pools).startswith("None of the 2 pools can be told apart")
    assert "web is the nearest (P = 0.55)" in sentence(*pools)


def test_a_single_pool_is_not_called_the_nearest():
    assert "nearest" not in sentence(candidate(1, "web"))
    assert DIFFERENT in sentence(candidate(1, "web"))
    assert SAME in sentence(candidate(1, "web", p_holm=0.4))
