"""MixMatch on frozen features: guess, sharpen, mix, and a squared error with a ramp."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.adam import Adam
from mixmood.heads.checks import check_setting
from mixmood.heads.linear import LinearHeads
from mixmood.heads.problem import HeadProblem
from mixmood.heads.supervised import supervised_base
from mixmood.numerics.softmax import softmax

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class MixMatchHead:
    """A linear MixMatch head, trained by Adam from the supervised one.

    In every update the head guesses classes of a batch of the pool; the guesses are sharpened,
    p ** (1 / temperature) normalised. Labelled rows and the batch are mixed in pairs,
    s * own + (1 - s) * partner's with s = max(l, 1 - l), l from Beta(alpha, alpha). The loss is
    the cross-entropy of mixed labelled rows plus gamma * r * the squared error of mixed pool
    rows, r growing from 0 to 1 over a share of the updates. An empty pool gives the supervised
    head.

    Logits are linear in the features: those of mixed rows are mixed logits, so that one product
    with the batch serves guesses and loss alike, for all problems at once. Adam depends on the
    basis of the features; the rows are therefore never rotated or projected.

    Source: Berthelot et al., "MixMatch", 2019.
    """

    temperature: float = 0.5
    alpha: float = 2.0
    gamma: float = 25.0
    ramp_share: float = 0.32
    n_updates: int = 100
    batch_size: int = 128
    rate: float = 0.03
    decay: float = 0.0

    def __post_init__(self) -> None:
        """Refuse settings outside their ranges."""
        check_setting("temperature", self.temperature, 1e-3)
        check_setting("alpha", self.alpha, 1e-3)
        check_setting("gamma", self.gamma, 0)
        check_setting("ramp_share", self.ramp_share, 0, 1)
        check_setting("n_updates", self.n_updates, 1)
        check_setting("batch_size", self.batch_size, 1)
        check_setting("rate", self.rate, 0)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The MixMatch heads of all problems; they share batches and partners."""
        _, first = supervised_base(problem)
        if len(problem.pool) == 0:
            return first
        state = _Training(problem, first)
        for update in range(self.n_updates):
            self._update(state, update, rng)
        return state.heads()

    def _update(self, state: "_Training", update: int, rng: np.random.Generator) -> None:
        drawn = rng.integers(0, len(state.pool), self.batch_size)
        rows = np.concatenate([state.labelled, state.pool[drawn]])
        n_labelled, n_rows = len(state.labelled), len(rows)
        partners = rng.permutation(n_rows)
        shares = rng.beta(self.alpha, self.alpha, n_rows)
        lost = (1 - np.maximum(shares, 1 - shares)).astype(np.float32)
        logits = state.logits(rows)
        guesses = sharpened(softmax(logits[n_labelled:]), self.temperature)
        targets = np.concatenate(
            [np.broadcast_to(state.targets, (n_labelled, *logits.shape[1:])), guesses]
        )
        # A held-out row is nobody's partner: its label must stay unknown.
        lost_by = lost[:, None, None] * state.trains(n_rows)[partners]
        mixed_p = softmax(logits + lost_by * (logits[partners] - logits))
        error = mixed_p - (targets + lost_by * (targets[partners] - targets))
        ramp = (
            1.0 if self.ramp_share == 0 else min(1.0, update / (self.ramp_share * self.n_updates))
        )
        slopes = self._slopes(state, error, mixed_p, self.gamma * ramp)
        own = slopes - lost_by * slopes
        own[partners] += lost_by * slopes
        state.step(rows, own, self.rate, self.decay)

    def _slopes(self, state: "_Training", error: F32, mixed_p: F32, gamma: float) -> F32:
        """The slope of the loss in each mixed logit, shape (rows, B, k)."""
        n_labelled, n_classes = len(state.labelled), error.shape[2]
        slopes = np.empty_like(error)
        slopes[:n_labelled] = error[:n_labelled] * state.shares
        # Squared error, mean over rows and classes: 2 (p - t) through the softmax.
        p, off = mixed_p[n_labelled:], error[n_labelled:]
        through = p * (off - (p * off).sum(axis=2, keepdims=True))
        slopes[n_labelled:] = through * np.float32(2 * gamma / (len(p) * n_classes))
        return slopes


def sharpened(p: Array, temperature: float) -> Array:
    """p ** (1 / temperature), normalised along the last axis.

    >>> sharpened(np.array([0.6, 0.3, 0.1]), 0.5).round(3).tolist()
    [0.783, 0.196, 0.022]
    """
    powers = p ** np.asarray(1 / temperature, p.dtype)
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


class _Training:
    """The rows in single precision, the unknowns, shape (d + 1, B, k), and their optimiser."""

    def __init__(self, problem: HeadProblem, first: LinearHeads) -> None:
        self.labelled: F32 = np.asarray(problem.rows, np.float32)
        self.pool: F32 = np.asarray(problem.pool, np.float32)
        self.centre = self.pool.mean(axis=0)
        self.labelled, self.pool = self.labelled - self.centre, self.pool - self.centre
        self.targets: F32 = problem.targets.astype(np.float32)[:, None, :]
        self._weights = problem.weights.T.astype(np.float32)[:, :, None]
        self.shares = self._weights / np.maximum(self._weights.sum(axis=0), 1)
        bias = first.bias + np.tensordot(self.centre, first.weights, (0, 1))
        unknowns = np.concatenate([first.weights.transpose(1, 0, 2), bias[None]])
        self._unknowns: F32 = unknowns.astype(np.float32)
        self._adam = Adam(self._unknowns.shape)

    def trains(self, n_rows: int) -> F32:
        """1 for rows that may be partners, shape (n_rows, B, 1): held-out ones may not."""
        pool = np.ones((n_rows - len(self.labelled), *self._weights.shape[1:]), np.float32)
        return np.concatenate([self._weights, pool])

    def logits(self, rows: F32) -> F32:
        """Shape (n, B, k)."""
        shape = self._unknowns.shape
        flat = self._unknowns[:-1].reshape(shape[0] - 1, -1)
        return np.asarray((rows @ flat).reshape(-1, *shape[1:]) + self._unknowns[-1])

    def step(self, rows: F32, slopes: F32, rate: float, decay: float) -> None:
        """One update of Adam with the slopes of the logits of these rows."""
        shape = self._unknowns.shape
        slope = np.empty_like(self._unknowns)
        slope[:-1] = (rows.T @ slopes.reshape(len(rows), -1)).reshape(-1, *shape[1:])
        slope[-1] = slopes.sum(axis=0)
        if decay:
            slope[:-1] += np.float32(decay) * self._unknowns[:-1]
        self._unknowns -= self._adam.step(slope, rate)

    def heads(self) -> LinearHeads:
        """The heads as they are now."""
        unknowns = self._unknowns.astype(float)
        weights = np.ascontiguousarray(unknowns[:-1].transpose(1, 0, 2))
        bias = unknowns[-1] - np.tensordot(self.centre.astype(float), weights, (0, 1))
        return LinearHeads(weights, bias - bias.mean(axis=1, keepdims=True))
