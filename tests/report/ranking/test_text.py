"""The ranking in a terminal."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

import mixmood
from mixmood.core.records.ranking import (
    Candidate,
    LabelledSet,
    NoiseFloor,
    RankedDissimilarity,
    Ranking,
)
from mixmood.report.ranking.page import ranking_html
from mixmood.report.ranking.text import (
    ASCII,
    csv_text,
    interval_bars,
    name_and_bar_widths,
    plain_text,
    ranking_view,
)
from mixmood.report.text import printable


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    pools = {
        "=evil()": rng.normal(2, size=(90, 8)),
        "bad \x1b[31m[red] name": rng.normal(size=(90, 8)),
    }
    return mixmood.rank(rng.normal(size=(60, 8)), pools, measures=["cosine", "js"])


def result(distance, low, high):
    return RankedDissimilarity(
        distance, 0.1, distance, 0.5, 0.5, 0.5, (low, high), (), (), 1, 0.9, (1, 1)
    )


def test_the_table_shows_every_pool_measure_and_the_verdict(report):
    text = report.to_text()
    for word in ("rank", "images", "cosine", "js", "95 % interval", "P(nearest)", "noise floor"):
        assert word in text
    assert "is the nearest pool (P > 0.99) and cannot be told apart" in text
    assert text.count("=evil()") == 2  # in both tables


def test_a_name_can_neither_drive_the_terminal_nor_be_read_as_markup(report):
    text = report.to_text(200)
    assert "\x1b" not in text
    assert "bad \\x1b[31m[red] name" in text


def test_the_plain_table_is_ascii_and_the_drawn_one_is_not(report):
    assert report.to_text().isascii()
    assert "●" in plain_text(ranking_view(report), 120)


@pytest.fixture(scope="module")
def five_pools():
    """As wide as the demonstration: five pools, numbers of many digits."""
    names = ("more digits 0-4", "digits 5-9", "photo patches", "gaussian noise", "salt and pepper")
    return [candidate(place + 1, name) for place, name in enumerate(names)]


def candidate(rank, name, measures=("cosine",), p_best=0.995):
    far = RankedDissimilarity(
        12.34 * rank, 1, 1, 0.5, 0.5, 0.0125, (10.0 * rank, 15.0 * rank), (), (), rank, p_best,
        (rank, rank + 1),
    )  # fmt: skip
    measured = dict.fromkeys(measures, far)
    return Candidate(rank, name, 12_345, 0, 160, "ab", measured, p_best, (rank, rank + 1), ())


def ranking_of(candidates):
    labelled = LabelledSet("digits", 60, 0, 60, "cd", None)
    measures = list(candidates[0].measures)
    return Ranking(
        1, "0.1.0", 0, {"name": "efficientnet-lite0"}, 30, 30, False, labelled, measures[0],
        tuple(candidates), candidates[0].name, "It is so.",
        dict.fromkeys(measures, NoiseFloor(3.5, 1, 8.4, 20)), (),
    )  # fmt: skip


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_nothing_is_cut_or_wrapped_at_the_usual_widths(five_pools, width, is_plain):
    text = plain_text(ranking_view(ranking_of(five_pools), is_plain), width)
    assert "…" not in text
    lines = text.splitlines()
    heads = next(line for line in lines if line.startswith("rank "))
    assert heads.split()[:4] == ["rank", "pool", "images", "cosine"]
    assert heads.endswith("p (Holm)  P(nearest)  ranks")
    for own in five_pools:
        (line,) = (line for line in lines if line.lstrip().startswith(f"{own.rank}  {own.name}"))
        assert f" 12,345  {12.34 * own.rank:6.3g}  " in line
        assert line.split()[-4:] == ["0.013", ">", "0.99", f"{own.rank}-{own.rank + 1}"]
        assert "●" in line or "o" in line


def test_warnings_of_many_pools_do_not_hide_the_result():
    """With 200 pools, most of one class each, the table would scroll out of sight."""
    one_class = "most of it (90 %) looks like the class '3'."
    pools = [replace(candidate(k + 1, f"p{k:03}"), warnings=(one_class,)) for k in range(200)]
    pools[1] = replace(pools[1], warnings=())
    ranking = replace(ranking_of(pools), warnings=("digits: 1 image is broken.",))
    lines = plain_text(ranking_view(ranking, True), 120).splitlines()
    shown = [line for line in lines if line.startswith("!")]
    assert shown[:2] == ["! digits: 1 image is broken.", f"! p000: {one_class}"]
    assert shown[-2:] == [
        f"! p008: {one_class}",
        "! 191 more pools have warnings: see --json or --html.",
    ]
    assert len(shown) == 1 + 8 + 1
    page = ranking_html(ranking)
    assert page.count("looks like the class") == 8
    assert "191 more pools have warnings: see to_json() or to_html(FILE)." in page
    assert ranking.to_json().count("looks like the class") == 199


def test_the_bar_shrinks_before_names_wrap_and_goes_last():
    assert name_and_bar_widths(15, 48, 95) == (15, 30)
    assert name_and_bar_widths(15, 48, 94) == (15, 29)
    assert name_and_bar_widths(40, 48, 100) == (40, 10)
    assert name_and_bar_widths(40, 48, 99) == (39, 10)
    assert name_and_bar_widths(40, 48, 72) == (12, 10)
    assert name_and_bar_widths(40, 48, 71) == (23, 0)
    assert name_and_bar_widths(40, 48, 30) == (1, 0)


def test_a_terminal_too_narrow_for_all_numbers_gets_fewer_of_them_and_those_whole(five_pools):
    text = plain_text(ranking_view(ranking_of(five_pools), True), 40)
    assert "…" not in text
    assert "rank  pool            cosine  P(nearest)" in text
    assert ["1", "more", "digits", "12.3", ">", "0.99"] in [
        line.split() for line in text.splitlines()
    ]


def test_a_name_of_any_length_wraps_and_leaves_the_numbers_whole():
    pools = [candidate(1, "clinic " * 20), candidate(2, "x" * 100)]
    text = plain_text(ranking_view(ranking_of(pools)), 80)
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.count("clinic") == 20
    assert text.count("x") == 100
    assert text.count("> 0.99") == 2


def test_chances_are_never_certainties():
    sure, unsure = candidate(1, "a"), candidate(2, "b", p_best=0.004)
    even = candidate(3, "c", p_best=0.5)
    text = plain_text(ranking_view(ranking_of([sure, unsure, even]), True), 100)
    assert [word in text for word in ("> 0.99", "< 0.01", "0.50")] == [True] * 3
    assert "1.00" not in text
    assert "0.00" not in text


def test_with_several_measures_the_sentence_names_the_one_that_ranks(five_pools):
    assert "It is so.\n" in plain_text(ranking_view(ranking_of(five_pools)), 80)
    pools = [candidate(1, "a", ("js", "cosine")), candidate(2, "b", ("js", "cosine"))]
    assert "It is so. Ranked by js.\n" in plain_text(ranking_view(ranking_of(pools)), 80)


def test_printable_shows_control_characters_and_keeps_letters():
    assert printable("naïve 猫") == "naïve 猫"
    assert printable("a\nb\r\x07\u202e\u2028") == "a\\nb\\r\\x07\\u202e\\u2028"


def test_a_bar_marks_distance_interval_and_floor():
    bars, is_log = interval_bars([result(5, 2, 8), result(5, 2, 10)], 1, 11, ASCII)
    assert (bars[0], is_log) == (" :|--o--|  ", False)


def test_distances_far_apart_are_drawn_on_a_logarithmic_scale():
    results = [result(value, value, value) for value in (0, 1, 10, 100)]
    bars, is_log = interval_bars(results, 1, 30, ASCII)
    places = [bar.index("o") for bar in bars]
    assert is_log
    assert 0 == places[0] < places[1] < places[2] < places[3] == 29


def test_distances_of_zero_have_a_place_too():
    assert interval_bars([result(0, 0, 0)], 0, 10, ASCII)[0][0].strip() == "o"


def test_the_csv_has_one_row_for_each_pool_and_measure(report):
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(rows) == 4
    assert {row["measure"] for row in rows} == {"cosine", "js"}
    first = report.candidates[0]
    assert float(rows[0]["distance"]) == first.distance
    assert float(rows[0]["interval_low"]) == first.measures["cosine"].interval[0]


def test_json_and_csv_are_written_where_a_path_says(report, tmp_path):
    assert report.to_json(tmp_path / "r.json") == (tmp_path / "r.json").read_text()
    assert json.loads(report.to_json())["measure"] == "cosine"
    assert report.to_csv(tmp_path / "r.csv") == (tmp_path / "r.csv").read_text() == report.to_csv()


def test_the_package_lists_its_public_names():
    assert set(mixmood.__all__) <= set(dir(mixmood))
    assert dir(mixmood) == sorted(dir(mixmood))


def test_a_spreadsheet_cannot_be_made_to_run_a_name(report):
    assert "'=evil()" in report.to_csv()
    assert csv_text(["a"], [["+1"], ["@x"], [-1.5], ["-"]]) == "a\n'+1\n'@x\n-1.5\n'-\n"
