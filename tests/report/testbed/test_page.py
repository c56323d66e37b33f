"""The page of a test bed as text: what it holds, and what it never does."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mixmood.report import page as render
from mixmood.report.testbed.page import overview_page
from mixmood.testbed.analysis.tables import Gaps
from mixmood.testbed.cells import SUPERVISED

COMMAND = "mixmood testbed report --store '<script>alert(1)</script>'"


class Tags(HTMLParser):
    """Every start tag with its attributes, and the text between tags."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def having(self, name):
        return [attrs for _, attrs in self.tags if name in attrs]


def drawn(record):
    return overview_page(record, COMMAND)


def only(record, **wanted):
    """The record with those rows alone that have these values."""

    def takes(row):
        return all(getattr(row, key, value) == value for key, value in wanted.items())

    names = ("accuracies", "distances", "agreements", "lines")
    kept = {name: [row for row in getattr(record.tables, name) if takes(row)] for name in names}
    return with_tables(record, **kept, overall=[row for row in record.overall if takes(row)])


def with_tables(record, overall=None, extremes=None, best_measure="cosine", **changes):
    """The record with other tables."""
    return replace(
        record,
        tables=replace(record.tables, **changes),
        overall=record.overall if overall is None else overall,
        extremes=record.extremes if extremes is None else extremes,
        best_measure=best_measure,
    )


