"""Folds of a cross-validation: stratified, repeated, with groups kept together."""

import numpy as np

from mixmood.core.arrays import Array, Codes, Mask
from mixmood.core.errors import InputError
from mixmood.core.text import counted

Folds = Codes  # the fold of every row, or the folds in every repeat
NEVER = -1  # the fold of a row that is in every training set and never held out


def repeated_folds(
    codes: Codes,
    n_folds: int,
    n_repeats: int,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> Folds:
    """The fold of every row in every repeat, shape (n_repeats, n); NEVER where it has none.

    Each class is spread as evenly as it can be over the folds. Rows of one group are in one fold;
    without groups, which may be any integers, each row is a group. No class may be missing from the
    training rows of a fold: one with a single image (or group) has the fold NEVER, and its accuracy
    cannot be estimated. With fewer rows (groups) than folds there are fewer folds.

    >>> repeated_folds(np.array([0, 0, 0, 1, 1, 2]), 2, 1, np.random.default_rng(0)).tolist()
    [[1, 0, 0, 0, 1, -1]]
    """
    members = np.arange(len(codes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    classes, of_row = np.unique(codes, return_inverse=True)
    counts = np.zeros((members.max(initial=-1) + 1, len(classes)))
    np.add.at(counts, (members, of_row), 1)
    if len(classes) < 2 or not _can_be_held_out(counts).any():
        raise InputError(
            "Cross-validation needs two classes and, in one of them, two images that are not of "
            f"one group; got {counted(len(codes), 'image')} of "
            f"{counted(len(classes), 'class', 'classes')}."
        )
    divided = [_divided(counts, n_folds, rng)[members] for _ in range(n_repeats)]
    return np.stack(divided)


def training_weights(folds: Folds) -> tuple[Array, Mask]:
    """1.0 for rows that train, True for rows held out, in every fold with rows: arrays (B, n)."""
    held_out = np.concatenate(
        [row[None, :] == np.arange(row.max() + 1)[:, None] for row in folds], axis=0
    )
    held_out = held_out[held_out.any(axis=1)]
    return (~held_out).astype(float), held_out


def _can_be_held_out(counts: Array) -> Mask:
    """Groups that do not hold all images of a class; `counts` are images by group and class."""
    is_whole = (counts == counts.sum(axis=0)) & (counts > 0)
    return np.asarray(~is_whole.any(axis=1))


def _divided(counts: Array, n_folds: int, rng: np.random.Generator) -> Folds:
    """The fold of each group: the largest first, each into the fold with least of its classes."""
    folds = np.full(len(counts), NEVER, np.int64)
    free = np.flatnonzero(_can_be_held_out(counts))
    shares = counts / counts.sum(axis=0)
    filled = np.zeros((min(n_folds, len(free)), counts.shape[1]))
    shuffled = rng.permutation(free)
    # Stable: groups of one size and class stay in random order. Classes one after the other keep
    # the folds of equal size when every row is its own group.
    order = shuffled[np.lexsort((counts[shuffled].argmax(axis=1), -counts[shuffled].sum(axis=1)))]
    for group in order:
        load = (filled * shares[group]).sum(axis=1) / (shares[group] ** 2).sum()
        # First by the shares of classes, then by the number of rows; ties go to the lowest fold.
        fold = int(np.lexsort((filled @ counts.sum(axis=0), load.round(9)))[0])
        filled[fold] += shares[group]
        folds[group] = fold
    return _repaired(folds, counts)


def _repaired(folds: Folds, counts: Array) -> Folds:
    """The folds, changed so that none holds a whole class: one of its groups gets NEVER."""
    for code in range(counts.shape[1]):
        groups = np.flatnonzero(counts[:, code])
        used = np.unique(folds[groups])
        if len(used) == 1 and used[0] != NEVER:
            folds[groups[0]] = NEVER
    return folds
