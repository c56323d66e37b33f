"""`labels` of a person in every command: they join the labelled set and leave the pool."""

import json

import numpy as np
import pytest
from tests.fixtures.class_features import of_class

import mixmood
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Recorder
from mixmood.data.images.labels import KEEP, NONE


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """32 labelled rows, a pool of 60 like them and 40 foreign ones, and a file of labels."""
    root, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    codes = np.arange(32) % 4
    names = np.array(list("abcd"))[codes]
    names[5] = "a"
    np.savez(root / "own.npz", features=of_class(rng, codes, 24, 6.0), labels=names)
    useful, foreign = np.arange(60) % 4, 20 + np.zeros(40, int)
    np.save(root / "web.npy", of_class(rng, np.concatenate([useful, foreign]), 24, 6.0))
    rows = [("own", 5, "b"), *(("web", k, "abcd"[k % 4]) for k in range(8))]
    rows += [("web", 8, NONE), ("web", 70, KEEP), ("web", 999, "a")]
    lines = [f"{pool},{pool}[{index}],{index},{label}\n" for pool, index, label in rows]
    (root / "mixmood-labels.csv").write_text("pool,path,index,label\n" + "".join(lines))
    return root


def sets(world):
    labels = world / "mixmood-labels.csv"
    options = {"labels": labels, "cache": None, "listener": Recorder()}
    return (world / "own.npz", world / "web.npy"), options


def test_filter_drops_labelled_images_and_keeps_what_it_is_told(world):
    given, options = sets(world)
    kept = mixmood.filter(*given, probe=False, **options)
    assert kept.record.n_labelled == 40
    assert kept.record.reasons["labelled"] == 8
    assert kept.record.reasons["labelled as none of the classes"] == 1
    assert kept.is_kept[70]
    assert not kept.is_kept[71:].any()
    assert any("not used" in text for text in kept.record.warnings)


def test_next_does_not_ask_again(world):
    given, options = sets(world)
    found = mixmood.next(*given, count=5, **options)
    assert found.record.n_labelled == 40
    assert len(found.record.images) == 5
    assert not {one.index for one in found.record.images} & {*range(9)}
    assert "--labels" in str(found.record.next)


def test_rank_and_train_have_more_labels_and_a_smaller_pool(world):
    (own, web), options = sets(world)
    ranked = mixmood.rank(own, {"web": web}, probe=False, draws=2, **options)
    assert ranked.labelled.n_images == 40
    assert ranked.labelled.classes == {"a": 10, "b": 10, "c": 10, "d": 10}
    assert ranked.candidates[0].n_images == 91
    assert any("web: 8 labelled" in note for note in ranked.notes)
    assert {str(web), str(options["labels"])} < {*str(ranked.next).split()}
    model = mixmood.train(own, {"web": web}, algorithm="pseudo-label", **options)
    assert model.record.n_labelled == 40
    assert model.record.n_unlabelled == 91
    assert any("not used" in text for text in model.record.warnings)


def test_check_uses_corrections_and_names_labels_of_other_sets(world):
    (own, _), options = sets(world)
    before = mixmood.check(own, cache=None)
    after = mixmood.check(own, **options)
    assert [one.index for one in before.findings if one.check == "label"] == [5]
    assert "label" not in {one.check for one in after.findings}
    assert json.loads(after.to_json())["classes"] == {"a": 8, "b": 8, "c": 8, "d": 8}
    assert any("web[3] (of web, which is not given)" in text for text in after.warnings)


def test_a_network_and_a_saved_filter_take_no_labels(world):
    (own, web), options = sets(world)
    with pytest.raises(OptionError, match="labels is an option of --model head"):
        mixmood.train(own, web, model="wrn-tiny", labels=options["labels"])
    with pytest.raises(OptionError, match="a saved filter has none"):
        mixmood.filter(None, web, load="filter.npz", **options)


def test_a_pool_that_is_labelled_to_the_last_image_trains_without_pools(world, tmp_path):
    lines = "".join(f"web,web[{k}],{k},{'abcd'[k % 4]}\n" for k in range(100))
    (tmp_path / "all.csv").write_text("pool,path,index,label\n" + lines)
    told = Recorder()
    options = {"labels": tmp_path / "all.csv", "cache": None, "listener": told}
    record = mixmood.train(world / "own.npz", world / "web.npy", **options).record
    assert record.n_labelled == 132
    assert record.reason == "All images of the pool have a label: the supervised head is used."
    assert "web: all of its images have a label." in told.notes
    with pytest.raises(InputError, match="'web': all of its images have a label"):
        mixmood.rank(world / "own.npz", [world / "web.npy"], **options)
