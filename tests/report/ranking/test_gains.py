"""What a pool would gain, on the page, in the terminal and in the CSV."""

import csv
import io
from dataclasses import replace

import pytest

from mixmood.core.records.ranking import LabelledAccuracy, LabelWorth, Probe, ShareRecord, Union
from mixmood.report.ranking.page import gains, ranking_page
from mixmood.report.ranking.text import (
    MOST_POOLS,
    answer_cells,
    plain_text,
    ranking_csv,
    ranking_view,
)


def probe(gain, p_helps, worth=None):
    interval = (gain - 2.0, gain + 3.0)
    return Probe(gain, interval, p_helps, "mixmatch", gain, 1.0, 80.0, True, 1000, worth, 60, 1.0)


@pytest.fixture
def probed(ranking):
    """The first pool helps, the second harms, the third was not probed."""
    first, second, third = ranking.candidates
    return replace(
        ranking,
        by="gain",
        labelled=replace(ranking.labelled, accuracy=LabelledAccuracy(0.8, (0.71, 0.87), 0.75)),
        candidates=(
            replace(
                first,
                probe=probe(4.0, 0.98, LabelWorth(25, (10, 50))),
                useful_share=ShareRecord(0.9, (0.8, 1.0)),
                advice="use",
                advice_reason="gain <b>+4.0</b> points",
            ),
            replace(second, probe=probe(-3.0, 0.02), advice="avoid", advice_reason="it harms"),
            third,
        ),
        answer="Use clinic: <i>+4.0</i> points.",
        next="mixmood train x",
        union=Union(("clinic",), probe(4.0, 0.98)),
    )


def test_the_page_has_a_chart_of_gains_only_where_something_was_probed(ranking, probed):
    title = "What each pool would gain"
    assert title not in ranking_page(ranking)
    page = ranking_page(probed)
    assert title in page
    assert "Gain +4.0 points, 95 % interval +2.0 to +7.0" in page
    assert "worth about 25 more labels (10 to 50)" in page
    assert "mixmood train x" in page
    assert "<i>+4.0</i>" not in page
    assert "<b>+4.0</b>" not in page


def test_the_page_says_what_each_probability_is_of(ranking, probed):
    by_gain, by_distance = ranking_page(probed), ranking_page(ranking)
    assert "Chance of being best" not in by_gain + by_distance
    for page in (by_gain, by_distance):
        assert "<dt>Chance of being nearest</dt>" in page
        assert 'data-label="Nearest?"' in page
    assert ("that it gains most" in by_gain, "that it gains most" in by_distance) == (True, False)


def test_the_headline_of_the_page_is_the_answer_and_nearness_comes_second(probed):
    page = ranking_page(probed)
    headline = page[page.index("<h1") : page.index("</h1>")]
    assert "Use clinic" in headline
    order = [page.index(title) for title in ("What each pool would gain", "How near each pool is")]
    assert order == sorted(order)


def test_the_noise_floor_is_one_number_in_terminal_and_page(ranking):
    upper = ranking.noise_floor["cosine"].upper
    assert f"noise floor (:): up to {upper}" in plain_text(ranking_view(ranking, True), 120)
    assert f"<dt>Noise floor, up to</dt><dd>{upper}</dd>" in ranking_page(ranking)


def test_a_pool_within_the_noise_floor_is_not_said_to_be_as_near(probed):
    assert "as near as one part" not in ranking_page(probed)
    assert "a pool inside it may still differ" in ranking_page(probed)


def test_classes_of_different_sizes_have_a_balanced_accuracy_beside_the_other(probed):
    def first_line(cat, dog):
        # A class that corrections left without images does not count.
        labelled = replace(probed.labelled, classes={"cat": cat, "dog": dog, "owl": 0})
        return plain_text(ranking_view(replace(probed, labelled=labelled)), 200).splitlines()[0]

    assert first_line(66, 34).endswith("2 classes: 80 % right without a pool (71 to 87)")
    assert first_line(68, 33).endswith("(71 to 87), 75 % as the mean over classes")


