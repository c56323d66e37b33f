"""Laws that every score keeps."""

import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.evidence.share import auc
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.registry import SCORES, fit_score, restored_score

every_score = pytest.mark.parametrize("family", SCORES)


def pools(world, n_useful=90, n_foreign=90):
    labelled, labels = world.useful(45)
    return labelled, labels, np.concatenate([world.useful(n_useful)[0], world.foreign(n_foreign)])


@every_score
def test_foreign_images_score_below_useful_ones(family, world):
    labelled, labels, pool = pools(world)
    scores = fit_score(labelled, pool, labels, family).score(pool)
    assert auc(scores[:90], scores[90:]) > 0.95


@every_score
def test_the_order_of_rows_does_not_matter(family, world):
    labelled, labels, pool = pools(world)
    plain = fit_score(labelled, pool, labels, family)
    own, others = (
        np.random.default_rng(1).permutation(45),
        np.random.default_rng(2).permutation(180),
    )
    mixed = fit_score(labelled[own], pool[others], labels[own], family)
    assert mixed.score(pool) == pytest.approx(plain.score(pool), abs=1e-9)
    assert mixed.fit.labelled == pytest.approx(plain.fit.labelled[own], abs=1e-9)
    assert mixed.fit.pool == pytest.approx(plain.fit.pool[others], abs=1e-9)


@every_score
def test_a_row_scores_the_same_alone_and_in_a_batch(family, world):
    labelled, labels, pool = pools(world)
    score = fit_score(labelled, pool, labels, family)
    alone = [float(score.score(row[None])[0]) for row in pool]
    assert alone == pytest.approx(score.score(pool).tolist(), abs=1e-9)


@every_score
def test_the_unit_of_the_features_does_not_matter(family, world):
    labelled, labels, pool = pools(world)
    plain = fit_score(labelled, pool, labels, family)
    scaled = fit_score(labelled * 8.0, pool * 8.0, labels, family)
    assert scaled.score(pool * 8.0) == pytest.approx(plain.score(pool), abs=1e-9)


@every_score
def test_rows_of_the_sample_score_as_they_do_when_they_come_by_again(family, world):
    """A stream meets the sample's rows again: the model that has not seen them must be chosen."""
    labelled, labels, pool = pools(world)
    score = fit_score(labelled, pool, labels, family)
    assert score.score(pool) == pytest.approx(score.fit.pool, abs=1e-8)


def arrays_of(score):
    return {**score.fit.arrays, "labelled": score.fit.labelled, "pool": score.fit.pool}


@every_score
def test_a_score_survives_being_taken_apart(family, world, tmp_path):
    labelled, labels, pool = pools(world)
    score = fit_score(labelled, pool, labels, family)
    np.savez(tmp_path / "score.npz", **arrays_of(score))
    with np.load(tmp_path / "score.npz", allow_pickle=False) as content:
        again = restored_score(family, score.width, dict(content))
    assert again.score(pool).tolist() == score.score(pool).tolist()
    assert again.fit.labelled.tolist() == score.fit.labelled.tolist()


@pytest.mark.parametrize("family", ["classifier", "combined"])
def test_useful_images_score_like_labelled_ones(family, world):
    """Otherwise a threshold taken from labelled images means nothing. Standard error: 0.02."""
    areas = []
    for _ in range(12):
        labelled, labels = world.useful(45)
        fit = fit_score(labelled, world.useful(150)[0], labels, family).fit
        areas.append(auc(fit.labelled, fit.pool))
    assert np.mean(areas) == pytest.approx(0.5, abs=0.06)


@every_score
def test_the_memory_of_a_score_does_not_grow_with_the_pool(family, world):
    labelled, labels, pool = pools(world)
    small = fit_score(labelled, pool[::3], labels, family).fit.arrays
    large = fit_score(labelled, pool, labels, family).fit.arrays
    assert {k: np.shape(v) for k, v in small.items()} == {k: np.shape(v) for k, v in large.items()}
    assert set(small) == set(SCORES[family].arrays)


@every_score
def test_a_pool_of_copies_of_the_labelled_images_is_typical(family, world):
    labelled, labels = world.useful(45)
    score = fit_score(labelled, labelled.copy(), labels, family)
    assert np.isfinite(score.fit.labelled).all()
    assert score.fit.pool.mean() >= score.fit.labelled.mean() - 1e-9


@every_score
def test_constant_features_give_finite_scores(family):
    labelled, pool = np.ones((6, 5)), np.ones((9, 5))
    score = fit_score(labelled, pool, np.arange(6) % 2, family)
    assert np.isfinite(score.score(pool)).all()
    assert np.isfinite(score.fit.labelled).all()


