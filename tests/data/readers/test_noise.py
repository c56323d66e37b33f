"""Noise pools."""

import numpy as np
import pytest

from mixmood.core.errors import OptionError
from mixmood.data.readers.noise import NoiseSource, open_noise


def test_gaussian_noise_is_stretched_to_the_whole_range():
    pool = NoiseSource("gaussian", "g", size=64)
    for index in range(5):
        image = pool.fetch(index)
        assert (image.min(), image.max()) == (0, 255)
    # A normal sample of 4096 spans about 7.3 deviations, so that one is about 35 of 255 levels.
    deviations = [pool.fetch(index).std() for index in range(20)]
    assert np.mean(deviations) == pytest.approx(35, abs=3)


def test_salt_and_pepper_is_black_or_white_with_equal_chance():
    images = np.stack([NoiseSource("salt-and-pepper", "s").fetch(index) for index in range(50)])
    assert set(np.unique(images)) == {0, 255}
    # 51,200 pixels: four standard errors are 0.9 %.
    assert (images == 255).mean() == pytest.approx(0.5, abs=0.009)


def test_p_is_the_share_of_white():
    pool = NoiseSource("salt-and-pepper", "s", p=0.05, size=200)
    assert (pool.fetch(0) == 255).mean() == pytest.approx(0.05, abs=0.005)


def test_an_image_depends_on_seed_and_index_and_not_on_the_order_of_reading():
    first, again = NoiseSource("gaussian", "a", seed=1), NoiseSource("gaussian", "b", seed=1)
    backwards = [again.fetch(index) for index in (4, 2, 0)]
    for index, image in zip((4, 2, 0), backwards, strict=True):
        np.testing.assert_array_equal(first.fetch(index), image)
    assert (first.fetch(0) != first.fetch(1)).any()
    assert (first.fetch(0) != NoiseSource("gaussian", "a", seed=2).fetch(0)).any()


def test_a_picture_of_noise_is_grey_or_coloured():
    grey = next(NoiseSource("gaussian", "a", size=16).read([0]))
    assert grey.shape == (16, 16, 3)
    assert (grey == grey[:, :, :1]).all()
    colour = next(NoiseSource("gaussian", "a", channels=3).read([0]))
    assert (colour != colour[:, :, :1]).any()


def test_the_fingerprint_tells_all_that_the_images_depend_on():
    pools = [
        *(NoiseSource("gaussian", "a"), NoiseSource("salt-and-pepper", "a")),
        *(NoiseSource("gaussian", "a", **{word: 3}) for word in ("count", "size", "channels")),
        NoiseSource("gaussian", "a", seed=1),
        NoiseSource("salt-and-pepper", "a", p=0.1),
    ]
    assert len({pool.fingerprint for pool in pools}) == len(pools)
    assert NoiseSource("gaussian", "b").fingerprint == pools[0].fingerprint


def test_a_text_tells_count_and_size():
    pool = open_noise("noise:gaussian?count=12&size=7&channels=3", None, seed=0)
    assert (len(pool), pool.name, pool.fetch(0).shape) == (12, "gaussian", (7, 7, 3))
    plain = open_noise("noise:salt-and-pepper", "sap", seed=0)
    assert (len(plain), plain.name, plain.fetch(0).shape) == (3000, "sap", (32, 32, 1))
    assert plain.locate(4) == "sap[4]"


def test_the_seed_of_the_text_wins_over_the_given_one():
    in_text = open_noise("noise:gaussian?seed=5", None, seed=0)
    np.testing.assert_array_equal(in_text.fetch(0), NoiseSource("gaussian", "a", seed=5).fetch(0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise:gausian", r"Unknown noise 'gausian'\. Did you mean 'gaussian'\?"),
        ("noise:", r"Unknown noise ''\. Known: gaussian, salt-and-pepper"),
        ("noise:gaussian?cuont=3", r"Unknown option of noise 'cuont'\. Did you mean 'count'\?"),
        ("noise:gaussian?count", r"written like \?count=500&size=64, got 'count'"),
        ("noise:gaussian?count=", r"The count of noise must be a whole number, got ''"),
        ("noise:gaussian?count=1.5", r"The count of noise must be a whole number, got '1.5'"),
        ("noise:gaussian?p=many", r"The p of noise must be a number, got 'many'"),
        ("noise:gaussian?count=0", r"The count of noise must be 1 to 1000000000, got 0"),
        ("noise:gaussian?size=1", r"The size of noise must be 2 to 4096, got 1"),
        ("noise:gaussian?size=99999", r"The size of noise must be 2 to 4096, got 99999"),
        ("noise:gaussian?channels=2", r"Noise has 1 or 3 channels, got 2"),
        ("noise:salt-and-pepper?p=1", r"The p of noise must be between 0 and 1, got 1"),
        ("noise:salt-and-pepper?p=nan", r"The p of noise must be between 0 and 1, got nan"),
    ],
)
def test_a_text_that_asks_for_no_noise_is_refused(text, message):
    with pytest.raises(OptionError, match=message):
        open_noise(text, None, seed=0)
