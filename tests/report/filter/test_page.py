"""The page and the lines of a filter: what they hold, and what they never do."""

import json
from dataclasses import replace

from tests.fixtures.html_tags import Tags

from mixmood.core.records.filtering import FilterMaterial
from mixmood.report.filter import filter_lines, filter_page

COMMAND = "mixmood filter labels/ '<script>alert(1)</script>' --out kept.csv && true"


def test_the_page_is_the_golden_page(assert_golden, filtering, filter_material):
    assert_golden("filter", filter_page, filtering, filter_material, COMMAND)


def test_hostile_names_make_no_element_and_no_attribute(filtering, filter_material):
    found = Tags(filter_page(filtering, filter_material, COMMAND))
    tags = [tag for tag, _ in found.tags]
    assert tags.count("script") == 2
    assert "u" not in tags
    names = {name for _, attrs in found.tags for name in attrs}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    images = [attrs for tag, attrs in found.tags if tag == "img"]
    assert all(attrs["src"].startswith("data:") for attrs in images)


def test_the_embedded_json_is_the_record(filtering, filter_material):
    record = Tags(filter_page(filtering, filter_material)).scripts[0]
    assert not set("<>&") & set(record)
    assert json.loads(record) == json.loads(filtering.to_json())


def test_a_page_without_pictures_classes_or_threshold_is_drawn(filtering, filter_material):
    bare = replace(
        filtering,
        classes=None,
        probe=None,
        answer="",
        next=None,
        threshold=None,
        typical=None,
        n_kept=0,
        reasons={},
    )
    page = filter_page(bare, FilterMaterial(filter_material.histogram, (), 0))
    assert "Images to look at before training" not in page
    assert "inter-mean" not in page.split("</style>")[1].split("<script")[0]


def test_the_input_of_the_network_is_written_in_words(filtering, filter_material):
    page = filter_page(filtering, filter_material)
    assert "<dd>channels last (NHWC); uint8 values from 0 to 255</dd>" in page
    assert "{&#39;layout" not in page


def test_the_lines_say_how_much_was_kept_and_why_the_rest_was_not(filtering):
    text = "\n".join(filter_lines(filtering))
    assert "1,200 of 4,000 images of <script>alert(1)</script> kept (30 %)." in text
    assert "Useful share: 30 % (22 to 41). Near foreign classes" in text
    assert "as 93 % of your labelled images do" in text
    assert "Dropped: 2,797 unlike the labelled images, 3 cannot be read." in text
    assert "-1.5 points (-4.0 to +1.0) whole pool, +3.2 points (+0.5 to +6.0) kept part" in text
    assert "Note: <u>Odd</u> pool." in text


def test_terminal_and_page_say_whether_to_use_the_kept_part_and_what_to_type(
    filtering, filter_material
):
    lines = filter_lines(filtering)
    assert lines[1] == filtering.answer
    assert lines[-1] == f"Next: {filtering.next}"
    page = filter_page(filtering, filter_material)
    headline = page[page.index("<h1") : page.index("</h1>")]
    assert "Use the &lt;b&gt;kept&lt;/b&gt; images" in headline
    assert "kept.csv --out run-kept</code>" in page
    without = filter_page(replace(filtering, answer="", next=None), filter_material)
    assert "1,200 of 4,000" in without[without.index("<h1") : without.index("</h1>")]
