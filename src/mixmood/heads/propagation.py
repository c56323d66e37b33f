"""Label spreading over a graph of neighbours, combined with logistic regression for safety."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mixmood.core.arrays import Array
from mixmood.heads.problem import Head, HeadProblem, LinearHeads
from mixmood.numerics.checks import ranged
from mixmood.numerics.logistic import softmax
from mixmood.numerics.neighbours import cosine_neighbours

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class PropagationHead(Head):
    """The geometric mean of logistic regression and label spreading, as one linear head.

    Labels spread from the training rows over the graph of the `n_neighbours` nearest rows, with
    S = D^-1/2 A D^-1/2: F = (1 - reach) (I - reach S)^-1 Y, by `n_steps` iterations. Classes are
    rescaled to their shares among the labels, rows to sum 1. A linear head is fitted to the labels
    and, on the pool, to the normalised geometric means of F and of the supervised head's
    probabilities. For rows far from all labels F is nearly uniform and the supervised head decides,
    so that foreign images do little harm. An empty pool gives the supervised head.

    Source of the spreading: Zhou et al., "Learning with local and global consistency", 2004.
    """

    n_neighbours: int = ranged(5, 1)
    reach: float = ranged(0.9, 0, 0.999)
    n_steps: int = ranged(30, 1)
    pool_weight: float = ranged(10.0, 0)
    graph_share: float = ranged(0.5, 0, 1)

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The propagation heads of all problems."""
        heads = problem.labelled.supervised
        if len(problem.pool) == 0 or self.pool_weight == 0:
            return heads
        own = softmax(heads.logits_of_rows(problem.pool), axis=-1)
        targets = geometric_mean(own, self.spread_labels(problem), self.graph_share)
        n_training = problem.labelled.weights.sum(axis=1, keepdims=True)
        share = self.pool_weight * n_training / len(problem.pool)
        weights = np.repeat(share, len(problem.pool), axis=1)
        return problem.fit_joint(targets, weights, heads)

    def spread_labels(self, problem: HeadProblem) -> Array:
        """The class probabilities of the pool by the graph, shape (B, m, k); rows sum to 1."""
        own = problem.labelled
        reached = self._reached(own.rows, problem.pool)[len(own.rows) :]
        given = own.weights[:, :, None] * own.targets
        flat = np.moveaxis(given, 0, 1).reshape(len(own.rows), -1)
        spread = (reached @ flat).reshape(-1, problem.n_problems, own.n_classes)
        spread = spread.transpose(1, 0, 2)
        # Each class gets mass in proportion to its labels: hubs of the graph do not favour one.
        total = spread.sum(axis=1, keepdims=True)
        labels = given.sum(axis=1)[:, None, :]
        spread = spread * (labels / np.where(total > 0, total, 1.0))
        # A row that no label reaches gets equal probabilities.
        spread = spread + 1e-6 * spread.mean(axis=(1, 2), keepdims=True) + 1e-300
        return np.asarray(spread / spread.sum(axis=2, keepdims=True))

    def _reached(self, labelled: Array, pool: Array) -> Array:
        """How much of a label on each labelled row reaches every row, shape (n + m, n)."""
        # The graph does not depend on which rows train, and spreading is linear in the labels:
        # this one matrix serves all problems.
        graph = neighbour_graph(np.concatenate([labelled, pool]), self.n_neighbours)
        reached = start = np.eye(len(labelled) + len(pool), len(labelled))
        for _ in range(self.n_steps):
            reached = self.reach * (graph @ reached) + (1 - self.reach) * start
        return np.asarray(reached)


def neighbour_graph(rows: Array, n_neighbours: int) -> "csr_array":
    """D^-1/2 A D^-1/2 of the symmetric graph of nearest neighbours by cosine, shape (n, n).

    A holds max(cosine, 0) for pairs of rows of which one is among the other's nearest.
    """
    # Imported here: other heads do not need it, and it takes 0.2 s.
    from scipy import sparse

    found = cosine_neighbours(rows, None, n_neighbours)
    n_rows, k = found.indices.shape
    near = np.maximum(found.similarities.ravel().astype(float), 0.0)
    ends = (np.repeat(np.arange(n_rows), k), found.indices.ravel())
    directed = sparse.csr_array((near, ends), shape=(n_rows, n_rows))
    graph = directed.maximum(directed.T)
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1.0)))
    return sparse.csr_array(scale @ graph @ scale)


def geometric_mean(own: Array, graph: Array, graph_share: float) -> Array:
    """own ** (1 - graph_share) * graph ** graph_share, normalised along the last axis.

    >>> geometric_mean(np.array([0.8, 0.2]), np.array([0.5, 0.5]), 0.5).round(3).tolist()
    [0.667, 0.333]
    """
    logs = (1 - graph_share) * np.log(np.maximum(own, 1e-12)) + graph_share * np.log(graph)
    return softmax(logs, axis=-1)