@every_score
def test_no_rows_have_no_scores(family, world):
    labelled, labels, pool = pools(world)
    assert fit_score(labelled, pool, labels, family).score(pool[:0]).shape == (0,)


@every_score
def test_bad_features_are_refused_with_a_way_out(family, world):
    labelled, labels, pool = pools(world)
    with pytest.raises(InputError, match="The pool must have at least 1 row"):
        fit_score(labelled, pool[:0], labels, family)
    with pytest.raises(InputError, match="at least 2 rows; got 1"):
        fit_score(labelled[:1], pool, labels[:1], family)
    with pytest.raises(ShapeError, match="must have 24 features a row.*got 23"):
        fit_score(labelled, pool[:, 1:], labels, family)
    with pytest.raises(
        ShapeError, match=r"The labelled images must be an \(n, d\) array of numbers; got shape"
    ):
        fit_score(labelled[0], pool, labels, family)
    with pytest.raises(ShapeError, match=r"The pool must be an .* got shape \(180, 24\) of <U"):
        fit_score(labelled, pool.astype(str), labels, family)
    with pytest.raises(ShapeError, match="one label for each labelled image, 45"):
        fit_score(labelled, pool, labels[1:], family)
    with pytest.raises(ShapeError, match="The pool must be finite"):
        fit_score(labelled, np.where(pool == pool[3, 3], np.nan, pool), labels, family)
    with pytest.raises(ShapeError, match="same backbone"):
        fit_score(labelled, pool, labels, family).score(pool[:, 1:])


def test_an_unknown_score_is_refused_with_the_nearest_name(world):
    labelled, labels, pool = pools(world)
    with pytest.raises(OptionError, match="Did you mean 'knn'"):
        fit_score(labelled, pool, labels, "kn")
    with pytest.raises(OptionError, match="'prototypes' needs the classes"):
        fit_score(labelled, pool, None, "prototypes")


def test_saved_arrays_of_something_else_are_refused(world):
    labelled, labels, pool = pools(world)
    arrays = arrays_of(fit_score(labelled, pool, labels, "knn"))
    with pytest.raises(OptionError, match="Unknown score ''"):
        restored_score("", 24, {})
    with pytest.raises(InputError, match="got no centre"):
        restored_score("knn", 24, {k: v for k, v in arrays.items() if k != "centre"})
    with pytest.raises(
        InputError, match="The array 'centre' of a saved score must hold finite numbers"
    ):
        restored_score("knn", 24, {**arrays, "centre": np.full(24, np.nan)})


def left_out(labelled, labels, pool, family, i):
    """The score of a labelled row by a fit without it."""
    rest = np.arange(len(labelled)) != i
    return float(
        fit_score(labelled[rest], pool, labels[rest], family).score(labelled[i : i + 1])[0]
    )


@pytest.mark.parametrize("family", ["knn", "prototypes", "subspace"])
def test_leaving_one_out_equals_a_plain_loop(family, world):
    labelled, labels, pool = pools(world)
    own = fit_score(labelled, pool, labels, family).fit.labelled
    looped = [left_out(labelled, labels, pool, family, i) for i in range(len(labelled))]
    assert own == pytest.approx(looped, abs=1e-9)


def test_the_only_image_of_a_class_is_compared_with_the_other_classes(world):
    labelled, labels = world.useful(7)
    score = fit_score(labelled, world.useful(30)[0], labels, "prototypes")
    assert (labels == 1).sum() == 2
    labels = np.array([0, 0, 0, 1, 1, 1, 2])
    pool = world.useful(30)[0]
    own = fit_score(labelled, pool, labels, "prototypes").fit.labelled
    assert own[6] == pytest.approx(left_out(labelled, labels, pool, "prototypes", 6), abs=1e-9)
    assert score.width == 24


def test_the_fold_models_equal_a_plain_loop_over_folds(world):
    """One inverse stands for all fits."""
    from mixmood.scores.fitting import fit_fold_models

    labelled, _, pool = pools(world)
    rows = unit_rows(np.concatenate([labelled, pool]))
    rng = np.random.default_rng(0)
    targets, importance = rng.choice([-1.0, 1.0], len(rows)), rng.uniform(0.1, 1.0, len(rows))
    folds = rng.permutation(len(rows)) % 7
    parts, held_out = fit_fold_models(rows @ rows.T, targets, importance, folds, 0.3)
    for fold in range(7):
        x, t, w = (values[folds != fold] for values in (rows, targets, importance))
        weights = np.linalg.solve((x.T * w) @ x + 0.3 * np.eye(x.shape[1]), (x.T * w) @ t)
        assert parts[fold] @ rows == pytest.approx(weights, abs=1e-8)
        assert held_out[folds == fold] == pytest.approx(rows[folds == fold] @ weights, abs=1e-8)
