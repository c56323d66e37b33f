"""The page of a ranking as text: what it holds, and what it never does."""

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace

import pytest
from tests.fixtures.html_tags import Tags

from mixmood.report.charts import Axis
from mixmood.report.ranking.page import coverage, ranking_page

COMMAND = "mixmood rank labels/ clinic=a.zip '<script>alert(1)</script>=b' && true"


@pytest.fixture
def page(ranking, material):
    return ranking_page(ranking, material, COMMAND, 12.3)


def test_the_page_is_the_golden_page(assert_golden, ranking, material):
    assert_golden("ranking", ranking_page, ranking, material, COMMAND, 12.3)


def test_hostile_names_make_no_element_and_no_attribute(page):
    found = Tags(page)
    assert [tag for tag, _ in found.tags].count("script") == 3
    assert "i" not in [tag for tag, _ in found.tags]
    images = [attrs for tag, attrs in found.tags if tag == "img"]
    assert all(attrs.get("src", "data:").startswith("data:") for attrs in images)
    names = {name for _, attrs in found.tags for name in attrs}
    assert not [name for name in names if name.startswith("on")]
    assert "style" not in names


def test_the_embedded_json_is_the_record(page, ranking):
    record = Tags(page).scripts[0]
    assert not set("<>&\u2028\u2029") & set(record)
    assert json.loads(record) == json.loads(ranking.to_json())


def test_line_separators_in_a_name_stay_inside_the_json(ranking):
    odd = replace(ranking, best="a\u2028b\u2029c")
    assert json.loads(Tags(ranking_page(odd)).scripts[0])["best"] == "a\u2028b\u2029c"


def test_only_this_style_and_this_script_may_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    policy = policy.replace("&#39;", "'").replace("&#43;", "+")
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    script = re.findall(r"<script>(.*?)</script>", page, re.S)[-1]
    for text in (style, script):
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_the_page_names_no_address(page):
    assert not re.findall(r"https?://", page)
    assert not re.findall(r"url\(|@import", page)


def test_names_that_are_not_unicode_can_still_be_written(ranking):
    odd = replace(ranking.candidates[0], name="caf\udce9")
    page = ranking_page(replace(ranking, candidates=(odd,)))
    assert "caf" in page.encode().decode()


def test_everything_that_explains_a_ranking_is_there(page, ranking):
    for text in (
        "P = 0.90", "Chance of being nearest</dt>", "Noise floor", "31\u202f%",
        "misses &lt;b&gt;dog&lt;/b&gt;", "The sample size is 40 instead of &lt;b&gt;80&lt;/b&gt;.",
        "images in grey.", "12 s", "numpy 2.4.6", ranking.backbone["weights_sha256"],
        "ef" * 32, "&amp;&amp; true", "Copy the record",
    ):  # fmt: skip
        assert text in page, text


def test_measures_that_disagree_are_marked(page):
    assert "They disagree on the nearest pool" in page
    assert page.count('class="mark"') == 2


def test_one_measure_needs_no_comparison(ranking, material):
    assert "Do the measures agree?" not in ranking_page(_only_cosine(ranking), material)


def test_measures_that_agree_say_so(ranking):
    same = {"l2": ranking.noise_floor["l2"], "js": ranking.noise_floor["l2"]}
    candidates = tuple(
        replace(c, measures={"l2": c.measures["cosine"], "js": c.measures["cosine"]})
        for c in ranking.candidates
    )
    page = ranking_page(replace(ranking, measure="l2", noise_floor=same, candidates=candidates))
    assert "Both measures put" in page
    assert 'class="mark"' not in page


def test_without_pictures_the_numbers_stand_alone(ranking):
    page = ranking_page(ranking)
    assert "How near each pool is" in page
    for title in (">The map<", ">What is in the pools<", ">Time taken<"):
        assert title not in page


def test_features_without_pictures_have_a_map_and_no_gallery(ranking, material):
    blind = replace(
        material,
        labelled=_blind(material.labelled),
        pools={k: _blind(v) for k, v in material.pools.items()},
    )
    page = ranking_page(ranking, blind)
    assert ">The map<" in page
    assert "What is in the pools" not in page
    assert "data:image" not in page


