"""Which heads use a pool well: `python -m benchmarks.heads.choice FEATURES ROWS.jsonl`.

Development tasks in the view that their labels choose; pools that are clean, uneven (classes of
6 : 3 : 2 : 1, test images alike), half near or half far foreign, a third useful, wholly near and
wholly far foreign. Beside the heads of the package stand those that were tried and dropped. Each
line is a task, seed, number of labels and pool; lines that are there are not computed again. The
table of mean gains over the supervised head is printed at the end.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.heads.tasks import pack_of
from benchmarks.journey.tasks import FAMILIES, LABELS_A_CLASS, Journey, journey
from benchmarks.study import study_parser
from mixmood.core.seeds import rng_for
from mixmood.evidence.labelled import judged_part
from mixmood.features.backbones.view import BOTH, LAST, View
from mixmood.heads.mixmatch import MixMatchHead
from mixmood.heads.problem import HeadProblem, LinearHeads, SupervisedHead, head_problem
from mixmood.heads.propagation import PropagationHead, geometric_mean
from mixmood.heads.pseudo_label import PseudoLabelHead
from mixmood.numerics.logistic import fit_logistic

POOLS = ("clean", "uneven", "half near", "half far", "a third", "near", "far")
SIZES = np.array([6.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class GraphTargets:
    """Pool rows count by their chance; targets join the head's guesses and spread labels."""

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The heads of all problems."""
        heads, own = problem.labelled.supervised, PropagationHead()
        guesses = softmax(heads.logits_of_rows(problem.pool), axis=-1)
        targets = geometric_mean(guesses, own.spread_labels(problem), own.graph_share)
        return problem.fit_joint(targets, pool_weights(problem), heads)


@dataclass(frozen=True)
class GaussianMixture:
    """EM with a Gaussian for each class and a wide one for the background, in few directions."""

    n_directions: int = 24
    n_rounds: int = 15

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The head of one problem."""
        heads = problem.labelled.supervised
        guesses = softmax(heads.logits_of_rows(problem.pool), axis=-1)[0]
        found, foreign = self._expected(problem, guesses)
        targets = geometric_mean(guesses, np.maximum(found, 1e-12), 0.5)
        weights = (1 - foreign) * problem.labelled.weights.sum() / len(foreign)
        return problem.fit_joint(targets[None], weights[None], heads)

    def _expected(self, problem: HeadProblem, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Class probabilities of pool rows, and their chance to be background."""
        own = problem.labelled
        rows = np.concatenate([own.rows, problem.pool]).astype(float)
        rows -= rows.mean(axis=0)
        rows = rows @ np.linalg.svd(rows, full_matrices=False)[2][: self.n_directions].T
        pool, wide = rows[len(own.rows) :], np.cov(rows.T)
        foreign, eye = np.full(len(pool), 0.3), np.eye(rows.shape[1])
        for _ in range(self.n_rounds):
            weights = np.concatenate([own.targets, 0.3 * p * (1 - foreign)[:, None]])
            means = weights.T @ rows / weights.sum(axis=0)[:, None]
            spread = sum(
                (w[:, None] * (rows - m)).T @ (rows - m)
                for w, m in zip(weights.T, means, strict=True)
            )
            spread = spread / weights.sum()
            spread += 0.1 * np.trace(spread) / len(eye) * eye
            priors = np.log(weights.sum(axis=0) / weights.sum())
            each = np.stack([log_density(pool, m, spread) for m in means], axis=1) + priors
            total = np.logaddexp.reduce(each, axis=1)
            odds = np.log(max(foreign.mean(), 1e-3)) - np.log(max(1 - foreign.mean(), 1e-3))
            gap = total - log_density(pool, np.zeros(len(eye)), 2 * wide + 1e-9 * eye) - odds
            foreign, p = 1 / (1 + np.exp(np.clip(gap, -50, 50))), np.exp(each - total[:, None])
        return p, foreign


def log_density(rows: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Of a Gaussian, up to a constant."""
    root = np.linalg.cholesky(spread)
    scaled = np.linalg.solve(root, (rows - mean).T)
    return -0.5 * (scaled**2).sum(axis=0) - np.log(np.diag(root)).sum()


@dataclass(frozen=True)
class BackgroundClass:
    """One class more: pool rows are of it by the chance that they are not useful."""

    def fit(self, problem: HeadProblem, rng: np.random.Generator) -> LinearHeads:
        """The head of one problem; the class more is left out of its answers."""
        own, useful = problem.labelled, problem.joint.useful
        guesses = softmax(own.supervised.logits_of_rows(problem.pool), axis=-1)[0] * useful[:, None]
        pool = np.concatenate([guesses, 1 - useful[:, None]], axis=1)
        labelled = np.pad(own.targets, ((0, 0), (0, 1)))
        weights = np.full(len(useful), own.weights.sum() / len(useful))
        fit = fit_logistic(
            problem.joint.coordinates,
            np.concatenate([labelled, pool]),
            np.concatenate([own.weights[0], weights])[None],
            own.penalties * own.spread,
        )
        basis = problem.joint.basis
        return LinearHeads(np.matmul(basis, fit.weights[:, :, :-1]), fit.bias[:, :-1])


def pool_weights(problem: HeadProblem) -> np.ndarray:
    """By their chance, together as much as the labelled rows."""
    total = problem.labelled.weights.sum(axis=1, keepdims=True)
    return problem.joint.useful[None] * total / len(problem.pool)


HEADS = {
    "supervised": SupervisedHead(),
    "pseudo-label": PseudoLabelHead(),
    "two rounds, any confidence": PseudoLabelHead(n_rounds=2, least_confidence=0.0),
    "equal numbers": PseudoLabelHead(equal_share=1.0),
    "mixmatch": MixMatchHead(),
    "propagation": PropagationHead(),
    "graph targets": GraphTargets(),
    "Gaussian EM": GaussianMixture(),
    "background class": BackgroundClass(),
}
DROPPED = {"unweighted": PseudoLabelHead(equal_share=1.0)}
"""Heads whose pool rows all count the same."""


def pools_of(task: Journey, pack_labels: np.ndarray, rng: np.random.Generator) -> dict[str, list]:
    """The parts of each pool; all are of the same size but the last two."""
    (pack, own), (_, more) = task.pools["clean"][0], task.pools["crawl"][0]
    own, far = np.concatenate([own, more]), task.pools["far"][0]
    near = task.pools["near"][0][1]
    kept = rng.random(len(own)) < uneven_sizes(task)[classes_of(task, pack_labels, own)]
    half = min(len(own) // 2, len(near))
    third = min(len(own) // 3, len(near))
    return {
        "clean": [(pack, own)],
        "uneven": [(pack, own[kept])],
        "half near": [(pack, own[:half]), (pack, near[:half])],
        "half far": [(pack, own[:half]), (far[0], far[1][:half])],
        "a third": [(pack, own[:third]), (pack, near[:third]), (far[0], far[1][:third])],
        "near": [(pack, near)],
        "far": [far],
    }


def classes_of(task: Journey, pack_labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The classes of some images, as the codes of the task."""
    return np.searchsorted(np.unique(pack_labels[task.labelled[1]]), pack_labels[rows])


def uneven_sizes(task: Journey) -> np.ndarray:
    """How many images of each class are kept, as a share; the same for pool and test images."""
    order = np.random.default_rng(len(task.test_codes)).permutation(task.n_classes)
    return SIZES[order] / SIZES[0]


def rows_of_task(folder: Path, name: str, n: int, seed: int) -> Iterator[dict]:
    """Accuracies of all heads with all pools of one task."""
    family = FAMILIES["development"][name]
    task, rng = journey(folder, family, n, seed), rng_for(seed, "choice", name)
    labels, k = pack_of(folder, family.pack).labels, task.n_classes
    features, test = task.features([task.labelled]), task.features([task.test])
    other = second_view(task)
    is_drawn = rng.random(len(test)) < uneven_sizes(task)[task.test_codes]
    for pool, parts in pools_of(task, labels, rng).items():
        rows = task.features(parts)
        useful = judged_part(features, task.codes, rows, seed).useful
        problem = head_problem(features, task.codes, k, rows, useful=useful)
        where = is_drawn if pool == "uneven" else np.ones(len(test), bool)

        def right(logits: np.ndarray, where: np.ndarray = where) -> float:
            found = logits[where].argmax(axis=1) == task.test_codes[where]
            return round(100 * float(found.mean()), 3)

        fitted = {word: fit(head, problem, seed) for word, head in HEADS.items()}
        plain = head_problem(features, task.codes, k, rows)
        fitted |= {word: fit(head, plain, seed) for word, head in DROPPED.items()}
        found = {word: right(head(test)) for word, head in fitted.items()}
        second = head_problem(
            task.features([task.labelled], other), task.codes, k,
            task.features(parts, other), useful=useful,
        )  # fmt: skip
        seen = task.features([task.test], other)
        for word in ("supervised", "pseudo-label"):
            joined = fitted[word](test) + fit(HEADS[word], second, seed)(seen)
            found[f"{word}, two views"] = right(joined)
        yield {"task": name, "seed": seed, "n": n, "pool": pool, "accuracies": found}


def second_view(task: Journey) -> View:
    """The other depth at the chosen resolution: last and both, or both and last."""
    return View(task.view.resolution, LAST if task.view.depth != LAST else BOTH)


def fit(head: object, problem: HeadProblem, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Fits a head; what comes back gives log-probabilities of features."""
    fitted = head.fit(problem, rng_for(seed, "fit"))[0]
    return lambda rows: np.log(fitted.predict_proba(rows) + 1e-12)


def table(rows: list[dict]) -> Iterator[str]:
    """Mean gains in points over the supervised head, and the lowest of the means."""
    names = [name for name in rows[0]["accuracies"] if name != "supervised"]
    yield "| labels a class | head | " + " | ".join(POOLS) + " |"
    yield "|---" * (len(POOLS) + 2) + "|"
    for n, name in product(sorted({row["n"] for row in rows}), names):
        cells = []
        for pool in POOLS:
            own = [r["accuracies"] for r in rows if r["n"] == n and r["pool"] == pool]
            cells.append(f"{np.mean([one[name] - one['supervised'] for one in own]):+.1f}")
        yield f"| {n} | {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Compute the lines that the file lacks, and print the table."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    given.rows.touch()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    done = {(row["task"], row["seed"], row["n"]) for row in rows if row["pool"] == POOLS[-1]}
    for seed, n, name in product(range(given.seeds), LABELS_A_CLASS, FAMILIES["development"]):
        if (name, seed, n) not in done:
            found = list(rows_of_task(given.features, name, n, seed))
            with given.rows.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in found)
            rows += found
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
