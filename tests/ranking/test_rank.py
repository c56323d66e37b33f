"""The main job, on features and on images."""

import copy
import json
import pickle

import numpy as np
import pytest
from PIL import Image
from tests.ranking.made_sets import features, folder_of, noise

import mixmood
from mixmood.measures import MEASURES


def test_pools_come_out_nearest_first(sets):
    report = mixmood.rank(*sets)
    assert [candidate.name for candidate in report.candidates] == ["near", "mid", "far"]
    assert [candidate.rank for candidate in report.candidates] == [1, 2, 3]
    assert report.best == "near"
    distances = [candidate.distance for candidate in report.candidates]
    assert distances == sorted(distances)


def test_the_record_has_the_keys_that_were_promised(sets):
    record = json.loads(mixmood.rank(*sets, measures=["cosine", "l2"]).to_json())
    assert {
        "schema", "mixmood", "seed", "backbone", "sample_size", "draws", "labelled", "measure",
        "candidates", "best", "noise_floor", "warnings",
    } <= record.keys()  # fmt: skip
    assert {"name", "n_images", "n_unreadable", "classes"} <= record["labelled"].keys()
    first = record["candidates"][0]
    assert {
        "rank", "name", "n_images", "n_unreadable", "measures", "p_best", "rank_interval",
        "warnings",
    } <= first.keys()  # fmt: skip
    assert {
        "distance", "spread", "signed", "p_wilcoxon", "p_permutation", "interval", "inter", "intra",
    } <= first["measures"]["cosine"].keys()  # fmt: skip
    assert record["schema"] == 1
    assert record["measure"] == "cosine"
    assert set(record["noise_floor"]) == set(first["measures"]) == {"cosine", "l2"}


