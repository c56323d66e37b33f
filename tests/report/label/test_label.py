"""The page to label on, as text and in a real browser, and the tasks of Label Studio."""

import csv
import io
import json
import time

import numpy as np
import pytest
from tests.fixtures.browser import all_of, assert_quiet_and_offline, one
from tests.fixtures.hostile_names import BREAKOUT, EVIL
from tests.fixtures.html_tags import Tags

from mixmood.api.outputs import pictures_of
from mixmood.core.errors import InputError
from mixmood.core.records.labelling import MOST_IMAGES, LabelImage, LabelTask
from mixmood.data.images.labels import KEEP, LABELS_COLUMNS, NONE
from mixmood.data.open import open_pool
from mixmood.report.label import label_page, label_studio_tasks

PATIENCE = 30  # how often a page is loaded again on a machine under load
CLASSES = ("cat", EVIL, '=1+"1",\nx')
PATHS = ("a.png", BREAKOUT, 'b,"c"\n.png', "-d.png")
GUESSES = (("cat", 0.6), (EVIL, 0.4))
TASK = LabelTask(
    "Which class?",
    "Four images",
    CLASSES,
    tuple(
        LabelImage("crawl", path, 10 + k, GUESSES, "cat" if k == 1 else None, "unsure")
        for k, path in enumerate(PATHS)
    ),
    "mixmood train labelled --labels mixmood-labels.csv",
)


@pytest.fixture(scope="module")
def pictures():
    pool = open_pool(np.arange(4 * 24 * 32 * 3, dtype=np.uint8).reshape(4, 24, 32, 3), "crawl")
    images = [LabelImage("crawl", "", k) for k in range(4)]
    return pictures_of(images, {"crawl": pool})


def test_hostile_names_make_no_element(pictures):
    found = Tags(label_page(TASK, pictures))
    assert [tag for tag, _ in found.tags].count("script") == 3
    assert json.loads(found.scripts[0]) == json.loads(TASK.to_json())


def test_features_and_too_many_images_have_no_page():
    pool = open_pool(np.zeros((3, 4), np.float32), "crawl")
    with pytest.raises(InputError, match="holds features"):
        pictures_of([LabelImage("crawl", "x", 0)], {"crawl": pool})
    with pytest.raises(InputError, match="at most 500 pictures; got 501"):
        pictures_of([LabelImage("crawl", "x", 0)] * (MOST_IMAGES + 1), {})


def test_tasks_of_label_studio_have_a_prediction_of_choices(pictures):
    """The format of https://labelstud.io/guide/predictions, for an Image and Choices."""
    tasks = json.loads(label_studio_tasks(TASK, [*pictures[:3], None]))
    results = [one["predictions"][0]["result"][0] for one in tasks]
    assert len({one["id"] for one in results}) == len(results)
    assert len(tasks) == 3
    assert tasks[1]["data"]["image"].startswith("data:image/jpeg;base64,")
    assert [tasks[1]["data"][name] for name in LABELS_COLUMNS[:3]] == ["crawl", BREAKOUT, 11]
    (prediction,) = tasks[1]["predictions"]
    assert prediction["score"] == 0.6
    assert prediction["model_version"].startswith("mixmood ")
    assert prediction["result"] == [
        {
            "id": "mixmood-1",
            "from_name": "label",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["cat"]},
        }
    ]


@pytest.fixture
def page(opened, pictures, tmp_path, request):
    """The page at some width, with nothing kept from before; it saves into `tmp_path`."""
    task, width, scheme = getattr(request, "param", (TASK, 1280, "light"))
    path = tmp_path / "label.html"
    path.write_text(label_page(task, pictures), "utf-8")
    browser = opened(path.as_uri(), width, scheme)
    browser.execute_script("localStorage.clear()")
    browser.refresh()
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    return browser


def press(page, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(page).send_keys(key).perform()


def saved(tmp_path):
    """The labels that the page has saved, as rows."""
    file = tmp_path / "mixmood-labels.csv"
    for _ in range(100):
        if file.exists() and file.stat().st_size:
            break
        time.sleep(0.05)
    return list(csv.reader(io.StringIO(file.read_bytes().decode(), newline="")))


def assert_kept(page, wanted):
    """The page says so when it is loaded again: Chromium keeps what is stored a little later."""
    for _ in range(PATIENCE):
        time.sleep(0.5)
        page.refresh()
        if one(page, "#count").text == wanted:
            break
    assert one(page, "#count").text == wanted


@pytest.mark.slow
def test_keys_answer_undo_add_a_class_and_save(page, tmp_path):
    assert_quiet_and_offline(page)
    press(page, "2", "\ue007", "0")  # the second class, Enter for the guess, none
    assert one(page, "#count").text == "3 of 4 answered"
    press(page, "u", "x", "n")
    press(page, "(none)\ue007")
    assert "meaning of its own" in one(page, "#told").text
    press(page, "n", "=lynx, Iberian\ue007")
    assert one(page, "#count").text == "4 of 4 answered"
    assert_kept(page, "4 of 4 answered")
    assert one(page, "#choices [aria-pressed=true] .name").text == "=lynx, Iberian"
    press(page, "s")
    assert saved(tmp_path) == [
        list(LABELS_COLUMNS),
        ["crawl", PATHS[0], "10", EVIL],
        ["crawl", PATHS[1], "11", "cat"],
        ["crawl", PATHS[2], "12", NONE],
        ["crawl", "'-d.png", "13", "'=lynx, Iberian"],
    ]
    assert TASK.command in one(page, "#told").text
    assert page.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.parametrize("page", [(TASK, 390, "dark")], indirect=True)
def test_the_mouse_does_the_same_on_a_dark_phone(page, tmp_path):
    body = "return getComputedStyle(document.body).backgroundColor"
    assert page.execute_script(body) == "rgb(20, 22, 26)"
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    assert not [button for button in all_of(page, "button") if not button.accessible_name]
    all_of(page, "#choices button")[2].click()
    all_of(page, "#all button")[3].click()
    all_of(page, "#choices button")[-1].click()
    one(page, "#undo").click()
    assert one(page, "#place").text == "Image 4 of 4"
    one(page, "#back").click()
    one(page, "#picture").click()
    assert "own" in one(page, ".stage").get_attribute("class")
    one(page, "#word").send_keys("lynx")
    one(page, "#new button").click()
    one(page, "#save").click()
    assert saved(tmp_path)[1:] == [
        ["crawl", PATHS[0], "10", "'" + CLASSES[2]],
        ["crawl", PATHS[2], "12", "lynx"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [(LabelTask("Keep?", "", (), TASK.images), 1280, "light")], indirect=True
)
def test_images_of_a_filter_are_kept_or_dropped(page, tmp_path):
    press(page, "1", "d", "2", "k")
    press(page, "s")
    assert [row[3] for row in saved(tmp_path)[1:]] == [KEEP, NONE, NONE, KEEP]
