"""What every head must obey, whatever it does with the pool."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.heads import HEADS, fit_head

ALL = list(HEADS)
POOL_HEADS = [name for name, head in HEADS.items() if head.uses_pool]


def clouds(n=30, m=80, d=12, k=3, seed=0):
    rng = np.random.default_rng(seed)
    codes, hidden = np.arange(n) % k, rng.integers(0, k, m)
    centres = 2 * rng.normal(size=(k, d))
    features = centres[codes] + 1.5 * rng.normal(size=(n, d))
    return features, codes, centres[hidden] + 1.5 * rng.normal(size=(m, d))


def fitted(name, features, codes, pool, k=3):
    return fit_head(name, features, codes, k, pool, np.random.default_rng(5))


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_bytes(name):
    first, second = (fitted(name, *clouds()) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.bias.tobytes() == second.bias.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_rows_does_not_matter(name):
    features, codes, pool = clouds()
    rng = np.random.default_rng(1)
    order, pool_order = rng.permutation(len(codes)), rng.permutation(len(pool))
    straight = fitted(name, features, codes, pool)
    shuffled = fitted(name, features[order], codes[order], pool[pool_order])
    assert shuffled.weights == pytest.approx(straight.weights, abs=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_the_names_of_classes_do_not_matter(name):
    features, codes, pool = clouds()
    renamed = np.array([2, 0, 1])
    straight = fitted(name, features, codes, pool).predict_proba(pool)
    other = fitted(name, features, renamed[codes], pool).predict_proba(pool)
    assert other[:, renamed] == pytest.approx(straight, abs=0.02)
    assert (renamed[straight.argmax(axis=1)] == other.argmax(axis=1)).mean() > 0.95


@pytest.mark.parametrize("name", POOL_HEADS)
def test_an_empty_pool_gives_the_supervised_head(name):
    features, codes, pool = clouds()
    supervised = fitted("supervised", features, codes, pool)
    for empty in (None, pool[:0]):
        head = fitted(name, features, codes, empty)
        assert head.weights.tobytes() == supervised.weights.tobytes()
        assert head.bias.tobytes() == supervised.bias.tobytes()


@pytest.mark.parametrize("name", POOL_HEADS)
def test_a_pool_of_copies_of_the_labelled_rows_changes_none_of_their_classes(name):
    features, codes, _ = clouds(d=40)
    supervised = fitted("supervised", features, codes, None).predict(features)
    head = fitted(name, features, codes, np.tile(features, (3, 1)))
    assert (supervised == codes).all()
    assert (head.predict(features) == codes).all()


@pytest.mark.parametrize("name", ALL)
def test_the_scale_of_a_row_does_not_matter(name):
    features, codes, pool = clouds()
    head = fitted(name, features, codes, pool)
    scales = np.geomspace(0.01, 100, len(pool))[:, None]
    assert head.predict_proba(pool * scales) == pytest.approx(head.predict_proba(pool), abs=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_probabilities_sum_to_one_and_a_clean_pool_does_no_harm(name):
    features, codes, pool = clouds(m=300)
    head = fitted(name, features, codes, pool)
    assert head.predict_proba(pool).sum(axis=1) == pytest.approx(1)
    agree = head.predict(pool) == fitted("supervised", features, codes, None).predict(pool)
    assert agree.mean() > 0.8


@pytest.mark.parametrize("name", ALL)
def test_a_class_with_one_image_and_single_precision_are_taken(name):
    features, codes, pool = clouds()
    codes = np.where(np.arange(30) == 0, 2, codes % 2)
    head = fitted(name, features.astype(np.float32), codes, pool.astype(np.float32))
    assert np.isfinite(head.weights).all()


@pytest.mark.parametrize("name", ALL)
def test_bad_input_is_refused(name):
    features, codes, pool = clouds()
    with pytest.raises(InputError, match="two classes or more; got 1"):
        fitted(name, features, np.zeros(30, int), pool)
    with pytest.raises(InputError, match="0 to 2"):
        fitted(name, features, codes - 1, pool)
    with pytest.raises(InputError, match="labelled images .* in 1 of 30 rows"):
        fitted(name, np.where(np.arange(30)[:, None] == 3, np.nan, features), codes, pool)
    with pytest.raises(ShapeError, match="The pool must have 12 features a row; got 11"):
        fitted(name, features, codes, pool[:, 1:])
    with pytest.raises(ShapeError, match=r"\(29, 12\) and \(30,\)"):
        fitted(name, features[1:], codes, pool)
    with pytest.raises(ShapeError, match="must have 12 features a row; got 11"):
        fitted(name, features, codes, pool).predict_proba(features[:, 1:])


def test_more_images_and_classes_than_a_fit_can_hold_are_refused():
    features, codes = np.ones((10_000, 1)), np.arange(10_000)
    with pytest.raises(InputError, match="got 10,000 images of 10,000 classes. Leave classes out"):
        fit_head("supervised", features, codes, 10_000, None, np.random.default_rng(0))


def test_an_unknown_head_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="mixmatch"):
        fitted("mixmach", *clouds())