def test_the_same_inputs_and_seed_give_the_same_bytes(sets):
    first, again, other = (mixmood.rank(*sets, seed=seed, draws=8).to_json() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_report_can_be_pickled_and_copied(rng, small_backbone):
    pools = rng.integers(0, 255, (2, 20, 8, 8, 3), dtype=np.uint8)
    report = mixmood.rank(
        pools[0], {"pool": pools[1]}, draws=4, backbone=small_backbone, cache=None
    )
    for same in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert same == report
        assert same.to_json() == report.to_json()
        assert "pool" in same.to_html()


def test_options_may_be_numbers_of_numpy(sets):
    plain = mixmood.rank(*sets, draws=4, seed=3, until=1.0).to_json()
    assert (
        mixmood.rank(*sets, draws=np.int64(4), seed=np.uint8(3), until=np.float32(1)).to_json()
        == plain
    )


def test_the_order_of_the_candidates_changes_nothing(sets):
    labelled, pools = sets
    assert (
        mixmood.rank(labelled, pools, draws=8).to_json()
        == mixmood.rank(labelled, dict(reversed(pools.items())), draws=8).to_json()
    )


def test_a_further_pool_leaves_the_distances_of_the_others_as_they_were(sets, rng):
    labelled, pools = sets
    few = mixmood.rank(labelled, pools, draws=8)
    more = mixmood.rank(labelled, {**pools, "another": features(rng, 150, 0.5)}, draws=8)
    for candidate in few.candidates:
        other = next(c for c in more.candidates if c.name == candidate.name)
        assert other.measures["cosine"].inter == candidate.measures["cosine"].inter
        assert other.measures["cosine"].interval == candidate.measures["cosine"].interval


def test_a_small_labelled_set_shrinks_the_sample_with_a_notice(sets):
    report = mixmood.rank(*sets)
    assert report.sample_size == 30
    assert "sample size is 30 instead of 80" in report.notes[0]
    assert report.warnings == ()


def test_several_measures_come_from_the_same_draws(sets):
    few = sets[0][:24], {name: sets[1][name][:60] for name in ("near", "far")}
    alone = mixmood.rank(*few, measures="js", draws=8).candidates[0]
    together = mixmood.rank(*few, measures="all", draws=8).candidates
    same = next(c for c in together if c.name == alone.name)
    assert same.measures["js"].inter == alone.measures["js"].inter
    assert sorted(same.measures) == sorted(MEASURES)


def test_images_in_folders_are_ranked_and_the_labels_are_told(tmp_path, rng):
    for name, low in [("dark", 0), ("bright", 180)]:
        folder_of(tmp_path / "labelled" / name, noise(rng, 8, low, low + 60))
    folder_of(tmp_path / "same", noise(rng, 20, 0, 240))
    report = mixmood.rank(
        tmp_path / "labelled", [tmp_path / "same", "noise:gaussian?count=20&size=16"],
        draws=3, resolution=96, depth="last", probe=False,
    )  # fmt: skip
    assert report.labelled.classes == {"bright": 8, "dark": 8}
    assert {c.name for c in report.candidates} == {"same", "gaussian"}
    assert report.backbone["name"] == "efficientnet-lite0"


def test_an_image_beside_the_class_folders_is_named_where_classes_are_missing(
    tmp_path, rng, small_backbone
):
    for index in range(16):
        folder = tmp_path / "labelled" / ("" if index == 5 else "ab"[index % 2])
        folder.mkdir(parents=True, exist_ok=True)
        picture = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(picture).save(folder / f"{index}.png")
    pool = rng.integers(0, 255, (20, 8, 8, 3), dtype=np.uint8)
    report = mixmood.rank(
        tmp_path / "labelled", {"pool": pool}, draws=4, backbone=small_backbone, cache=None
    )
    assert report.labelled.classes is None
    assert report.warnings == (
        "labelled: 1 of 16 images is in no class folder, such as 5.png: the set counts as "
        "unlabelled.",
    )


def test_an_unreadable_image_is_replaced_counted_and_named(tmp_path, rng, small_backbone):
    folder_of(tmp_path / "labelled", noise(rng, 16))
    broken = folder_of(tmp_path / "pool", noise(rng, 16))
    for i in range(7):
        (broken / f"broken-{i}.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    quick = {"draws": 2, "sample_size": 8, "backbone": small_backbone}
    report = mixmood.rank(tmp_path / "labelled", {"pool": broken}, **quick)
    (candidate,) = report.candidates
    assert candidate.n_images == 23
    assert candidate.n_unreadable > 0
    assert candidate.n_read == 16
    assert f"{candidate.n_unreadable} of" in candidate.warnings[0]
    assert candidate.warnings[0].count("broken-") == min(candidate.n_unreadable, 5)


def test_labelled_images_are_decoded_for_their_size_only_where_noise_needs_it(
    rng, monkeypatch, small_backbone
):
    looked = []
    monkeypatch.setattr("mixmood.data.open.noise_size", lambda labelled: looked.append(1) or 16)
    labelled, other = noise(rng, 9), noise(rng, 9)
    quick = {"draws": 2, "backbone": small_backbone}
    mixmood.rank(labelled, {"other": other, "sized": "noise:gaussian?count=9&size=8"}, **quick)
    assert looked == []
    mixmood.rank(labelled, {"other": other, "noise": "noise:gaussian?count=9"}, **quick)
    assert looked == [1]


def test_progress_is_told_for_every_image_and_pool(rng, small_backbone):
    class Listener:
        def __init__(self):
            self.done, self.totals, self.finished = {}, {}, set()

        def start(self, task, total):
            self.totals[task] = self.totals.get(task, 0) + (total or 0)

        def advance(self, task, steps=1):
            self.done[task] = self.done.get(task, 0) + steps

        def finish(self, task):
            self.finished.add(task)

    listener = Listener()
    quick = {"draws": 2, "backbone": small_backbone, "cache": None}
    mixmood.rank(noise(rng, 16), {"a": noise(rng, 20)}, **quick, listener=listener)
    assert listener.done == {"array": 16, "a": 20, "probe": 1}
    assert listener.totals == {"array": 16, "a": 20, "statistics": 0, "probe": 1}
    assert listener.finished == {"array", "a", "statistics", "probe"}


def test_the_package_offers_its_public_names_and_no_others():
    assert set(mixmood.__all__) <= set(dir(mixmood)) | {
        n for n in mixmood.__all__ if getattr(mixmood, n)
    }
    with pytest.raises(AttributeError, match="module 'mixmood' has no attribute 'nonsense'"):
        _ = mixmood.nonsense


@pytest.mark.slow
def test_cifar_with_its_own_classes_first_and_noise_last(image_packs):
    with np.load(image_packs / "cifar10.npz") as pack:
        images, labels = pack["images"], pack["labels"]
    known = np.flatnonzero(labels < 5)
    order = np.random.default_rng(0).permutation(known)
    report = mixmood.rank(
        images[order[:60]],
        {
            "same": images[order[100:160]],
            "other half": images[labels >= 5][:60],
            "gaussian": "noise:gaussian?count=40",
            "salt and pepper": "noise:salt-and-pepper?count=40",
        },
        draws=4,
        resolution=64,
        depth="last",
    )
    names = [candidate.name for candidate in report.candidates]
    assert names[0] == "same"
    assert set(names[2:]) == {"gaussian", "salt and pepper"}


def test_a_small_sample_size_needs_no_fewer_labelled_images_than_there_are(sets):
    labelled, pools = sets
    report = mixmood.rank(labelled, pools, sample_size=1)
    assert report.sample_size == 1
    assert report.best == "near"


def test_a_pool_smaller_than_a_sample_is_ranked_with_smaller_samples():
    rng = np.random.default_rng(0)
    pools = {"small": rng.normal(size=(60, 4)), "large": rng.normal(size=(300, 4))}
    report = mixmood.rank(rng.normal(size=(200, 4)), pools, draws=4)
    assert {pool.name for pool in report.candidates} == {"small", "large"}
    assert report.sample_size == 60
    note = "The sample size is 60 instead of 80: the smallest pool has 60 images that can be used."
    assert note in report.notes


def test_a_tiny_pool_does_not_shrink_the_samples_of_the_others():
    rng = np.random.default_rng(0)
    pools = {"tiny": rng.normal(size=(19, 4)), "large": rng.normal(size=(300, 4))}
    report = mixmood.rank(rng.normal(size=(200, 4)), pools, draws=4)
    assert report.sample_size == 80
    assert [one.name for one in report.set_aside] == ["tiny"]


def test_copies_of_labelled_images_do_not_count_in_a_small_pool():
    rng = np.random.default_rng(0)
    labelled = rng.normal(size=(200, 4))
    pools = {"small": np.concatenate([rng.normal(size=(50, 4)), labelled[:10]])}
    report = mixmood.rank(labelled, pools, draws=4)
    assert report.sample_size == 50


def test_reading_that_stops_early_is_mentioned_only_where_it_saves_a_quarter():
    rng = np.random.default_rng(0)
    labelled = rng.normal(size=(40, 4))

    def notes(n_far):
        pools = {"near": rng.normal(size=(60, 4)), "far": rng.normal(9, size=(n_far, 4))}
        return " ".join(mixmood.rank(labelled, pools, draws=30).notes)

    assert "Reading stopped early" in notes(600)
    assert "Reading stopped early" not in notes(60)
