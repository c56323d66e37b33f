"""Two arrays of features and the numbers between them."""

import numpy as np
import pytest

from mixmood import dissimilarity
from mixmood.core.errors import InputError, OptionError, ShapeError

pytestmark = pytest.mark.usefixtures("all_draws")


def test_the_lists_of_draws_give_the_summary(rng):
    d = dissimilarity(rng.normal(size=(60, 5)), rng.normal(1, size=(90, 5)), draws=12)
    inter, intra = np.array(d.inter), np.array(d.intra)
    assert len(inter) == len(intra) == 12
    assert d.distance == pytest.approx(np.abs(inter - intra).mean())
    assert d.spread == pytest.approx(np.abs(inter - intra).std(ddof=1))
    assert d.signed == pytest.approx((inter - intra).mean())
    assert d.interval[0] <= d.distance <= d.interval[1]


def test_the_same_seed_gives_the_same_numbers_and_another_does_not(rng):
    a, b = rng.normal(size=(60, 5)), rng.normal(1, size=(90, 5))
    assert dissimilarity(a, b, seed=4) == dissimilarity(a, b, seed=4)
    assert dissimilarity(a, b, seed=4) != dissimilarity(a, b, seed=5)


def test_the_papers_choices_let_an_image_be_its_own_neighbour(rng):
    """Overlapping subsets of 60 images, 30 at a time: half of the neighbours are the image."""
    a = rng.normal(size=(60, 5))
    ours, paper = (dissimilarity(a, a + 9, measure="l2", paper=p) for p in (False, True))
    assert np.mean(paper.intra) < 0.75 * np.mean(ours.intra)


def test_the_papers_choices_drop_outer_values(rng):
    a, b = rng.normal(size=(200, 5)), rng.normal(size=(300, 5))
    b[::2] += 100
    ours, paper = (dissimilarity(a, b, paper=p) for p in (False, True))
    assert paper.distance < 0.5 * ours.distance


def test_too_few_labelled_images_are_refused(rng):
    with pytest.raises(InputError, match="at least 8 labelled images; got 7"):
        dissimilarity(rng.normal(size=(7, 5)), rng.normal(size=(90, 5)))


def test_eight_labelled_images_are_enough(rng):
    d = dissimilarity(rng.normal(size=(8, 5)), rng.normal(size=(90, 5)))
    assert np.isfinite([d.distance, d.spread, *d.interval]).all()


def test_a_sample_larger_than_the_pool_is_refused(rng):
    with pytest.raises(OptionError, match="'features_b' cannot be compared: it holds only 20"):
        dissimilarity(rng.normal(size=(60, 5)), rng.normal(size=(20, 5)))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sample_size": 0}, "sample_size must be at least 1; got 0"),
        ({"draws": 1}, "draws must be at least 2, to have a spread; got 1"),
        ({"measure": "cosinus"}, "Unknown measure 'cosinus'. Did you mean 'cosine'?"),
    ],
)
def test_options_that_make_no_sense_are_refused(option, message, rng):
    with pytest.raises(OptionError, match=message):
        dissimilarity(rng.normal(size=(60, 5)), rng.normal(size=(20, 5)), **option)


def test_features_of_different_width_are_refused(rng):
    with pytest.raises(ShapeError, match="must have 5 features a row; got 6"):
        dissimilarity(rng.normal(size=(60, 5)), rng.normal(size=(90, 6)))


def test_what_is_no_table_of_numbers_is_refused_before_anything_is_drawn(rng):
    good = rng.normal(size=(60, 5))
    with pytest.raises(ShapeError, match="must be finite; got NaN"):
        dissimilarity(np.where(good > 2, np.nan, good), good)
    with pytest.raises(ShapeError, match=r"must be an \(n, d\) array"):
        dissimilarity(good[:, 0], good[:, 0])
