"""The page of a ranking in a real browser."""

import json
from dataclasses import replace

import pytest
from tests.fixtures.browser import all_of, assert_quiet_and_offline, copied_record, one, point_at

from mixmood.core.records.ranking import Probe, ShareRecord
from mixmood.report.ranking.page import ranking_page

pytest.importorskip("selenium", reason="selenium is not installed")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(ranking, material, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(ranking_page(ranking, material, "mixmood rank a b", 3.0), "utf-8")
    return path.as_uri()


@pytest.fixture
def page(opened, address):
    """The page, opened afresh at desktop width."""
    return opened(address, 1280)


def column(page):
    return [cell.text for cell in all_of(page, "table.order tbody bdi")]


def background(page):
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_the_page_loads_without_a_complaint_and_without_the_network(page):
    assert_quiet_and_offline(page)


def test_a_hostile_name_is_shown_and_not_run(page, ranking):
    assert column(page) == [candidate.name for candidate in ranking.candidates]
    assert len(all_of(page, "script")) == 3
    assert not all_of(page, "img[onerror]")


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_the_order(page):
    before = column(page)
    button = one(page, "button[data-sort=distance]")
    button.click()
    assert column(page) == before
    button.click()
    assert column(page) == before[::-1]
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    assert len(all_of(page, "th[aria-sort]")) == 1


def test_the_likeliest_come_first_where_more_is_better(page):
    before = column(page)
    button = one(page, "button[data-sort=chance]")
    button.click()
    assert column(page) == before
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"


def test_the_table_sorts_from_the_keyboard(page):
    one(page, "button[data-sort=name]").send_keys(Keys.ENTER)
    names = page.execute_script(
        "return [...arguments[0]].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))",
        column(page),
    )
    assert column(page) == names


def test_the_pointer_on_a_point_shows_its_picture(page):
    hover, point = one(page, "#hover"), all_of(page, ".point")[0]
    point_at(page, point, hover)
    assert hover.find_element(By.TAG_NAME, "img").get_attribute("src").startswith("data:image")
    assert point.get_attribute("data-place") in hover.text
    ActionChains(page).move_to_element(one(page, "h1")).perform()
    assert not hover.is_displayed()


def test_the_map_is_one_stop_for_the_keyboard_and_arrows_walk_on_it(page):
    stops = all_of(page, '.point[tabindex="0"]')
    assert len(stops) == 1
    page.execute_script("arguments[0].focus()", stops[0])
    hover = one(page, "#hover")
    assert hover.is_displayed()
    first = hover.text
    page.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert hover.is_displayed()
    assert hover.text != first
    second = hover.text
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert hover.text != second
    assert len(all_of(page, '.point[tabindex="0"]')) == 1
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not hover.is_displayed()


def test_the_legend_takes_a_set_off_the_map_and_puts_it_back(page):
    button = all_of(page, ".legend button")[0]
    n_shown = len([point for point in all_of(page, ".cloud") if point.is_displayed()])
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert len([point for point in all_of(page, ".cloud") if point.is_displayed()]) == n_shown - 1
    button.send_keys(Keys.SPACE)
    assert len([point for point in all_of(page, ".cloud") if point.is_displayed()]) == n_shown


def test_the_button_copies_the_record(page, ranking):
    assert copied_record(page) == json.loads(ranking.to_json())


def test_where_copying_is_not_allowed_the_record_is_selected(page, ranking):
    page.execute_script("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    one(page, "#copy").click()
    assert "Ctrl+C" in one(page, "#copied").text
    selected = page.execute_script("return String(getSelection())")
    assert json.loads(selected) == json.loads(ranking.to_json())


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_needs_sideways_scrolling(opened, address, width):
    page = opened(address, width)
    script = "return document.documentElement.scrollWidth"
    assert page.execute_script(script) <= width


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_width_needs_sideways_scrolling_for_the_gains(opened, ranking, tmp_path, width):
    gain = Probe(4.0, (2.0, 7.0), 0.9, "mixmatch", 4.0, 1.0, 80.0, True, 1000, None, 60, 1.0)
    share = ShareRecord(0.9, (0.8, 1.0))
    pools = tuple(replace(one, probe=gain, useful_share=share) for one in ranking.candidates)
    path = tmp_path / "report.html"
    path.write_text(ranking_page(replace(ranking, by="gain", candidates=pools)), "utf-8")
    page = opened(path.as_uri(), width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    strip = "return document.querySelector('.gains .strip').getBoundingClientRect().width"
    assert page.execute_script(strip) >= 100


def test_dark_mode_is_dark_and_paper_is_white(opened, address):
    light = background(opened(address, 1280))
    dark = background(opened(address, 1280, "dark"))
    assert light != dark
    printed = opened(address, 1280, "dark", "print")
    assert background(printed) == "rgb(255, 255, 255)"
    assert not one(printed, "#copy").is_displayed()


def test_every_picture_has_a_text_and_every_control_a_name(page):
    assert not all_of(page, "img:not([alt])")
    unnamed = [b for b in all_of(page, "button, summary") if not b.accessible_name]
    assert not unnamed
    drawn = all_of(page, "svg:not([aria-hidden])")
    assert drawn
    assert all(picture.get_attribute("aria-label") for picture in drawn)