def with_classes(ranking, names, n_pools, shares):
    """The ranking with other classes and more pools."""
    counts = dict.fromkeys(names, 10)
    own = [
        replace(ranking.candidates[k % 3], name=f"pool {k}", rank=k + 1, classes=shares)
        for k in range(n_pools)
    ]
    labelled = replace(ranking.labelled, classes=counts)
    return replace(ranking, candidates=tuple(own), labelled=labelled)


def test_an_unlabelled_base_has_no_table_of_classes(ranking):
    bare = replace(ranking, labelled=replace(ranking.labelled, classes=None))
    assert "Which classes the pools look like" not in ranking_page(bare)


def test_a_long_list_of_missed_classes_is_cut_short(ranking):
    names = [f"class {i}" for i in range(10)]
    shares = {name: float(name == "class 0") for name in names}
    page = ranking_page(with_classes(ranking, names, 3, shares))
    assert "misses class 1, class 2, class 3 and 6 more." in page
    assert "more pool" not in page


@pytest.mark.parametrize(
    ("n_pools", "words"), [(4, "1 more pool misses some."), (5, "2 more pools miss some.")]
)
def test_one_more_pool_is_not_called_pools(ranking, n_pools, words):
    page = ranking_page(with_classes(ranking, ["a", "b"], n_pools, {"a": 1.0, "b": 0.0}))
    assert words in page


def test_the_table_of_classes_has_the_longer_list_as_rows(ranking):
    shares = {"a": 0.5, "b": 0.5}
    many = coverage(with_classes(ranking, ["a", "b"], 10, shares))
    assert [name for name, _ in many["heads"]] == ["a", "b"]
    assert [name for name, _, _ in many["rows"]][:2] == ["my & labels", "pool 0"]
    few = coverage(with_classes(ranking, [*"abcdef"], 2, dict.fromkeys("abcdef", 1 / 6)))
    assert [name for name, _ in few["heads"]] == ["my & labels", "pool 0", "pool 1"]
    assert len(few["rows"]) == 6


def test_one_pool_alone_has_no_chance_of_being_nearest(ranking):
    page = ranking_page(replace(ranking, candidates=ranking.candidates[:1]))
    assert "Chance of being nearest</dt>" not in page


def test_the_same_record_gives_the_same_page(page, ranking, material):
    assert ranking_page(ranking, material, COMMAND, 12.3) == page


def test_distances_of_zero_can_be_drawn(ranking):
    zero = replace(
        ranking.candidates[0].measures["cosine"],
        distance=0.0, interval=(0.0, 0.0), inter=(1.0, 1.0), intra=(1.0, 1.0),
    )  # fmt: skip
    flat = _only_cosine(replace(ranking, candidates=ranking.candidates[:1]))
    flat = replace(flat, candidates=(replace(flat.candidates[0], measures={"cosine": zero}),))
    floor = replace(ranking.noise_floor["cosine"], upper=0.0)
    page = ranking_page(replace(flat, noise_floor={"cosine": floor}))
    assert '<circle class="dot" cx="0.0%"' in page


@pytest.mark.parametrize("axis", [Axis(0, 7.3), Axis(0, 78, True), Axis(0, 0.002), Axis(-3, 1234)])
def test_ticks_are_round_in_order_and_on_the_axis(axis):
    ticks = axis.ticks()
    assert 3 <= len(ticks) <= 8
    assert all(0 <= tick.at <= 100 for tick in ticks)
    assert [tick.value for tick in ticks] == sorted({tick.value for tick in ticks})
    assert [tick.at for tick in ticks] == sorted({tick.at for tick in ticks})


def test_only_distances_far_apart_are_spaced_by_roots():
    assert Axis.of_distances([1.0, 50.0], [60.0]).is_root
    assert not Axis.of_distances([10.0, 50.0], [60.0]).is_root


def _blind(view):
    def bare(tiles):
        return tuple(replace(tile, uri=None) for tile in tiles)

    return replace(
        view, tiles=bare(view.tiles), nearest=bare(view.nearest), farthest=bare(view.farthest)
    )


def _only_cosine(ranking):
    candidates = tuple(
        replace(c, measures={"cosine": c.measures["cosine"]}) for c in ranking.candidates
    )
    floor = {"cosine": ranking.noise_floor["cosine"]}
    return replace(ranking, candidates=candidates, noise_floor=floor)