WITHOUT_MEASURES = {
    "distances": [], "agreements": [], "overall": [], "lines": [], "best_measure": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def page(bed):
    return drawn(bed)


def test_the_page_is_the_golden_page(assert_golden, bed):
    assert_golden("testbed", drawn, bed)


def test_hostile_names_make_no_element_and_no_attribute(page):
    tags = Tags(page).tags
    assert [tag for tag, _ in tags].count("script") == 2
    assert not [tag for tag, _ in tags if tag == "img"]
    names = {name for _, attrs in tags for name in attrs}
    assert not [name for name in names if name.startswith("on")]
    assert "style" not in names
    assert "<script>alert(1)</script>" not in page


def test_the_page_names_no_address(page):
    assert not re.findall(r"https?://|url\(|@import", page)


def test_the_embedded_json_is_the_record(page, bed):
    text = re.search(r'id="record">(.*?)</script>', page, re.S)[1]
    assert json.loads(text) == json.loads(bed.to_json())


def test_the_answer_gaps_and_failures_stand_at_the_top(page):
    top = page[: page.index("<main")]
    for text in (
        "Nearer pools gave better models.", "</b>: best with", "Incomplete: 3 of 96 runs",
        "No run: <bdi>mnist</bdi>, <bdi>gaussian 100\u202f%</bdi>, 60 labels",
        "2 failed: ValueError", "2 h 30 min", "93 <small>of 96, 2 failed",
    ):  # fmt: skip
        assert text in top, text


def test_a_whole_test_bed_has_nothing_to_warn_of(bed):
    page = drawn(replace(with_tables(bed, gaps=Gaps(96, 0, 0, ())), failures=[]))
    assert "not complete" not in page
    assert "Marks are means of all runs that are there" not in page


def test_many_cells_without_a_run_are_counted_not_listed(bed):
    page = drawn(with_tables(bed, gaps=Gaps(96, 3, 2, bed.tables.gaps.empty_cells * 9)))
    assert page.count("No run:") == 6
    assert "and 3 more cells without a run" in page


def test_every_cell_is_in_table_1_and_the_gap_is_said(page, bed):
    assert page.count('class="cell"') == len(bed.tables.accuracies) == 31
    assert page.count('<span class="none">no run</span>') == 1
    assert page.count('<span class="mark">best</span>') == 4 + 1  # and the best measure


def test_a_distance_that_is_not_significant_is_marked(page, bed):
    weak = [row for row in bed.tables.distances if not row.is_significant]
    assert page.count(">n.s.</abbr>") == len(weak) > 0


def test_every_group_and_measure_has_its_picture(page):
    labels = [attrs["aria-label"] for attrs in Tags(page).having("aria-label")]
    assert len([text for text in labels if "accuracy against cosine, r \u22121.00" in text]) == 4
    assert len([text for text in labels if "accuracy against l2." in text]) == 4
    shares = [text for text in labels if "against the share of out-of-distribution" in text]
    assert len(shares) == 4
    assert all("supervised, same epochs 0.600" in text for text in shares)


def test_a_point_tells_its_cell_value_and_spread(page):
    points = [attrs for attrs in Tags(page).having("data-text") if attrs["data-title"]]
    told = {(attrs["data-title"], attrs["data-text"]) for attrs in points}
    assert (
        "svhn 50\u202f%",
        "accuracy 0.800 ± 0.020, 3 runs; cosine 5 ± 0.5, not significant",
    ) in told
    assert ("gaussian 100\u202f%", "accuracy 0.550 ± 0.020, 3 runs; cosine 30") in told
    assert ("no contamination", "accuracy 0.900 ± 0.020, 3 runs") in told


def test_there_are_filters_for_what_can_be_chosen_only(page, bed):
    names = {attrs["name"] for tag, attrs in Tags(page).tags if tag == "input"}
    assert names == {"task", "n-labelled", "measure"}
    one = drawn(only(bed, task="mnist", n_labelled=20, measure="cosine"))
    assert 'id="filters"' not in one
    assert 'class="scatters single"' in one


def test_algorithms_and_contaminations_are_filters_where_there_are_several(bed):
    def other(row):
        return replace(row, algorithm="fixmatch", contamination="fixed-inliers")

    more = [other(row) for row in bed.tables.accuracies if row.percent > 0]
    page = drawn(with_tables(bed, accuracies=bed.tables.accuracies + more))
    tags = Tags(page)
    names = {attrs["name"] for tag, attrs in tags.tags if tag == "input"}
    assert {"algorithm", "contamination"} <= names
    lines = [attrs for attrs in tags.having("data-v0") if "data-algorithm" not in attrs]
    assert {attrs["data-name"] for attrs in lines} == {"supervised, same epochs"}
    assert "fixmatch, fixed-inliers" in page


def test_one_task_needs_no_column_of_tasks(bed):
    assert 'class="task"' in drawn(bed)
    assert 'class="task"' not in drawn(only(bed, task="mnist"))


def test_without_measures_accuracy_stands_alone(bed):
    page = drawn(with_tables(bed, **WITHOUT_MEASURES))
    assert "nothing to correlate" in page
    assert "Accuracy against the share" in page
    for title in (">Accuracy against distance<", "Table 2", "Best of the measures"):
        assert title not in page


def test_baselines_alone_have_a_table_and_no_picture(bed):
    rows = [row for row in bed.tables.accuracies if row.is_supervised]
    page = drawn(with_tables(bed, **WITHOUT_MEASURES, accuracies=rows, extremes=[]))
    assert page.count('class="cell"') == 4
    assert 'class="canvas"' not in page


def test_a_single_seed_has_no_intervals(bed):
    bare = {"pearson_interval": None, "regret_interval": None}
    rows, overall = (
        [replace(row, **bare) for row in each] for each in (bed.tables.agreements, bed.overall)
    )
    page = drawn(with_tables(bed, agreements=rows, overall=overall))
    assert "\u22120.95 to \u22120.80" not in page
    assert "\u22120.91" in page


def test_the_paper_stands_beside(bed):
    rows = [replace(row, paper=0.5 if row.percent else None) for row in bed.tables.accuracies]
    page = drawn(with_tables(bed, accuracies=rows, has_paper=True))
    assert "paper 0.500, +0.300" in page
    assert "ours minus the paper" in page


@pytest.mark.parametrize("baseline", SUPERVISED)
def test_the_line_of_every_supervised_baseline_has_a_stroke(baseline):
    """A line of SVG without a stroke is invisible."""
    rules = re.findall(r"^([^{}]*)\{[^}]*stroke: ", render._asset("page.css"), re.MULTILINE)
    assert f".{baseline}" in [name.strip() for rule in rules for name in rule.split(",")]


def test_accuracies_all_alike_can_be_drawn(bed):
    rows = [replace(row, accuracy_mean=1.0, accuracy_spread=None) for row in bed.tables.accuracies]
    assert "accuracy 1.000, 3 runs" in drawn(with_tables(bed, accuracies=rows, lines=[]))


def test_a_task_at_chance_has_no_best_pool(bed):
    """The preset `smoke` learns nothing, and any order of its pools is noise."""
    found = [replace(each, is_above_chance=False) for each in bed.extremes]
    page = drawn(replace(bed, extremes=found))
    assert "no model is better than chance" in page
    assert "with any of the 3 sources at 100" in page
    assert "</b>: best with" not in page


def test_names_that_are_not_unicode_can_still_be_written(bed):
    assert "caf" in drawn(replace(bed, store="caf\udce9")).encode().decode()


def test_the_same_record_gives_the_same_page(page, bed):
    assert drawn(bed) == page
