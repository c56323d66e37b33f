"""The laws of a split, on embedded digits and on packs made here."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.data.images.labels import labels_from_values
from mixmood.data.readers.array import ImageArray
from mixmood.data.sets import data_home, open_set
from mixmood.data.splits import Scenario, check_split, cut, data_fingerprint, draw_split


def digits(**changes):
    defaults = {"task": "digits", "n_labelled": 30, "n_unlabelled": 200, "n_validation": 20}
    return Scenario(**(defaults | changes))


def contaminated(source, percent=50, **changes):
    return digits(source=source, percent=percent, **changes)


def parts(scenario):
    return cut(scenario, open_set(scenario.task))


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """Makes packs in a data folder of their own; every image of a pack has a value of its own."""
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))

    def make(name, n_images=60, shape=(6, 6), n_classes=10, **arrays):
        labels = np.arange(n_images) % n_classes
        images = np.empty((n_images, *shape), dtype=np.uint8)
        images[:] = np.arange(n_images).reshape(-1, *[1] * len(shape))
        np.savez(tmp_path / f"{name}.npz", **({"images": images, "labels": labels} | arrays))
        return tmp_path

    return make


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_all_parts_are_disjoint(seed, balanced):
    found = parts(contaminated("other_half", seed=seed, balanced=balanced))
    everything = np.concatenate(
        [found.test, found.validation, found.labelled, found.inliers, found.other_half]
    )
    assert len(everything) == len(set(everything.tolist()))


def test_counts_are_exact():
    split = draw_split(contaminated("gaussian", 25, n_labelled=31, n_unlabelled=120))
    n_five = sum(np.count_nonzero(parts(digits()).codes == code) for code in range(5))
    assert len(split.labelled) == len(split.labels) == 31
    assert len(split.validation) == 20
    assert len(split.unlabelled) == 120
    assert split.is_ood.sum() == 30
    assert len(split.test) == round(0.25 * n_five)


def test_fixed_inliers_adds_where_fixed_total_replaces():
    replaced = draw_split(contaminated("gaussian", 50))
    added = draw_split(contaminated("gaussian", 50, contamination="fixed-inliers"))
    assert (len(replaced.unlabelled), replaced.is_ood.sum()) == (200, 100)
    assert (len(added.unlabelled), added.is_ood.sum()) == (300, 100)
    np.testing.assert_array_equal(
        np.sort(replaced.unlabelled[replaced.is_ood], axis=0),
        np.sort(added.unlabelled[added.is_ood], axis=0),
    )


def test_the_same_seed_gives_the_same_split():
    first, again = (
        draw_split(contaminated("photo_patches")),
        draw_split(contaminated("photo_patches")),
    )
    np.testing.assert_array_equal(first.unlabelled, again.unlabelled)
    np.testing.assert_array_equal(first.labelled, again.labelled)


def test_different_seeds_choose_different_classes():
    assert len({parts(digits(seed=seed)).class_names for seed in range(10)}) > 5


def test_sources_and_percents_of_a_seed_share_their_labelled_and_test_images():
    clean = draw_split(digits())
    for source, percent in [("gaussian", 50), ("other_half", 100), ("photo_patches", 10)]:
        split = draw_split(contaminated(source, percent))
        for name in ("labelled", "labels", "test", "test_labels", "validation"):
            np.testing.assert_array_equal(getattr(split, name), getattr(clean, name))


def test_a_larger_labelled_set_holds_the_smaller_and_leaves_test_and_pool_alone():
    small, large = parts(digits(n_labelled=20)), parts(digits(n_labelled=90))
    assert set(small.labelled) < set(large.labelled)
    np.testing.assert_array_equal(small.test, large.test)
    np.testing.assert_array_equal(small.inliers, large.inliers)


def test_the_pool_at_50_percent_holds_half_of_the_clean_pool():
    clean, mixed = parts(digits()), parts(contaminated("gaussian", 50))
    np.testing.assert_array_equal(mixed.inliers, clean.inliers[:100])


def test_the_other_half_has_only_classes_that_are_not_learned():
    labels = open_set("digits").labels
    found = parts(contaminated("other_half"))
    other = {labels.names[code] for code in labels.codes[found.other_half]}
    assert len(other) == 5
    assert not other & set(found.class_names)


def test_a_balanced_draw_has_as_many_of_each_class():
    split = draw_split(digits(n_labelled=30, balanced=True))
    np.testing.assert_array_equal(np.bincount(split.labels), [6] * 5)


@pytest.mark.parametrize("seed", range(20))
def test_every_class_has_a_label_however_few_there_are(seed):
    assert set(draw_split(digits(n_labelled=5, seed=seed)).labels) == set(range(5))


def test_sources_are_brought_to_the_size_and_colour_of_the_task(pack):
    pack("grey", shape=(6, 6), n_images=200)
    pack("colour", shape=(9, 12, 3), n_images=200)
    into_grey = draw_split(Scenario("grey", "colour", 100, 10, n_unlabelled=30, n_validation=5))
    into_colour = draw_split(Scenario("colour", "grey", 100, 10, n_unlabelled=30, n_validation=5))
    assert into_grey.unlabelled.shape == (30, 6, 6, 1)
    assert into_colour.unlabelled.shape == (30, 9, 12, 3)


def opaque(pixels):
    return np.concatenate([pixels, np.full_like(pixels[..., :1], 255)], axis=-1)


WAYS = {
    "uint16": lambda pixels: pixels.astype(np.uint16) * 257,
    "float": lambda pixels: pixels / 255.0,
    "one channel of float": lambda pixels: pixels[..., :1] / 255.0,
    "RGBA": opaque,
}


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("way", WAYS)
def test_a_pack_of_any_kind_of_pixels_gives_the_same_images(tmp_path, rng, monkeypatch, way, scale):
    pixels = rng.integers(0, 256, (60, 6, 6, 3)).astype(np.uint8)
    if way == "one channel of float":
        pixels = pixels[..., :1]
    splits = []
    for home, images in ((tmp_path / "plain", pixels), (tmp_path / "other", WAYS[way](pixels))):
        home.mkdir()
        np.savez(home / "task.npz", images=images, labels=np.arange(60) % 10)
        wanted = Scenario("task", n_labelled=8, n_unlabelled=8, n_validation=5, image_scale=scale)
        monkeypatch.setenv("MIXMOOD_DATA", str(home))
        splits.append(draw_split(wanted))
    plain, other = splits
    assert other.labelled.dtype == np.uint8
    np.testing.assert_array_equal(other.labelled, plain.labelled)
    np.testing.assert_array_equal(other.unlabelled, plain.unlabelled)


def test_the_scale_shrinks_all_images():
    split = draw_split(contaminated("photo_patches", image_scale=0.5))
    assert {part.shape[1:] for part in (split.labelled, split.unlabelled, split.test)} == {
        (4, 4, 1)
    }


def test_noise_is_new_for_every_seed():
    first, second = (
        draw_split(contaminated("gaussian", 100, seed=seed)).unlabelled for seed in (0, 1)
    )
    assert not np.array_equal(first, second)


def test_other_data_have_another_fingerprint(pack):
    pack("own", n_images=100)
    before = data_fingerprint(Scenario("own", n_labelled=5))
    pack("own", n_images=100, labels=np.arange(100)[::-1] % 10)
    assert data_fingerprint(Scenario("own", n_labelled=5)) != before


def test_the_paper_s_sizes_fit_the_real_packs(image_packs, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(image_packs))
    scenario = Scenario("fashion_mnist", "fashion_product", 100, 150)
    split = draw_split(scenario)
    assert split.unlabelled.shape == (3000, 28, 28, 1)
    assert split.test.shape == (1500, 28, 28, 1)
    assert split.is_ood.all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"percent": 0, "source": "gaussian"}, "must be 'none' at 0 percent"),
        ({"percent": 50}, "must be 'none' at 0 percent"),
        ({"percent": 50, "source": "digits"}, "'digits' cannot be its own source: .*'other_half'"),
        ({"n_labelled": 4}, "n_labelled must be at least 5, one for each class; got 4"),
    ],
)
def test_a_scenario_without_sense_is_refused(changes, message):
    with pytest.raises(OptionError, match=message):
        digits(**changes)


def test_more_labels_than_the_classes_have_are_refused():
    with pytest.raises(InputError, match="5000 labelled and 200 unlabelled ones were wanted"):
        parts(digits(n_labelled=5000))


def test_more_balanced_labels_than_the_smallest_class_has_are_refused(pack):
    pack("lopsided", n_images=200, labels=np.repeat(range(5), [180, 5, 5, 5, 5]))
    wanted = Scenario("lopsided", n_labelled=50, n_unlabelled=20, n_validation=0, balanced=True)
    with pytest.raises(InputError, match=r"needs 10 images of each of the 5 .* Lower n_labelled"):
        draw_split(wanted)


def test_a_task_needs_labels_and_enough_classes(rng):
    bare = ImageArray(rng.integers(0, 255, (9, 4, 4)).astype(np.uint8), "bare")
    with pytest.raises(InputError, match="'digits' has no labels and cannot be a task"):
        cut(digits(), bare)
    few = ImageArray(bare._rows, "few", labels_from_values(np.arange(9) % 3, "few"))
    with pytest.raises(InputError, match="5 classes were wanted; 'digits' has 3"):
        cut(digits(), few)


@pytest.mark.parametrize(
    ("name", "meant"), [("gausian", "gaussian"), ("other-half", "other_half"), ("svnh", "svhn")]
)
def test_a_misspelt_source_is_refused_with_the_nearest_source(name, meant):
    message = f"Unknown source '{name}'. Did you mean '{meant}'.* other_half, gaussian, salt_and"
    with pytest.raises(OptionError, match=message):
        check_split(contaminated(name))
    with pytest.raises(OptionError, match=message):
        data_fingerprint(contaminated(name))


def test_a_source_that_is_too_small_is_refused():
    with pytest.raises(InputError, match="images of 'other_half' were wanted; it has"):
        draw_split(contaminated("other_half", 100, n_unlabelled=2000, contamination="fixed-total"))


def test_a_missing_data_set_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"mixmood data get mnist.*MIXMOOD_DATA"):
        open_set("mnist")


@pytest.mark.parametrize("name", ["mnits", "../secret", ""])
def test_an_unknown_data_set_is_refused(name):
    with pytest.raises(OptionError, match="Unknown data set"):
        open_set(name)


def test_a_pack_of_features_is_no_data_set(tmp_path, monkeypatch):
    monkeypatch.setenv("MIXMOOD_DATA", str(tmp_path))
    np.savez(tmp_path / "odd.npz", features=np.zeros((3, 2)))
    with pytest.raises(InputError, match="must hold an array 'images'"):
        open_set("odd")


def test_the_data_folder_is_the_user_s_own_unless_named(monkeypatch):
    monkeypatch.delenv("MIXMOOD_DATA", raising=False)
    assert data_home().name == "mixmood"


@pytest.mark.parametrize("source", ["gaussian", "salt_and_pepper"])
def test_the_noise_of_the_authors_code_is_shrunk_to_little_contrast(source):
    """Noise of the text keeps its contrast; at 28 pixels that of the code has 5 to 7 of 255."""
    text, code = (
        draw_split(contaminated(source, 100, n_unlabelled=20, noise=kind)).unlabelled
        for kind in ("text", "code")
    )
    assert text.shape == code.shape
    assert text.std() > 30
    assert code.std() < 8
    assert code.mean() == pytest.approx(12.75 if source == "salt_and_pepper" else 127.5, abs=10)


def test_grey_images_can_have_three_equal_channels():
    grey, rgb = (draw_split(contaminated("gaussian", 50, rgb=rgb)) for rgb in (False, True))
    for name in ("labelled", "unlabelled", "test", "validation"):
        one, three = getattr(grey, name), getattr(rgb, name)
        assert one.shape[3] == 1
        assert np.array_equal(np.repeat(one, 3, axis=3), three)
