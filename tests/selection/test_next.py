"""Which images of a pool are worth a label."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.cli.conftest import blocks, save, stripes
from tests.fixtures.world import World
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.core.errors import InputError, OptionError
from mixmood.core.records.labelling import Proposals
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray
from mixmood.data.readers.kept import parts_of
from mixmood.selection import next as next_module
from mixmood.selection.filter import ScannedPool
from mixmood.selection.next import (
    MOST_CANDIDATES,
    candidates_of,
    chosen_images,
    is_foreign,
    not_foreign,
)

NAMES = ("a", "b", "c")
ANSWERED = (*range(8), 60, 61, 62)


def rows_of(name, rows, codes=None):
    """Rows of features, with classes or without."""
    labels = None if codes is None else Labels(np.asarray(codes, np.int32), NAMES)
    return FeatureArray(rows, name, labels)


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def half_foreign(world):
    """24 labelled rows; a pool of 60 useful ones, then 60 foreign ones, then 2 copies."""
    rows, foreign = world.useful(60)[0], world.foreign(60)
    own = rows_of("labelled", *world.useful(24))
    copies = np.stack([rows[0], own.features(np.array([1]))[0]])
    return own, rows_of("pool", np.concatenate([rows, foreign, copies]))


@pytest.fixture(scope="module")
def proposed(half_foreign):
    return mixmood.next(*half_foreign, count=12, cache=None)


def test_foreign_images_and_copies_are_not_proposed(proposed):
    indices = [one.index for one in proposed.record.images]
    assert len(set(indices)) == 12
    assert max(indices) < 60
    assert min(one.useful for one in proposed.record.images) > 0.5


def test_the_same_inputs_give_the_same_bytes(proposed, half_foreign):
    assert mixmood.next(*half_foreign, count=12, cache=None).to_json() == proposed.to_json()


def test_the_record_is_loaded_as_it_was_written(proposed, tmp_path):
    proposed.to_json(tmp_path / "next.json")
    assert mixmood.load(tmp_path / "next.json").to_json() == proposed.to_json()
    assert proposed.to_dataframe()["path"].tolist() == proposed.paths


def test_every_proposal_says_why_and_the_answer_says_what_it_is_worth(proposed):
    record = proposed.record
    assert all(one.reason and len(one.guesses) == 3 for one in record.images)
    assert record.answer.startswith(("Label these 12 images", "Use pool without labels first"))
    if record.worth is not None:
        assert record.worth.chosen > record.worth.random > 0


def test_the_proposed_images_are_a_pool(proposed):
    assert len(proposed.as_pool()) == 12
    assert mixmood.embed(proposed, cache=None).shape[0] == 12


def test_nothing_of_a_foreign_pool_is_worth_a_label(half_foreign, world, tmp_path):
    foreign = rows_of("crawl", world.foreign(120))
    found = mixmood.next(half_foreign[0], foreign, cache=None, out=tmp_path / "next.csv")
    assert found.record.images == ()
    assert "Nothing here is worth a label: the useful share of crawl is 0 %" in found.record.answer
    assert (tmp_path / "next.csv").read_text().count("\n") == 1


def test_a_few_typical_images_of_surely_foreign_pools_are_not_proposed(proposed):
    """Of hundreds of foreign images some score like labelled ones."""
    scorer = SimpleNamespace(filter=SimpleNamespace(useful=SimpleNamespace(interval=(0.0, 0.03))))
    found = {"pool": SimpleNamespace(scorer=scorer)}
    images = [replace(one, useful=0.06) for one in proposed.record.images]
    assert is_foreign(images, found)
    assert not is_foreign([*images, replace(images[0], useful=0.2)], found)
    scorer.filter.useful.interval = (0.0, 0.3)
    assert not is_foreign(images, found)


def test_too_few_labelled_images_are_refused(world):
    own = rows_of("labelled", world.useful(3)[0], [0, 0, 1])
    with pytest.raises(InputError, match="At least 4 labelled images that can be read are needed"):
        mixmood.next(own, rows_of("pool", world.useful(60)[0]), cache=None)


def test_more_pictures_than_a_page_holds_are_refused_before_anything_is_read():
    words = ["next", "none", "none", "--count", "501", "--html", "label.html"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "at most 500 pictures; --count is 501" in result.stderr


def test_all_useful_images_of_a_small_pool_are_proposed(half_foreign, world):
    few = rows_of("few", world.useful(6)[0])
    record = mixmood.next(half_foreign[0], few, cache=None).record
    assert 0 < len(record.images) <= 6
    assert any("20 were asked for" in warning for warning in record.warnings)


def test_answers_of_a_round_leave_the_pool_and_teach_whatis_foreign(half_foreign, tmp_path):
    """Labelled images, and foreign ones that a person called none of the classes."""
    pool = half_foreign[1]
    rows = [f"pool,{pool.locate(k)},{k},{'(none)' if k >= 60 else NAMES[k % 3]}" for k in ANSWERED]
    (tmp_path / "labels.csv").write_text("\n".join(["pool,path,index,label", *rows]) + "\n")
    labels = (str(tmp_path / "labels.csv"),)
    record = mixmood.next(*half_foreign, count=12, cache=None, labels=labels).record
    assert record.n_labelled == 24 + 8
    assert record.labels_file == "mixmood-labels-2.csv"  # the first round is not overwritten
    assert len(record.images) == 12
    assert not {one.index for one in record.images} & {*ANSWERED, *range(60, 122)}


def test_an_answer_for_an_image_that_the_list_left_out_changes_nothing(half_foreign, tmp_path):
    labelled, pool = half_foreign
    kept = parts_of([(pool, np.arange(100))], "kept")
    file = tmp_path / "labels.csv"
    file.write_text(f"pool,path,index,label\n{pool.name},{pool.locate(110)},110,(none)\n")
    found = mixmood.next(labelled, kept, count=5, cache=None, labels=(str(file),))
    plain = mixmood.next(labelled, kept, count=5, cache=None)
    assert found.paths == plain.paths


def test_images_like_foreign_ones_are_less_useful():
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(3), 10, axis=0) * 4 + rng.random((30, 3))
    own, codes, others = rows[:16], np.repeat([0, 1], [10, 6]), rows[20:25]
    assert not_foreign(own, codes, others, rows[25:]).max() < 0.5
    assert not_foreign(own, codes, others, rows[16:20]).min() > 0.5
    assert (not_foreign(own, codes, others[:1], rows) == 1).all()


def test_two_images_of_two_classes_are_enough(world):
    rows, codes = world.useful(4)
    own = rows_of("labelled", rows, [0, 0, 1, 1])
    record = mixmood.next(own, rows_of("pool", world.useful(60)[0]), count=3, cache=None).record
    assert len(record.images) == 3
    assert record.worth is None
    assert len(codes) == 4


@pytest.mark.parametrize(
    ("codes", "message"),
    [(None, "labelled has no classes"), (np.zeros(8, int), "images of one class")],
)
def test_labelled_images_need_two_classes(world, codes, message):
    own = rows_of("labelled", world.useful(8)[0], codes)
    with pytest.raises(InputError, match=message):
        mixmood.next(own, rows_of("pool", world.useful(30)[0]), cache=None)


def test_a_count_below_one_and_no_usable_pool_are_refused(half_foreign):
    with pytest.raises(OptionError, match="count must be at least 1; got 0"):
        mixmood.next(*half_foreign, count=0)
    images = np.zeros((4, 8, 8, 3), np.uint8)
    with pytest.raises(InputError, match="No pool can be used"):
        mixmood.next(half_foreign[0], images, cache=None)


def test_typical_and_uncertain_images_that_differ_come_first():
    """Two groups that no label is near: the larger one first, then the other, not a neighbour."""
    rng = np.random.default_rng(0)
    corners = np.repeat(np.eye(4)[[1, 2, 3]], [8, 4, 1], axis=0)
    rows = corners * 3 + 0.05 * rng.normal(size=(13, 4))
    unsure = np.full((13, 2), 0.5)
    first, n_like = chosen_images(rows, np.eye(4)[:1], np.ones(13), unsure, 2)
    assert first[0] < 8 <= first[1] < 12
    assert n_like.sum() == 13
    sure = np.array([[0.99, 0.01]] * 8 + [[0.5, 0.5]] * 5)
    assert 8 <= chosen_images(rows, np.eye(4)[:1], np.ones(13), sure, 1)[0][0] < 12


def test_one_image_of_each_group_comes_before_a_second():
    rng = np.random.default_rng(0)
    rows, groups = rng.normal(size=(12, 5)), np.arange(12) % 3
    chosen, _ = chosen_images(rows, rows[:1], np.ones(12), np.full((12, 2), 0.5), 6, groups)
    assert sorted(groups[chosen[:3]]) == [0, 1, 2]
    assert sorted(groups[chosen[3:]]) == [0, 1, 2]


def test_of_many_candidates_a_part_is_compared():
    n = MOST_CANDIDATES + 500
    pool = ScannedPool(np.ones(n), np.zeros(n, np.int32), np.zeros(n, np.uint8))
    confidence = np.where(np.arange(n) < 500, 0.5, 0.999)
    rows = candidates_of(pool, np.ones(n), np.ones(n, bool), confidence, np.random.default_rng(0))
    assert len(set(rows.tolist())) == MOST_CANDIDATES
    assert (rows < 500).sum() > 450


def test_of_the_candidates_of_several_pools_a_part_is_compared(world, monkeypatch):
    """All with all: those of ten pools would take ten gigabytes."""
    compared = []

    def few(features, *others):
        compared.append(len(features))
        return chosen_images(features, *others)

    monkeypatch.setattr(next_module, "MOST_CANDIDATES", 25)
    monkeypatch.setattr(next_module, "chosen_images", few)
    own = rows_of("labelled", *world.useful(24))
    pools = {name: rows_of(name, world.useful(60)[0]) for name in ("one", "other")}
    record = mixmood.next(own, pools, count=12, cache=None).record
    assert compared == [25]
    assert {image.pool for image in record.images} == {"one", "other"}
    assert [pool.n_useful for pool in record.pools] == [25, 25]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The command on two small pools of stripes: its result, record and files."""
    root, rng = tmp_path_factory.mktemp("next"), np.random.default_rng(0)
    for k in range(4):
        save(root / "labelled" / "flat" / f"{k}.png", stripes(rng, is_upright=False))
        save(root / "labelled" / "upright" / f"{k}.png", stripes(rng, is_upright=True))
    for k in range(10):
        save(root / "crawl" / f"{k}.png", stripes(rng, is_upright=bool(k % 2)))
        save(root / "other" / f"{k}.png", stripes(rng, is_upright=bool(k % 3)))
        save(root / "crawl" / f"foreign{k}.png", blocks(rng))
    words = ["next", root / "labelled", root / "crawl", f"web={root / 'other'}", "--count", 6]
    outputs = [f"--{kind}={root / name}" for kind, name in FILES.items()]
    words += [*outputs, "--resolution", 64, "--depth", "last", "--groups", r"(\d+)\.png"]
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.stderr
    return result, root


FILES = {"out": "next.csv", "html": "label.html", "label-studio": "tasks.json", "json": "next.json"}


def test_the_command_writes_lists_a_page_and_tasks(command):
    result, root = command
    record = mixmood.load(root / "next.json")
    assert isinstance(record, Proposals)
    assert record.answer in result.stdout
    assert "web: " in result.stdout
    names = {one.pool for one in record.images}
    lists = [root / "next.csv"] if len(names) == 1 else sorted(root.glob("next-*.csv"))
    pools = [mixmood.embed(file, resolution=64, cache=None) for file in lists]
    assert sum(map(len, pools)) == len(record.images)
    assert len(json.loads((root / "tasks.json").read_text())) == len(record.images)
    assert "data:image/jpeg;base64," in (root / "label.html").read_text()
    assert "--labels mixmood-labels.csv" in str(record.next)


def test_no_output_is_an_input(tmp_path):
    table = tmp_path / "pool.csv"
    table.write_text("path\n")
    result = CliRunner().invoke(app, ["next", "labelled", str(table), "--out", str(table)])
    assert "is one of the inputs" in result.stderr
