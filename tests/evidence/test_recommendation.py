"""What is recommended for a ranking as a whole, in one sentence."""

from mixmood.core.records.ranking import LabelWorth, Probe
from mixmood.evidence.advice import PoolAdvice, recommend


def probe(gain=3.0, p_helps=0.97, is_learnable=True, worth=None):
    interval = (gain - 2, gain + 2)
    return Probe(gain, interval, p_helps, "mixmatch", gain, 1.0, 80.0, is_learnable, 400, worth)


def test_the_best_pool_is_recommended_with_its_gain_and_worth():
    probes = {"web": probe(2.0), "clinic": probe(4.1, worth=LabelWorth(25, (10, 50)))}
    advice = {name: PoolAdvice("use", "") for name in probes}
    found = recommend(advice, probes, lambda pair: probe(4.2))
    assert found.pools == ("clinic",)
    assert found.sentence == (
        "Use clinic: +4.1 points expected (+2.1 to +6.1, P = 0.97), worth about 25 more labels "
        "(10 to 50), for a mixmatch head on these features."
    )
    one = {"web": probe(4.1, worth=LabelWorth(1, (0, 3)))}
    assert "worth about 1 more label (0 to 3)" in recommend(advice, one, None).sentence


def test_two_pools_are_recommended_where_their_union_is_clearly_better():
    probes = {"web": probe(3.0), "clinic": probe(4.0)}
    advice = {name: PoolAdvice("use", "") for name in probes}
    found = recommend(advice, probes, lambda pair: probe(6.0))
    assert set(found.pools) == {"web", "clinic"}
    assert found.sentence.startswith("Use clinic and web together: +6.0 points")


def test_a_pool_that_needs_a_filter_is_named_when_none_can_be_used():
    advice = {
        "web": PoolAdvice("filter", "about 50% of it is useful"),
        "x": PoolAdvice("avoid", ""),
    }
    found = recommend(advice, {"web": probe(0.2, 0.5), "x": probe(-3, 0.0)}, None)
    assert found.pools == ("web",)
    assert found.sentence == "Filter web first: about 50% of it is useful."


def test_no_pool_is_recommended_when_all_harm_or_none_is_sure():
    harmful = {"a": probe(-3, 0.0), "b": probe(-2, 0.01)}
    avoid = {name: PoolAdvice("avoid", "") for name in harmful}
    assert recommend(avoid, harmful, None).sentence == (
        "Use no pool: all are expected to make the model worse."
    )
    one = recommend({"a": avoid["a"]}, {"a": harmful["a"]}, None).sentence
    assert one == "Use no pool: it is expected to make the model worse."
    unsure = {name: PoolAdvice("unsure", "") for name in harmful}
    assert "none of them is sure to help" in recommend(unsure, harmful, None).sentence
    without = dict.fromkeys(harmful)
    assert recommend(unsure, without, None).sentence == (
        "No pool is advised: the gain of the pools was not measured."
    )
    assert "because." in recommend(unsure, without, None, "because").sentence


def test_pools_that_are_foreign_are_not_said_to_harm():
    probes = {"a": probe(0.1, 0.54), "b": probe(-0.2, 0.4), "c": probe(-3.0, 0.0)}
    advice = {name: PoolAdvice("avoid", "", "share") for name in ("a", "b")}

    def said(*names):
        return recommend(
            {name: advice[name] for name in names}, {name: probes[name] for name in names}, None
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
    copies = PoolAdvice("unsure", "it is nearer", "copies")
    hard = PoolAdvice("unsure", "without a pool, 20 % are right, no better than chance", "labels")
    vague = PoolAdvice("unsure", "gain +0.1")

    def said(**advice):
        return recommend(advice, {name: probe() for name in advice}, None).sentence

    assert said(a=copies, b=copies) == (
        "No pool is advised: a and b are nearer to the labelled set than chance allows."
    )
    assert said(a=copies, b=vague) == (
        "No pool is advised: a is nearer to the labelled set than chance allows, and none of the "
        "others is sure to help."
    )
    assert said(a=hard, b=hard) == f"No pool is advised: {hard.reason}."
    assert said(a=vague) == "No pool is advised: it is not sure to help."
