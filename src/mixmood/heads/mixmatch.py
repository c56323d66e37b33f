"""MixMatch on frozen features: guess, sharpen and mix; the weight of the pool is ramped up."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Array
from mixmood.heads.problem import Head, HeadProblem, LinearHeads
from mixmood.numerics.checks import ranged
from mixmood.numerics.logistic import softmax

F32 = NDArray[np.float32]


@dataclass(frozen=True)
class MixMatchHead(Head):
    """A linear MixMatch head, trained by gradient steps that start from the supervised head.

    In every update the head guesses class probabilities p for a batch of the pool. The guesses
    are sharpened: p ** (1 / temperature), normalised. All labelled rows and the batch are mixed
    with random partners: s * own + (1 - s) * partner's with s = max(l, 1 - l), l from
    Beta(alpha, alpha). The loss is the cross-entropy of mixed labelled rows plus
    gamma * r * the squared error of mixed pool rows; r grows from 0 to 1 over the first
    `ramp_share` of the updates. An empty pool gives the supervised head.

    Logits are linear in the features, so that the logits of mixed rows are mixed logits. Steps are
    those of Adam with one step size for the whole head, which do not depend on the basis of the
    features: a few directions are enough.

    Source: Berthelot et al., "MixMatch", 2019.
    """

    temperature: float = ranged(0.5, 1e-3)
    alpha: float = ranged(2.0, 1e-3)
    gamma: float = ranged(25.0, 0)
    ramp_share: float = ranged(0.32, 0, 1)
    n_updates: int = ranged(200, 1)
    batch_size: int = ranged(128, 1)
    rate: float = ranged(1.8, 0)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The MixMatch heads of all problems; they share batches and partners."""
        if len(problem.pool) == 0:
            return problem.labelled.supervised
        state = _Training(problem)
        for update in range(self.n_updates):
            ramp = min(1.0, update / max(1.0, self.ramp_share * self.n_updates))
            self._update(state, self.gamma * ramp, rng)
        return state.heads()

    def _update(self, state: "_Training", gamma: float, rng: np.random.Generator) -> None:
        drawn = rng.integers(state.n_labelled, len(state.rows), self.batch_size)
        rows = np.concatenate([state.rows[: state.n_labelled], state.rows[drawn]])
        partners = rng.permutation(len(rows))
        shares = rng.beta(self.alpha, self.alpha, len(rows))
        partner_shares = (1 - np.maximum(shares, 1 - shares)).astype(np.float32)
        logits = state.logits(rows)
        guesses = sharpened(softmax(logits[:, state.n_labelled :], axis=0), self.temperature, 0)
        targets = np.concatenate([state.targets, guesses], axis=1)
        # A held-out row is never a partner: its label must stay unknown.
        mixed_in = partner_shares[:, None] * state.may_mix(len(rows))[partners]
        mixed_p = softmax(logits + mixed_in * (logits[:, partners] - logits), axis=0)
        error = mixed_p - (targets + mixed_in * (targets[:, partners] - targets))
        gradient = logit_gradient(error, mixed_p, state.shares, gamma)
        # A mixed logit depends on the row itself and on its partner: each gets its share.
        of_partner = mixed_in * gradient
        own = gradient - of_partner
        own[:, partners] += of_partner
        state.step(rows, own, self.rate)


def logit_gradient(error: F32, mixed_p: F32, shares: F32, gamma: float) -> F32:
    """The gradient of the loss in the mixed logits, shape (k, rows, B); labelled rows come first.

    `error` is p - targets; `shares`, (n_labelled, B), sum to 1; `gamma` weighs the pool.
    """
    n_labelled = len(shares)
    p, pool_error = mixed_p[:, n_labelled:], error[:, n_labelled:]
    of_pool = p * (pool_error - (p * pool_error).sum(axis=0))
    of_pool *= np.float32(2 * gamma / (p.shape[0] * p.shape[1]))
    return np.concatenate([error[:, :n_labelled] * shares, of_pool], axis=1)


