"""The page of a test bed in a real browser."""

import json

import pytest
from tests.fixtures.browser import all_of, assert_quiet_and_offline, copied_record, one, point_at

from mixmood.report.testbed.page import overview_page

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(bed, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "testbed.html"
    path.write_text(overview_page(bed, "mixmood testbed report"), "utf-8")
    return path.as_uri()


@pytest.fixture
def page(opened, address):
    """The page, opened afresh at desktop width."""
    return opened(address, 1280)


def shown(page, selector):
    return [element for element in all_of(page, selector) if element.is_displayed()]


def choose(page, name, place):
    """Choose as the pointer does; an empty place is `all`."""
    box = one(page, f'input[name="{name}"][value="{place}"]')
    ActionChains(page).move_to_element(box).click().perform()


def test_the_page_loads_without_a_complaint_and_without_the_network(page):
    assert_quiet_and_offline(page)


def test_a_hostile_name_is_shown_and_not_run(page):
    tasks = {cell.text for cell in all_of(page, "td.task")}
    assert tasks == {"<script>alert(1)</script>", "mnist"}
    assert len(all_of(page, "script")) == 2


def test_a_task_chosen_is_the_only_one_shown(page):
    assert len(shown(page, ".plot")) == 12
    assert one(page, "#shown").text == "31 of 31 cells shown"
    choose(page, "task", 1)
    assert {cell.text for cell in shown(page, "td.task")} == {"mnist"}
    assert len(shown(page, ".plot")) == 6
    assert one(page, "#shown").text == "15 of 31 cells shown"
    choose(page, "task", "")
    assert len(shown(page, ".plot")) == 12


def test_a_number_of_labels_chosen_is_the_only_column_and_row_shown(page):
    choose(page, "n-labelled", 1)
    heads = [head.text for head in shown(page, "[aria-labelledby=table1] thead th")]
    assert heads == ["Pool", "Task", "60 labels"]
    labels = shown(page, "[aria-labelledby=table2] tbody td:nth-child(3)")
    assert {cell.text for cell in labels} == {"60"}
    assert len(shown(page, ".wide.plot")) == 2


def test_a_measure_chosen_is_the_only_one_shown(page):
    before = shown(page, "#scatters .plot")
    choose(page, "measure", 0)
    after = shown(page, "#scatters .plot")
    assert len(before) == 2 * len(after) == 8
    assert one(page, "#scatters.single")
    assert {b.text for b in shown(page, "#scatters figcaption b")} == {"cosine"}
    assert len(shown(page, "table.agreement:not(.means) tbody tr")) == 4
    heads = [head.text for head in shown(page, "[aria-labelledby=table2] thead th")]
    assert heads == ["Pool", "Task", "Labels", "cosine"]


def test_filters_go_together_and_work_from_the_keyboard(page):
    choose(page, "task", 1)
    box = one(page, 'input[name="n-labelled"][value=""]')
    page.execute_script("arguments[0].focus()", box)
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.switch_to.active_element.get_attribute("value") == "0"
    assert [b.text for b in shown(page, ".wide.plot figcaption b")] == ["mnist, 20 labels"]


def test_on_paper_everything_is_shown_whatever_was_chosen(opened, address):
    page = opened(address, 1280)
    choose(page, "task", 1)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert len(shown(page, ".plot")) == 12
    assert not one(page, "#filters").is_displayed()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )


def test_a_click_on_a_heading_sorts_and_what_is_missing_stays_last(page):
    button = one(page, "[aria-labelledby=table1] [data-sort=v1]")
    row = "[aria-labelledby=table1] tbody tr"
    for direction in ("descending", "ascending"):
        button.click()
        assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == direction
        values = [each.get_attribute("data-v1") for each in all_of(page, row)]
        assert values[-1] is None
        numbers = [float(value) for value in values[:-1]]
        assert numbers == sorted(numbers, reverse=direction == "descending")


def test_table_3_sorts_from_the_keyboard(page):
    one(page, "[data-sort=measure]").send_keys(Keys.ENTER)
    names = [cell.text for cell in all_of(page, "table.agreement td.name")]
    assert names == ["cosine"] * 4 + ["l2"] * 4


def test_the_pointer_on_a_point_shows_its_cell_value_and_spread(page):
    tip, point = one(page, "#tip"), all_of(page, ".canvas .point")[0]
    point_at(page, point, tip)
    assert "svhn 50\u202f%\naccuracy 0.800 ± 0.020, 3 runs; cosine 5 ± 0.5" in tip.text
    ActionChains(page).move_to_element(one(page, "#scatter")).perform()
    assert not tip.is_displayed()


def test_a_picture_is_one_stop_for_the_keyboard_and_arrows_walk_in_it(page):
    canvas = all_of(page, ".canvas")[0]
    stops = canvas.find_elements(By.CSS_SELECTOR, '.point[tabindex="0"]')
    assert len(stops) == 1
    page.execute_script("arguments[0].focus()", stops[0])
    tip = one(page, "#tip")
    first = tip.text
    assert first
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert tip.is_displayed()
    assert tip.text != first
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_needs_sideways_scrolling(opened, address, width):
    page = opened(address, width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_page_fits_on_paper(opened, address):
    page = opened(address, 720, media="print")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 720


def test_the_button_copies_the_record(page, bed):
    assert copied_record(page) == json.loads(bed.to_json())


def test_every_picture_has_a_text_and_every_control_a_name(page):
    assert not [b for b in all_of(page, "button, summary, input") if not b.accessible_name]
    pictures = all_of(page, ".canvas > svg, [role=img], [role=region]")
    assert pictures
    assert all(picture.get_attribute("aria-label") for picture in pictures)
    hidden = "[aria-hidden], [aria-hidden] *, [role=img] *, [role=group] *"
    bare = f"svg:not([aria-label]):not({hidden})"
    assert not all_of(page, bare)
