"""The fitted filter and duplicates."""

import json

import numpy as np
import pytest

from mixmood.core.errors import InputError, ShapeError
from mixmood.numerics.neighbours import COPY_COSINE, EQUAL_COSINE, copy_cosine, unit_rows
from mixmood.scores.fitting import typical_threshold
from mixmood.scores.registry import SCORES
from mixmood.selection.duplicates import MOST_DIFFERENT_BITS, feature_codes, originals
from mixmood.selection.scorer import fit_filter, restored_filter


@pytest.mark.parametrize("family", SCORES)
def test_half_foreign_pools_lose_about_the_foreign_half(family, world, rng):
    labelled, labels = world.useful(60)
    pool = np.concatenate([world.useful(150)[0], world.foreign(150)])
    fitted = fit_filter(labelled, pool, rng, labels=labels, family=family)
    is_kept = fitted.scored(pool).scores >= fitted.threshold
    assert is_kept[:150].mean() > 0.85
    assert is_kept[150:].mean() < 0.15


def test_a_filter_is_applied_in_batches_of_any_size(world, rng):
    labelled, labels = world.useful(60)
    pool = np.concatenate([world.useful(50)[0], world.foreign(51)])
    fitted = fit_filter(labelled, pool, rng, labels=labels)
    whole, parts = fitted.scored(pool), [fitted.scored(pool[i : i + 7]) for i in range(0, 101, 7)]
    for name in ("scores", "nearest", "is_copy", "codes"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert joined == pytest.approx(getattr(whole, name), abs=1e-9)


def test_a_saved_filter_gives_the_same_bytes(world, rng, tmp_path):
    labelled, labels = world.useful(60)
    pool = np.concatenate([world.useful(50)[0], world.foreign(50)])
    fitted = fit_filter(labelled, pool, rng, labels=labels)
    np.savez(tmp_path / "filter.npz", **fitted.arrays)
    with np.load(tmp_path / "filter.npz", allow_pickle=False) as content:
        again = restored_filter(json.loads(json.dumps(fitted.facts)), dict(content))
    assert again.useful == fitted.useful
    assert again.threshold == fitted.threshold
    assert again.scored(pool).scores.tobytes() == fitted.scored(pool).scores.tobytes()
    assert again.scored(pool).nearest.tolist() == fitted.scored(pool).nearest.tolist()


def test_a_filter_without_labels_survives_being_saved(world, rng):
    fitted = fit_filter(world.useful(30)[0], world.useful(60)[0], rng)
    again = restored_filter(json.loads(json.dumps(fitted.facts)), fitted.arrays)
    assert again.useful == fitted.useful


def test_what_is_no_filter_is_refused(world, rng):
    fitted = fit_filter(world.useful(30)[0], world.useful(60)[0], rng)
    with pytest.raises(InputError, match="A saved score must hold its arrays; got no "):
        restored_filter(fitted.facts, {})
    with pytest.raises(ShapeError, match="got 3"):
        restored_filter(fitted.facts, fitted.arrays | {"labelled_rows": np.ones((4, 3))})
    with pytest.raises(InputError, match="The pool must have at least 1 row"):
        fit_filter(world.useful(30)[0], np.empty((0, 24)), rng)


def test_a_threshold_as_typical_as_most_labelled_images(world, rng):
    labelled, labels = world.useful(60)
    fitted = fit_filter(labelled, world.useful(200)[0], rng, labels=labels)
    new = fitted.scored(world.useful(400)[0]).scores
    assert (new >= typical_threshold(fitted.score.fit.labelled, 0.9)).mean() == pytest.approx(
        0.9, abs=0.1
    )
    foreign = fitted.scored(world.foreign(100)).scores
    assert (foreign < typical_threshold(fitted.score.fit.labelled, 0.9)).mean() > 0.5


def test_copies_of_labelled_images_are_found_whatever_their_brightness(world, rng):
    labelled, _ = world.useful(30)
    rows = np.concatenate([labelled[[4]] * 2.0, world.useful(30)[0]])
    batch = fit_filter(labelled, rows, rng).scored(rows)
    assert np.flatnonzero(batch.is_copy).tolist() == [0]
    assert batch.nearest[0] == 4


def test_images_in_a_narrow_cone_are_not_all_copies(world, rng):
    """All cosines are above 0.99 here."""
    labelled, rows = world.useful(30)[0] + 20.0, world.useful(40)[0] + 20.0
    rows[7] = labelled[3]
    assert np.flatnonzero(fit_filter(labelled, rows, rng).scored(rows).is_copy).tolist() == [7]


def test_a_copy_is_found_where_labelled_images_are_copies_of_each_other(rng):
    same = np.repeat(rng.normal(size=(5, 12)), 2, axis=0).astype(np.float32)
    assert copy_cosine(unit_rows(same)) == EQUAL_COSINE
    assert copy_cosine(unit_rows(rng.normal(size=(9, 40)))) == COPY_COSINE


def copied(codes, is_readable):
    """For each row the row that it copies, -1 for none."""
    found = np.full(len(codes), -1)
    rows, originals_of = originals(codes, is_readable)
    found[rows] = originals_of
    return found


def test_copies_within_a_pool_point_to_the_first_of_them(rng):
    rows = rng.normal(size=(50, 64))
    rows[30], rows[41] = rows[7], rows[7] * (1 + 1e-6)
    found = copied(feature_codes(rows, np.zeros(64)), np.ones(50, bool))
    assert np.flatnonzero(found >= 0).tolist() == [30, 41]
    assert found[[30, 41]].tolist() == [7, 7]


def test_unreadable_images_are_neither_copies_nor_copied():
    codes = np.zeros((4, 2), np.uint64)
    found = copied(codes, np.array([False, True, False, True]))
    assert found.tolist() == [-1, -1, -1, 1]
    assert copied(codes, np.zeros(4, bool)).tolist() == [-1] * 4
    assert copied(codes[:0], np.zeros(0, bool)).shape == (0,)


def test_bands_find_every_pair_that_comparing_all_pairs_finds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**63, size=(60, 2), dtype=np.uint64)
    for i in range(30, 60):
        codes[i] = changed(codes[i - 30], rng.choice(128, i % 6, replace=False))
    expected = [i - 30 if i >= 30 and i % 6 <= MOST_DIFFERENT_BITS else -1 for i in range(60)]
    assert copied(codes, np.ones(60, bool)).tolist() == expected


def test_a_chain_of_small_changes_does_not_drift_from_its_original():
    """The third code is near the second alone, which is a copy: it stands for itself."""
    codes = np.zeros((3, 2), np.uint64)
    codes[1] = changed(codes[0], np.arange(3))
    codes[2] = changed(codes[1], np.arange(40, 43))
    assert copied(codes, np.ones(3, bool)).tolist() == [-1, 0, -1]


def changed(code, bits):
    """The code with some of its bits flipped."""
    words = [int(word) for word in code]
    for bit in bits.tolist():
        words[bit // 64] ^= 1 << (bit % 64)
    return words
