"""What to do with the pools of a ranking, in one sentence."""

import pytest

from mixmood.core.records.ranking import LabelWorth, Probe, Union
from mixmood.evidence.advice import PoolAdvice, answer


def probe(gain=3.0, p_helps=0.97, is_learnable=True, worth=None):
    interval = (gain - 2, gain + 2)
    return Probe(gain, interval, p_helps, "mixmatch", gain, 1.0, 80.0, is_learnable, 400, worth)


def never(names):
    raise AssertionError(f"{names} were measured together")


def test_the_pool_to_use_is_named_with_its_gain_and_worth():
    probes = {"web": probe(0.1, 0.5), "clinic": probe(4.1, worth=LabelWorth(25, (10, 50)))}
    advice = {"web": PoolAdvice("unsure", ""), "clinic": PoolAdvice("use", "")}
    found = answer(advice, probes, never)
    assert found.union == Union(("clinic",), probes["clinic"])
    assert found.sentence == (
        "Use clinic: +4.1 points expected (+2.1 to +6.1), 97 % likely to help, worth about 25 "
        "more labels (10 to 50)."
    )
    one = {"web": probe(4.1, worth=LabelWorth(1, (0, 3)))}
    sentence = answer({"web": PoolAdvice("use", "")}, one, never).sentence
    assert "worth about 1 more label (0 to 3)" in sentence


@pytest.mark.parametrize("gain", [3.6, 6.0])
def test_all_pools_to_use_are_used_together(gain):
    probes = {"web": probe(3.0), "clinic": probe(4.0), "x": probe(2.0)}
    advice = {name: PoolAdvice("use", "") for name in probes}
    found = answer(advice, probes, lambda names: probe(gain))
    assert found.union == Union(("clinic", "web", "x"), probe(gain))
    assert found.sentence.startswith(f"Use clinic, web and x together: +{gain} points")


def test_the_best_pool_alone_is_used_where_the_others_take_half_a_point_away():
    probes = {"web": probe(3.0), "clinic": probe(4.0)}
    advice = {name: PoolAdvice("use", "") for name in probes}
    assert answer(advice, probes, lambda names: probe(3.4)).union == Union(
        ("clinic",), probes["clinic"]
    )


def test_the_useful_part_of_a_pool_is_used_too_where_it_probably_helps():
    """The head counts each image by its chance to be useful."""
    probes = {"web": probe(0.2, 0.56), "x": probe(0.1, 0.5), "clinic": probe(1.0)}
    advice = {name: PoolAdvice("filter", "") for name in ("web", "x")}
    found = answer({**advice, "clinic": PoolAdvice("use", "")}, probes, lambda names: probe(1.1))
    assert found.union == Union(("clinic", "web"), probe(1.1))
    assert found.sentence.startswith("Use clinic and the useful part of web together: +1.1 points")
    alone = answer(advice, {name: probes[name] for name in advice}, never)
    assert alone.union == Union(("web",), probes["web"])


def test_the_useful_part_of_a_pool_alone_may_be_the_best():
    """A pool that is mostly foreign is filtered whatever it gains."""
    probes = {"clinic": probe(0.4), "crawl": probe(5.0)}
    advice = {"clinic": PoolAdvice("use", ""), "crawl": PoolAdvice("filter", "", "share", 0.12)}
    found = answer(advice, probes, lambda names: probe(1.0))
    assert found.union == Union(("crawl",), probes["crawl"])
    assert found.sentence.startswith("Use the useful part of crawl: +5.0 points expected")


def test_a_pool_that_needs_a_filter_is_named_when_none_can_be_used():
    advice = {
        "web": PoolAdvice("filter", "about 50 % of it is useful"),
        "x": PoolAdvice("avoid", ""),
    }
    found = answer(advice, {"web": probe(0.2, 0.5), "x": probe(-3, 0.0)}, never)
    assert found.union is None
    assert found.sentence == "Filter web first: about 50 % of it is useful."


def test_without_gains_the_pool_with_the_largest_useful_share_is_filtered_first():
    advice = {
        "a": PoolAdvice("filter", "11 % of it useful", "share", 0.11),
        "b": PoolAdvice("filter", "40 % of it useful", "share", 0.4),
    }
    found = answer(advice, dict.fromkeys(advice), never)
    assert found.sentence == "Filter b first: 40 % of it useful."


def test_no_pool_is_advised_when_all_harm_or_none_is_sure():
    harmful = {"a": probe(-3, 0.0), "b": probe(-2, 0.01)}
    avoid = {name: PoolAdvice("avoid", "") for name in harmful}
    assert answer(avoid, harmful, never).sentence == (
        "Use no pool: all are expected to make the model worse."
    )
    one = answer({"a": avoid["a"]}, {"a": harmful["a"]}, never).sentence
    assert one == "Use no pool: it is expected to make the model worse."
    unsure = {name: PoolAdvice("unsure", "") for name in harmful}
    assert "none of them is sure to help" in answer(unsure, harmful, never).sentence
    without = dict.fromkeys(harmful)
    assert answer(unsure, without, never).sentence == (
        "No pool is advised: the gain of the pools was not measured."
    )
    assert "because." in answer(unsure, without, never, "because").sentence


def test_pools_that_are_foreign_are_not_said_to_harm():
    probes = {"a": probe(0.1, 0.54), "b": probe(-0.2, 0.4), "c": probe(-3.0, 0.0)}
    advice = {name: PoolAdvice("avoid", "", "share") for name in ("a", "b")}

    def said(*names):
        return answer(
            {name: advice[name] for name in names}, {name: probes[name] for name in names}, never
        ).sentence

    assert said("a") == "Use no pool: hardly anything in it looks like the labelled classes."
    assert said("a", "b") == "Use no pool: hardly anything in them looks like the labelled classes."
    advice["c"] = PoolAdvice("avoid", "")
    assert said("a", "c") == (
        "Use no pool: each is expected to make the model worse, or holds hardly anything that "
        "looks like the labelled classes."
    )


def test_what_keeps_a_high_gain_from_being_advised_is_named():
    """ "None is sure to help" would contradict a P(helps) of 0.97 beside it."""
    copies = PoolAdvice("unsure", "copies", "copies")
    hard = PoolAdvice("unsure", "without a pool, 20 % are right, no better than chance", "labels")
    vague = PoolAdvice("unsure", "gain +0.1")

    def said(**advice):
        return answer(advice, {name: probe() for name in advice}, never).sentence

    assert said(a=copies, b=copies) == (
        "No pool is advised: a and b are made of near copies of labelled images."
    )
    assert said(a=copies, b=vague) == (
        "No pool is advised: a is made of near copies of labelled images, and none of the others "
        "is sure to help."
    )
    assert said(a=hard, b=hard) == f"No pool is advised: {hard.reason}."
    assert said(a=vague) == "No pool is advised: it is not sure to help."