def test_only_a_pool_to_use_is_said_to_be_worth_labels(probed):
    """ "avoid worth about 1 more label" would say two things at once."""
    first, *others = probed.candidates
    one = replace(first, probe=probe(0.1, 0.6, LabelWorth(1, (0, 9))))
    assert "worth about 1 more label (0 to 9)" in ranking_page(
        replace(probed, candidates=(one, *others))
    )
    foreign = replace(one, advice="avoid")
    assert "worth about" not in ranking_page(replace(probed, candidates=(foreign, *others)))


def test_the_chart_holds_zero_and_every_interval(probed):
    chart = gains(probed)
    assert chart["rows"][0].candidate.name == "clinic"
    assert len(chart["rows"]) == 2
    (first, second), at = (row.candidate.probe for row in chart["rows"]), chart["axis"].at
    assert 0 < at(second.interval[0]) < at(second.gain) < at(0.0) < at(first.gain)
    assert at(first.gain) < at(first.interval[1]) < 100


def test_page_and_terminal_round_alike(probed):
    """Half a percent up in one and down in the other would look like two results."""
    first, *others = probed.candidates
    first = replace(first, useful_share=ShareRecord(0.625, (0.025, 0.985)))
    found = replace(probed, candidates=(first, *others))
    assert "62 % (2 to 98)" in plain_text(ranking_view(found, is_plain=True), 80)
    page = ranking_page(found).replace("\u202f", " ")
    assert "62 % <small>2 % to 98 %</small>" in page


def test_page_and_terminal_call_a_chance_alike(probed):
    first, *others = probed.candidates
    nearest = replace(first.measures["cosine"], p_best=0.992)
    first = replace(first, measures={**first.measures, "cosine": nearest})
    found = replace(probed, candidates=(first, *others))
    assert "> 0.99" in plain_text(ranking_view(found, is_plain=True, is_verbose=True), 80)
    assert "Chance of being nearest</dt><dd>&gt; 99 %" in ranking_page(found).replace("\u202f", " ")


def test_the_page_names_the_view_on_its_first_screen(probed):
    view = {"resolution": 224, "depth": "both", "reason": "", "compared": ()}
    page = ranking_page(replace(probed, view=view))
    assert '<dt>View</dt><dd class="text">224 px, both</dd>' in page


def test_the_first_line_of_the_chosen_view_fits_80_columns(probed):
    labelled = replace(
        probed.labelled, n_images=1000, classes={f"class {k}": 100 for k in range(10)}
    )
    view = {"resolution": 224, "depth": "middle", "reason": ""}
    found = replace(probed, labelled=labelled, view=view)
    first = plain_text(ranking_view(found, is_plain=True), 80).splitlines()[0]
    assert first == (
        "1,000 labels, 10 classes, 224 px, middle: 80 % right without a pool (71 to 87)"
    )


def test_of_a_large_labelled_set_the_number_of_images_used_is_named(probed):
    accuracy = replace(probed.labelled.accuracy, n_images=500)
    labelled = replace(probed.labelled, n_images=10_000, accuracy=accuracy)
    union = replace(probed.union, probe=replace(probed.union.probe, interval=(-1.0, 2.0)))
    found = replace(probed, labelled=labelled, union=union)
    text = plain_text(ranking_view(found, is_plain=True), 80)
    assert text.startswith("10,000 labels (500 used), 2 classes: 80 % right without a pool")
    assert "A gain this small cannot be confirmed with 500 labels." in text


