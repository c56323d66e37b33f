"""Evidence on the filter: `python -m benchmarks.filter.evidence FEATURES PART WHAT [--seeds N]`.

PART is development (on which settings are chosen) or report; WHAT is auroc, unseen, share or heads.
Rows go to results/filter/WHAT-PART.csv; a run that was stopped continues where it ended. Seeds are
the outermost loop, so that a stopped run has all tasks. `python -m benchmarks.filter.summary` makes
the tables.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.filter.entropy import entropy_scores, kept_by_entropy
from benchmarks.filter.material import (
    OTHER,
    Scene,
    foreign_images,
    is_near,
    scene,
    sources,
    tasks,
)
from benchmarks.filter.rows_file import RowsFile
from mixmood.core.options import DEFAULT_SCORE
from mixmood.core.seeds import rng_for
from mixmood.evidence.labelled import judged_part
from mixmood.evidence.share import auc, near_auroc, share_of_fit
from mixmood.heads.problem import head_problem
from mixmood.heads.registry import HEADS
from mixmood.scores.fitting import compared_rows
from mixmood.scores.registry import SCORES, fit_score
from mixmood.selection.scorer import fit_filter

RESULTS = Path(__file__).parents[2] / "results" / "filter"
FOREIGN_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
CONTAMINATIONS = (0.25, 0.5, 0.75, 0.9)
UNEVEN = 6.0
"""How common the first class is, compared with each other class."""
HEAD_SOURCES = {
    "mnist": "svhn",
    "fashion_mnist": "tiny_imagenet",
    "cifar10": "svhn",
    "svhn": "mnist",
    "digits": "tiny_imagenet",
    "fashion_product": "cifar10",
    "pets": "imagenet_photos",
}
"""The far source of each task for the parts that are too slow for all of them."""
ALGORITHMS = ("mixmatch", "pseudo-label", "propagation")

COMPETITOR = "entropy"
N_NEW = 500
"""New images of each source, for filters that were fitted before."""

Place = tuple[str, str]


def few_places(part: str) -> list[Place]:
    """For each task its other classes, one far source and, for CIFAR-10, Tiny ImageNet."""
    far = [(task, HEAD_SOURCES[task]) for task in tasks(part)]
    return [*((task, OTHER) for task in tasks(part)), *far, ("cifar10", "tiny_imagenet")]


def all_places(part: str) -> list[Place]:
    """Every task with every source."""
    return [(task, source) for task in tasks(part) for source in sources(part, task)]


def auroc(folder: Path, part: str, seeds: range) -> None:
    """AUROC of every score for the foreign half of a pool."""
    keys = ("task", "source", "near", "foreign_share", "seed", "score")
    file = RowsFile(RESULTS / f"auroc-{part}.csv", keys, ("auroc", "view"))
    for seed, (task, source) in _product(seeds, all_places(part)):
        key = {"task": task, "source": source, "near": int(is_near(task, source)), "seed": seed}
        names = (*SCORES, COMPETITOR)
        todo = [s for s in names if not file.holds(**key, foreign_share=0.5, score=s)]
        drawn = scene(folder, part, task, source, 0.5, seed) if todo else None
        for name in todo:
            if name == COMPETITOR:
                scores = entropy_scores(drawn.labelled, drawn.labels, drawn.pool)
            else:
                scores = fit_score(drawn.labelled, drawn.pool, drawn.labels, name).fit.pool
            value = auc(scores[drawn.is_useful], scores[~drawn.is_useful])
            file.add(**key, foreign_share=0.5, score=name, auroc=f"{value:.4f}", view=drawn.view)


def unseen(folder: Path, part: str, seeds: range) -> None:
    """AUROC of new images: of the kind that the pool's sample contained, and of other kinds.

    The filter is fitted to a pool that is half of one source. New useful images then stand against
    new images of that source, and of each other source.
    """
    keys = ("task", "fitted", "source", "near", "seed")
    file = RowsFile(RESULTS / f"unseen-{part}.csv", keys, ("auroc",))
    for seed, (task, fitted) in _product(seeds, few_places(part)):
        key = {"task": task, "fitted": fitted, "seed": seed}
        todo = [
            source
            for of, source in few_places(part)
            if of == task and not file.holds(**key, source=source, near=int(is_near(task, source)))
        ]
        if not todo:
            continue
        drawn = scene(folder, part, task, fitted, 0.5, seed)
        score = fit_score(drawn.labelled, drawn.pool, drawn.labels, DEFAULT_SCORE)
        own = score.score(drawn.test)
        for source in todo:
            pack, images, _ = foreign_images(folder, part, task, source, seed)
            # The first ones may be in the pool that the filter was fitted to.
            new = images[int((~drawn.is_useful).sum()) :][:N_NEW]
            value = auc(own, score.score(pack.at(drawn.view, new)))
            near = int(is_near(task, source))
            file.add(**key, source=source, near=near, auroc=f"{value:.4f}")


def share(folder: Path, part: str, seeds: range) -> None:
    """The useful share and its interval at known shares, with even and with uneven classes."""
    keys = ("task", "source", "near", "classes", "foreign_share", "seed")
    values = ("share", "low", "high", "is_trustworthy", "near_auroc")
    file = RowsFile(RESULTS / f"share-{part}.csv", keys, (*values, "view"))
    uneven = [(task, HEAD_SOURCES[task]) for task in tasks(part)]
    places = [("even", *place) for place in few_places(part)]
    places += [("uneven", *place) for place in uneven]
    for seed in seeds:
        for classes, task, source in places:
            for foreign in FOREIGN_SHARES if classes == "even" else (0.0, 0.5):
                near = int(is_near(task, source))
                key = {"task": task, "source": source, "near": near, "classes": classes}
                key |= {"foreign_share": foreign, "seed": seed}
                if file.holds(**key):
                    continue
                first = UNEVEN if classes == "uneven" else 1.0
                drawn = scene(folder, part, task, source, foreign, seed, first_class=first)
                rng = rng_for(seed, "share", task, source)
                found = share_of_fit(drawn.labelled, drawn.pool, rng, labels=drawn.labels)[0]
                numbers = [found.share, *found.interval, float(found.is_trustworthy)]
                rows = compared_rows(drawn.labelled, drawn.pool)
                auroc = near_auroc(rows, drawn.labels, rng, SCORES[DEFAULT_SCORE].fit)
                numbers.append(np.nan if auroc is None else auroc)
                words = dict(zip(values, (f"{v:.4f}" for v in numbers), strict=True))
                file.add(**key, **words, view=drawn.view)


def heads(
    folder: Path,
    part: str,
    seeds: range,
    algorithms: Sequence[str],
    contaminations: Sequence[float],
) -> None:
    """Accuracy of heads with the whole pool and with parts of it.

    Kept by the filter, as many random images, those that the competitor keeps, only useful images,
    and the whole pool with each image weighted by its chance to be useful, as `train` does.
    """
    keys = ("task", "source", "near", "foreign_share", "seed", "algorithm", "pool")
    file = RowsFile(RESULTS / f"heads-{part}.csv", keys, ("n_pool", "accuracy"))
    families = ("knn", "classifier", "combined") if part == "development" else (DEFAULT_SCORE,)
    kinds = ("kept",) if part == "development" else ("kept", "random")
    for seed, (task, source) in _product(seeds, few_places(part)):
        for foreign in contaminations:
            key = {"task": task, "source": source, "near": int(is_near(task, source))}
            key |= {"foreign_share": foreign, "seed": seed}
            names = ["none", "whole", "oracle", "weighted", COMPETITOR]
            names += [f"{kind} {family}" for family in families for kind in kinds]
            todo = [
                (algorithm, name)
                for name in names
                for algorithm in (("supervised",) if name == "none" else algorithms)
                if not file.holds(**key, algorithm=algorithm, pool=name)
            ]
            if not todo:
                continue
            drawn = scene(folder, part, task, source, foreign, seed)
            pools = _pools(drawn, families, seed)
            for algorithm, name in todo:
                accuracy = _accuracy(drawn, algorithm, pools[name], seed)
                row = {"algorithm": algorithm, "pool": name, "n_pool": len(pools[name][0])}
                file.add(**key, **row, accuracy=f"{accuracy:.4f}")


Part = tuple[np.ndarray, np.ndarray | None]
"""Images of a pool, and their chances to be useful if they are weighted by them."""


def _pools(drawn: Scene, families: tuple[str, ...], seed: int) -> dict[str, Part]:
    pool = drawn.pool
    weighted = judged_part(drawn.labelled, drawn.labels, pool, seed)
    rows = {
        "none": pool[:0],
        "whole": pool,
        "oracle": pool[drawn.is_useful],
        COMPETITOR: pool[kept_by_entropy(drawn.labelled, drawn.labels, pool)],
    }
    for family in families:
        rng = rng_for(seed, "filter", family)
        fitted = fit_filter(drawn.labelled, pool, rng, labels=drawn.labels, family=family)
        is_kept = fitted.scored(pool).scores >= fitted.threshold
        rows[f"kept {family}"] = pool[is_kept]
        rows[f"random {family}"] = pool[rng.permutation(len(pool))[: is_kept.sum()]]
    parts: dict[str, Part] = {name: (some, None) for name, some in rows.items()}
    return parts | {"weighted": (pool, weighted.useful)}


def _accuracy(drawn: Scene, algorithm: str, part: Part, seed: int) -> float:
    pool, useful = part
    # A head without unlabelled images is the supervised one.
    name = algorithm if len(pool) else "supervised"
    n_classes = int(drawn.labels.max()) + 1
    rows = pool if len(pool) else None
    problem = head_problem(drawn.labelled, drawn.labels, n_classes, rows, useful=useful)
    head = HEADS[name].fit(problem, rng_for(seed, "head", algorithm))[0]
    return float((head.predict(drawn.test) == drawn.test_labels).mean())


def _product(seeds: range, places: list[Place]) -> Iterator[tuple[int, Place]]:
    return ((seed, place) for seed in seeds for place in places)


def main() -> None:
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("part", choices=["development", "report"])
    parser.add_argument("what", choices=["auroc", "unseen", "share", "heads"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--algorithm", action="append", choices=ALGORITHMS)
    parser.add_argument("--foreign", action="append", type=float, choices=CONTAMINATIONS)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.what == "heads":
        heads(
            options.features,
            options.part,
            seeds,
            options.algorithm or ALGORITHMS,
            options.foreign or CONTAMINATIONS,
        )
    else:
        {"auroc": auroc, "unseen": unseen, "share": share}[options.what](
            options.features, options.part, seeds
        )


if __name__ == "__main__":
    main()