def sharpened(p: Array, temperature: float, axis: int = -1) -> Array:
    """p ** (1 / temperature), normalised along an axis.

    >>> sharpened(np.array([0.6, 0.3, 0.1]), 0.5).round(3).tolist()
    [0.783, 0.196, 0.022]
    """
    powers = p ** np.asarray(1 / temperature, p.dtype)
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


class _Training:
    """The state of a training. Parameters are (r + 1, k, B), the bias last; logits (k, rows, B)."""

    # Sums over a few classes are fast along the first axis.

    _KEEP_MEAN, _KEEP_SQUARE = 0.9, 0.99

    def __init__(self, problem: HeadProblem) -> None:
        own, first = problem.labelled, problem.labelled.supervised
        coordinates = problem.joint.coordinates
        self._basis = problem.joint.basis
        self.n_labelled = len(own.rows)
        self._centre = coordinates[self.n_labelled :].mean(axis=0)
        ones = np.ones((len(coordinates), 1))
        self.rows: F32 = np.hstack([coordinates - self._centre, ones]).astype(np.float32)
        self._weights = own.weights.T.astype(np.float32)
        self.shares = self._weights / np.maximum(self._weights.sum(axis=0), 1)
        shape = (own.n_classes, self.n_labelled, problem.n_problems)
        self.targets = np.broadcast_to(own.targets.T.astype(np.float32)[:, :, None], shape)
        inside = np.matmul(self._basis.T, first.weights)
        bias = first.bias + np.tensordot(self._centre, inside, (0, 1))
        both = np.concatenate([inside.transpose(1, 2, 0), bias.T[None]])
        self._parameters: F32 = np.ascontiguousarray(both, dtype=np.float32)
        self._mean = np.zeros_like(self._parameters)
        self._square = np.zeros(problem.n_problems, np.float32)
        self._n_steps = 0

    def may_mix(self, n_rows: int) -> F32:
        """1 for rows that may be partners, 0 for held-out rows, shape (n_rows, B)."""
        pool = np.ones((n_rows - self.n_labelled, self._weights.shape[1]), np.float32)
        return np.concatenate([(self._weights > 0).astype(np.float32), pool])

    def logits(self, rows: F32) -> F32:
        """The logits of rows, shape (k, n, B)."""
        flat = self._parameters.reshape(len(self._parameters), -1)
        by_row = (rows @ flat).reshape(-1, *self._parameters.shape[1:])
        return np.ascontiguousarray(by_row.transpose(1, 0, 2))

    def step(self, rows: F32, gradients: F32, rate: float) -> None:
        """One step of length about `rate` for each class; gradients in the logits, (k, n, B)."""
        by_row = gradients.transpose(1, 0, 2).reshape(len(rows), -1)
        gradient = (rows.T @ by_row).reshape(self._parameters.shape)
        self._n_steps += 1
        self._mean += np.float32(1 - self._KEEP_MEAN) * (gradient - self._mean)
        square = np.einsum("rkb,rkb->b", gradient, gradient) / np.float32(len(self._parameters[0]))
        self._square += np.float32(1 - self._KEEP_SQUARE) * (square - self._square)
        # Both running means start at 0; these factors correct that bias, as in Adam.
        root = np.sqrt(self._square / np.float32(1 - self._KEEP_SQUARE**self._n_steps))
        scale = rate / (1 - self._KEEP_MEAN**self._n_steps) / (root + 1e-8)
        self._parameters -= self._mean * scale.astype(np.float32)

    def heads(self) -> LinearHeads:
        """The present heads, with weights for features instead of coordinates."""
        parameters = self._parameters.astype(float)
        inside = parameters[:-1].transpose(2, 0, 1)
        bias = parameters[-1].T - np.tensordot(self._centre, inside, (0, 1))
        weights = np.matmul(self._basis, inside)
        return LinearHeads(weights, bias - bias.mean(axis=1, keepdims=True))