def test_the_terminal_answers_first_in_80_columns(probed):
    lines = plain_text(ranking_view(probed, is_plain=True), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "100 labels, 2 classes: 80 % right without a pool (71 to 87)"
    assert lines[1].startswith("Use clinic")
    assert lines[3].split() == ["pool", "advice", "gain", "(95", "%)", "helps", "useful", "share",
                                "near?"]  # fmt: skip
    assert lines[4].split()[:7] == ["clinic", "use", "+4.0", "(+2.0", "to", "+7.0)", "98"]
    assert "Next: mixmood train x" in lines
    assert not any("noise floor" in line or "P(nearest)" in line for line in lines)


@pytest.mark.parametrize("is_plain", [True, False])
def test_five_pools_take_about_twelve_lines(probed, is_plain):
    first = replace(probed.candidates[0], useful_share=ShareRecord(1.0, (0.99, 1.0)))
    pools = tuple(replace(first, name=f"gaussian noise {k}") for k in range(5))
    five = replace(probed, candidates=pools, warnings=(), set_aside=())
    lines = plain_text(ranking_view(five, is_plain), 80).splitlines()
    assert len(lines) <= 12
    assert "…" not in "".join(lines)
    assert sum("gaussian noise" in line for line in lines) == 5


def test_verbose_adds_distances_reasons_and_notes(probed):
    short, long = (plain_text(ranking_view(probed, True, verbose), 120) for verbose in (0, 1))
    for word in (
        "noise floor",
        "P(nearest)",
        "P(gains most) 0.90, rank 1-2",
        "seed 7",
        probed.notes[0],
    ):
        assert word not in short
        assert word in long


def test_a_gain_that_may_be_chance_is_said_to_be_so(probed):
    words = "A gain this small cannot be confirmed with 100 labels."
    assert words not in plain_text(ranking_view(probed), 80)
    small = replace(probed, union=Union(("clinic",), probe(1.0, 0.8)))
    assert words in plain_text(ranking_view(small), 80)


def test_pools_to_avoid_are_a_group_in_order_of_their_names(probed):
    """Their order by gain carries no information."""
    first, second, third = probed.candidates
    pools = (
        replace(second, name="b", probe=probe(-1.0, 0.1)),
        first,
        replace(second, name="a"),
        replace(third, name="c", advice="unsure"),
    )
    assert [cell.plain for cell in answer_cells(replace(probed, candidates=pools))["pool"]] == [
        "clinic", "c", "a !", "b !",
    ]  # fmt: skip


def test_by_distance_the_table_is_that_of_distances(probed):
    text = plain_text(ranking_view(replace(probed, by="distance"), is_plain=True), 120)
    assert "noise floor" in text
    assert "P(nearest)" in text
    assert "Use clinic" in text


def test_the_command_to_type_next_is_one_line_whatever_the_width(probed):
    """Broken in two, it could not be copied: a terminal wraps it without a line break."""
    command = "mixmood train labelled/of/mine 'a pool with a long name' --out run-a-long-name"
    text = plain_text(ranking_view(replace(probed, next=command)), 60)
    assert f"Next: {command}" in text.splitlines()


def test_of_many_pools_the_first_are_explained(probed):
    first = probed.candidates[0]
    many = replace(
        probed, candidates=tuple(replace(first, name=f"pool {k}") for k in range(MOST_POOLS + 3))
    )
    text = plain_text(ranking_view(many, is_plain=True, is_verbose=True), 100)
    assert "3 more pools: see --json or --html." in text
    assert f"pool {MOST_POOLS - 1}: use" in text
    assert f"pool {MOST_POOLS}: use" not in text


def test_the_csv_has_gain_share_and_advice(probed):
    rows = list(csv.DictReader(io.StringIO(ranking_csv(probed))))
    clinic = next(row for row in rows if row["name"] == "clinic" and row["measure"] == "cosine")
    assert (clinic["gain"], clinic["gain_low"], clinic["gain_high"]) == ("4.0", "2.0", "7.0")
    assert (clinic["p_helps"], clinic["useful_share"], clinic["advice"]) == ("0.98", "0.9", "use")
    assert rows[-1]["gain"] == ""
