"""The ranking in a terminal."""

import csv
import io

import numpy as np
import pytest

import mixmood
from mixmood.core.records import Dissimilarity
from mixmood.report.csv import csv_text
from mixmood.report.printable import printable
from mixmood.report.scale import TYPED, Scale
from mixmood.report.text import plain_text, ranking_view


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    pools = {
        "=evil()": rng.normal(2, size=(90, 8)),
        "bad \x1b[31m[red] name": rng.normal(size=(90, 8)),
    }
    return mixmood.rank(rng.normal(size=(60, 8)), pools, measures=["cosine", "js"])


def result(distance, low, high):
    return Dissimilarity(distance, 0.1, distance, 0.5, 0.5, 0.5, (low, high), (), ())


def test_the_table_shows_every_pool_measure_and_the_verdict(report):
    text = report.to_text()
    for word in ("rank", "images", "cosine", "js", "95 % interval", "P(best)", "noise floor"):
        assert word in text
    assert "is the nearest pool (P > 0.99)." in text
    assert text.count("=evil()") == 2


def test_a_name_can_neither_drive_the_terminal_nor_be_read_as_markup(report):
    text = report.to_text(200)
    assert "\x1b" not in text
    assert "bad \\x1b[31m[red] name" in text


def test_the_plain_table_is_ascii_and_the_drawn_one_is_not(report):
    assert report.to_text().isascii()
    assert "●" in plain_text(ranking_view(report), 120)


def test_printable_shows_control_characters_and_keeps_letters():
    assert printable("naïve 猫") == "naïve 猫"
    assert printable("a\nb\r\x07\u202e\u2028") == "a\\nb\\r\\x07\\u202e\\u2028"


def test_a_bar_marks_distance_interval_and_floor():
    scale = Scale.over([result(5, 2, 10)], 1, 11)
    assert not scale.is_log
    assert scale.bar(result(5, 2, 8), 1, TYPED) == " :|--o--|  "


def test_distances_far_apart_are_drawn_on_a_logarithmic_scale():
    scale = Scale.over([result(1, 0, 2), result(100, 90, 110)], 1, 30)
    assert scale.is_log
    assert 0 < scale.column(1) < scale.column(10) < scale.column(100) <= 29
    assert scale.column(0) == 0


def test_distances_of_zero_have_a_place_too():
    scale = Scale.over([result(0, 0, 0)], 0, 10)
    assert scale.bar(result(0, 0, 0), 0, TYPED).strip() == "o"


def test_the_csv_has_one_row_for_each_pool_and_measure(report):
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(rows) == 4
    assert {row["measure"] for row in rows} == {"cosine", "js"}
    first = report.candidates[0]
    assert float(rows[0]["distance"]) == first.distance
    assert float(rows[0]["interval_low"]) == first.measures["cosine"].interval[0]


def test_a_spreadsheet_cannot_be_made_to_run_a_name(report):
    assert "'=evil()" in report.to_csv()
    assert csv_text(["a"], [["+1"], ["@x"], [-1.5], ["-"]]) == "a\n'+1\n'@x\n-1.5\n'-\n"
