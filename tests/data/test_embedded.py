"""The images that come with scikit-learn."""

import numpy as np

from mixmood.data.sets import digits, photo_patches


def test_digits_use_the_whole_range_of_a_byte():
    images, labels = digits()
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 255)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    # Sixteenths of 255: the first digit's first values are 0, 0, 5, 13.
    assert images[0, 0, :4].tolist() == [0, 0, 80, 207]


def test_digits_are_those_that_scikit_learn_loads():
    from sklearn.datasets import load_digits

    images, labels = digits()
    np.testing.assert_array_equal(images, np.rint(load_digits().images * 255 / 16))
    np.testing.assert_array_equal(labels, load_digits().target)


def test_photo_patches_are_pieces_of_the_photos():
    from sklearn.datasets import load_sample_images

    patches = photo_patches(40, 24, np.random.default_rng(0))
    assert patches.shape == (40, 24, 24, 3)
    assert patches.dtype == np.uint8
    corners = np.concatenate([photo.reshape(-1, 3) for photo in load_sample_images().images])
    known = {tuple(pixel) for pixel in corners[::1].tolist()}
    assert {tuple(pixel) for pixel in patches[:, 0, 0].tolist()} <= known


def test_photo_patches_follow_the_generator():
    first, again = (photo_patches(5, 32, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != photo_patches(5, 32, np.random.default_rng(4))).any()
