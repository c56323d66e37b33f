"""Accuracy from 10 to 60 labels in rounds of 10, by the way in which images are chosen.

    python -m benchmarks.labels.next FEATURES results/labels/next.jsonl [--seeds 0 1 2 ...]

FEATURES is the folder of `benchmarks.heads.features`. Each line is one task, seed, pool and way:
accuracy of the supervised head on test images after each round, and how many of the ten proposals
of each round belong to the task. A proposal that does not costs a label and gives none. All ways
start from the same ten labels, in the view that 60 random labels choose. Lines that are there are
not computed again. The tables are printed at the end; `--figure FILE.svg` draws the curves.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import (
    DEVELOPMENT,
    OTHER_HALF,
    REPORT,
    Family,
    Task,
    TaskRows,
    balanced,
    draw,
    draw_rows,
    pack_of,
)
from benchmarks.study import study_parser
from mixmood.core.seeds import rng_for
from mixmood.heads.problem import head_problem
from mixmood.numerics.neighbours import unit_rows
from mixmood.scores.fitting import signed_roots
from mixmood.selection.filter import ScannedPool
from mixmood.selection.next import (
    candidates_of,
    chosen_images,
    not_foreign,
    uncertainty,
    useful_of,
)
from mixmood.selection.scorer import FittedFilter, fit_filter

START, STEP, END = 10, 10, 60
N_POOL, N_TEST, N_VIEW = 400, 1000, 60
TYPICAL_OF = 20
"""TypiClust: the typicality of an image is over so many neighbours of its cluster."""


@dataclass(frozen=True)
class Round:
    """What a way to choose knows before a round; rows are those of the images that are left."""

    features: np.ndarray
    rows: np.ndarray
    """Unit rows of the centred signed roots of all images left."""
    labelled: np.ndarray
    labelled_rows: np.ndarray
    foreign: np.ndarray
    codes: np.ndarray
    chances: np.ndarray
    filter: FittedFilter
    """That `next` fits: images that were chosen and labelled have no part in it."""
    scores: np.ndarray
    rng: np.random.Generator


def at_random(known: Round) -> np.ndarray:
    """Any images."""
    return known.rng.permutation(len(known.rows))[:STEP]


def random_useful(known: Round) -> np.ndarray:
    """Any images that the filter keeps."""
    n_kept = max(STEP, round(known.filter.useful.share * len(known.rows)))
    return known.rng.permutation(np.argsort(-known.scores, kind="stable")[:n_kept])[:STEP]


def margin(known: Round) -> np.ndarray:
    """The least difference between the two best classes."""
    return np.argsort(-uncertainty(known.chances), kind="stable")[:STEP]


def entropy(known: Round) -> np.ndarray:
    """The largest entropy."""
    found = (known.chances * np.log(known.chances + 1e-12)).sum(axis=1)
    return np.argsort(found, kind="stable")[:STEP]


def k_centre(known: Round) -> np.ndarray:
    """The image that is farthest from all labelled and chosen ones (Sener and Savarese, 2018)."""
    nearest = (known.rows @ known.labelled_rows.T).max(axis=1)
    chosen: list[int] = []
    while len(chosen) < STEP:
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, known.rows @ known.rows[chosen[-1]])
        nearest[chosen] = np.inf
    return np.array(chosen)


def typical_clustering(known: Round) -> np.ndarray:
    """The most typical image of the largest clusters without a label (Hacohen et al., 2022)."""
    from sklearn.cluster import KMeans

    every = np.vstack([known.rows, known.labelled_rows])
    left, sizes, _ = np.linalg.svd(every - every.mean(axis=0), full_matrices=False)
    n_clusters = min(len(known.labelled) + STEP, len(known.rows))
    model = KMeans(n_clusters, n_init=1, random_state=int(known.rng.integers(2**31)))
    clusters = model.fit_predict((left * sizes)[:, :32])
    own, known_ones = np.split(clusters, [len(known.rows)])
    n_own, n_known = (np.bincount(part, minlength=n_clusters) for part in (own, known_ones))
    order, chosen = np.lexsort((-n_own, n_known)), []
    while len(chosen) < STEP:
        for cluster in order:
            members = np.setdiff1d(np.flatnonzero(own == cluster), chosen)
            if len(members) and len(chosen) < STEP:
                like = np.sort(known.rows[members] @ known.rows[members].T, axis=1)
                chosen.append(int(members[like[:, -TYPICAL_OF:].mean(axis=1).argmax()]))
    return np.array(chosen)


def proposed(known: Round) -> np.ndarray:
    """The images that `mixmood next` proposes."""
    n, (useful, may_be) = len(known.rows), useful_of(known.filter, known.scores)
    pool = ScannedPool(known.scores, np.zeros(n, np.int32), np.zeros(n, np.uint8))
    useful *= not_foreign(known.labelled, known.codes, known.foreign, known.features)
    rows = candidates_of(pool, useful, may_be, known.chances.max(axis=1), known.rng)
    features, chances = known.features[rows], known.chances[rows]
    return rows[chosen_images(features, known.labelled, useful[rows], chances, STEP)[0]]


WAYS: dict[str, Callable[[Round], np.ndarray]] = {
    "random": at_random,
    "next": proposed,
    "random useful": random_useful,
    "margin": margin,
    "entropy": entropy,
    "k-centre": k_centre,
    "typical clustering": typical_clustering,
}


@dataclass(frozen=True)
class Mixture:
    """The images of one task, seed and pool: the first ten are labelled, the others are the pool.

    The code of a foreign image is -1.
    """

    features: np.ndarray
    codes: np.ndarray
    test_features: np.ndarray
    test_codes: np.ndarray

    @cached_property
    def filter(self) -> FittedFilter:
        """The filter of the first labelled images and the whole pool."""
        own, pool = self.features[:START], self.features[START:]
        return fit_filter(own, pool, rng_for(0, "next"), labels=self.codes[:START])


@lru_cache(maxsize=2)
def drawn(folder: Path, family: Family, seed: int) -> tuple[Task, TaskRows]:
    """The task of a seed with all its sources, and its rows."""
    sizes = {"n_pool": N_POOL, "n_test": N_TEST}
    labels = pack_of(folder, family.pack).labels
    rows = draw_rows(labels, family, N_VIEW, seed, **sizes)
    return draw(folder, family, N_VIEW, seed, **sizes), rows


def mixture(folder: Path, family: Family, seed: int, source: str, percent: int) -> Mixture:
    """Ten labelled images, as many of each class, and a pool with a foreign part."""
    task, rows = drawn(folder, family, seed)
    labels = pack_of(folder, family.pack).labels
    n_classes, n_foreign = len(rows.classes), round(len(task.clean) * percent / 100)
    start = balanced(task.codes, np.arange(n_classes), START)
    own = np.searchsorted(rows.classes, labels[rows.pool])[: len(task.clean) - n_foreign]
    pool, codes = task.clean[: len(own)], own
    if n_foreign:
        pool = np.concatenate([pool, task.foreign[source][:n_foreign]])
        codes = np.concatenate([own, np.full(n_foreign, -1)])
    order = rng_for(seed, "mix").permutation(len(pool))
    return Mixture(
        np.concatenate([task.features[start], pool[order]]),
        np.concatenate([task.codes[start], codes[order]]),
        task.test_features,
        task.test_codes,
    )


def rounds(mixed: Mixture, way: str, seed: int) -> dict:
    """Accuracy after each round, and how many proposals of each belong to the task."""
    roots = signed_roots(mixed.features)
    unit = unit_rows(roots, roots[START:].mean(axis=0))
    n_classes = int(mixed.codes.max()) + 1
    labelled, foreign = np.arange(START), np.empty(0, np.int64)
    left, accuracies, hits = np.arange(START, len(unit)), [], []
    while True:
        features, codes = mixed.features[labelled], mixed.codes[labelled]
        head = head_problem(features, codes, n_classes).labelled.supervised[0]
        right = head.predict(mixed.test_features) == mixed.test_codes
        accuracies.append(round(100 * float(right.mean()), 3))
        if len(accuracies) > (END - START) // STEP:
            return {"accuracies": accuracies, "hits": hits}
        known = Round(
            mixed.features[left], unit[left], features, unit[labelled], mixed.features[foreign],
            codes, head.predict_proba(mixed.features[left]), mixed.filter,
            mixed.filter.score.fit.pool[left - START], rng_for(seed, way, len(hits)),
        )  # fmt: skip
        asked = left[WAYS[way](known)]
        is_own = mixed.codes[asked] >= 0
        hits.append(int(is_own.sum()))
        labelled = np.concatenate([labelled, asked[is_own]])
        foreign = np.concatenate([foreign, asked[~is_own]])
        left = np.setdiff1d(left, asked)


def pools_of(family: Family, seed: int) -> list[tuple[str, int]]:
    """The clean pool, and half and three quarters foreign ones of a far and a near source."""
    far = [name for name in family.sources if name != OTHER_HALF]
    found = [("clean", 0)] if far else []
    near = [OTHER_HALF] if OTHER_HALF in family.sources else []
    chosen = [*near, *([far[seed % len(far)]] if far else [])]
    return found + [(source, percent) for source in chosen for percent in (50, 75)]


KINDS = ("clean", "half far", "half near", "three quarters far", "three quarters near")


def kind_of(row: dict) -> str:
    """The kind of a row's pool."""
    if row["percent"] == 0:
        return "clean"
    part = "half" if row["percent"] == 50 else "three quarters"
    return f"{part} {'near' if row['source'] == OTHER_HALF else 'far'}"


def means(rows: list[dict]) -> dict[tuple[str, str, str], dict]:
    """Mean curve and mean hits by kind of pool, task and way; the task "" is the mean of tasks."""
    found = defaultdict(list)
    for row in rows:
        found[kind_of(row), row["task"], row["way"]].append(row)
    result = {
        key: {
            "accuracies": np.mean([row["accuracies"] for row in own], axis=0),
            "hits": 100 * np.mean([row["hits"] for row in own]) / STEP,
            "n": len(own),
        }
        for key, own in found.items()
    }
    for kind, way in {(kind, way) for kind, _, way in result}:
        own = [value for key, value in result.items() if (key[0], key[2]) == (kind, way)]
        mean = {name: np.mean([one[name] for one in own], axis=0) for name in own[0]}
        result[kind, "", way] = mean
    return result


def goals(found: dict[tuple[str, str, str], dict], names: list[str]) -> list[str]:
    """A table of the goals: what was wanted, what was measured, and whether it is met.

    A half-foreign pool of a task is the mean over its far and its near source.
    """

    def apart(kind: str, name: str) -> np.ndarray:
        curves = [found[kind, name, way]["accuracies"] for way in ("next", "random")]
        return curves[0] - curves[1]

    def least(values: dict[str, float]) -> tuple[float, str]:
        name = min(values, key=values.__getitem__)
        return values[name], f"{values[name]:+.1f} ({name})"

    half = {name: (apart("half far", name) + apart("half near", name)) / 2 for name in names}
    area, area_words = least({name: value[1:].mean() for name, value in half.items()})
    near, near_words = least({name: apart("half near", name)[1:].mean() for name in names})
    clean, clean_words = least({name: apart("clean", name)[1:].mean() for name in names})
    at_40 = float(np.mean([value[3] for value in half.values()]))
    far_hits, near_hits = (found[f"half {kind}", "", "next"]["hits"] for kind in ("far", "near"))
    rows = [
        ("area above random, worst task, half-foreign pools", "> 0", area_words, area > 0),
        ("the same, near sources alone", "> 0", near_words, near > 0),
        ("above random at 40 labels, half-foreign", ">= 3", f"{at_40:+.1f}", at_40 >= 3),
        ("area above random, worst task, clean pools", ">= -0.5", clean_words, clean >= -0.5),
        ("proposals of the task, half far", ">= 90 %", f"{far_hits:.0f} %", far_hits >= 90),
        ("proposals of the task, half near", ">= 75 %", f"{near_hits:.1f} %", near_hits >= 75),
    ]
    lines = ["\nGoals: next against random, in points\n", "| what | goal | measured | met |"]
    words = [f"| {' | '.join(row[:3])} | {'yes' if row[3] else 'no'} |" for row in rows]
    return [*lines, "|---" * 4 + "|", *words]


def tables(rows: list[dict]) -> str:
    """Markdown: curves by kind of pool, then the goals task by task."""
    found = means(rows)
    ways = [way for way in WAYS if any(key[2] == way for key in found)]
    seeds = len({row["seed"] for row in rows})
    lines = [f"{seeds} seeds. Accuracy after 40 labels, and the share of proposals of the task\n"]
    lines += [f"| chosen by | {' | '.join(KINDS)} |", "|---" * 6 + "|"]
    for way in ways:
        own = [found[kind, "", way] for kind in KINDS]
        cells = [f"{one['accuracies'][3]:.1f}, {one['hits']:.0f} %" for one in own]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    names = list(dict.fromkeys(row["task"] for row in rows))
    if {"next", "random"} <= set(ways):
        lines += goals(found, names)
    for kind in KINDS:
        lines += [f"\n{kind}\n", "| way | 10 | 20 | 30 | 40 | 50 | 60 | area | of the task |"]
        lines += ["|---" * 9 + "|"]
        for way in ways:
            one = found[kind, "", way]
            cells = " | ".join(f"{value:.1f}" for value in one["accuracies"])
            area = one["accuracies"][1:].mean()
            lines.append(f"| {way} | {cells} | {area:.1f} | {one['hits']:.0f} % |")
    lines += ["\nnext minus random: area, and at 40 labels\n"]
    lines += [f"| task | {' | '.join(KINDS)} |", "|---" * 6 + "|"]
    for name in [*names, ""]:
        cells = []
        for kind in KINDS:
            if (kind, name, "next") not in found:
                cells.append("")
                continue
            curves = [found[kind, name, way]["accuracies"] for way in ("next", "random")]
            apart = curves[0] - curves[1]
            cells.append(f"{apart[1:].mean():+.1f}, {apart[3]:+.1f}")
        lines.append(f"| {name or 'mean of tasks'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(rows: list[dict], path: Path) -> None:
    """The mean curves of all ways, a panel for each kind of pool."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "mixmood", "font.size": 9}
    found, labels = means(rows), np.arange(START, END + 1, STEP)
    drawn, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
    colours = ("#5b626d", "#d55e00", "#0072b2", "#cc79a7", "#e69f00", "#56b4e9", "#009e73")
    for panel, kind in zip(panels, KINDS[:3], strict=True):
        for way, colour in zip(WAYS, colours, strict=True):
            curve = found[kind, "", way]["accuracies"]
            style = {"lw": 2.6, "zorder": 3} if way == "next" else {"lw": 1.2}
            panel.plot(labels, curve, color=colour, label=way, **style)
        title = "clean pool" if kind == "clean" else kind.replace("half", "half foreign,")
        panel.set(title=title, xlabel="labels spent")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy, mean of tasks (%)")
    panels[0].legend(frameon=False, fontsize=8, loc="lower right")
    drawn.savefig(path, metadata={"Date": None})


def main() -> None:
    """Compute the rows that the file lacks, and print the tables."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(10)))
    parser.add_argument("--part", choices=["development", "report"], default="report")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    given.rows.touch()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    names = ("task", "seed", "source", "percent", "way")
    done = {tuple(row[name] for name in names) for row in rows}
    families = (DEVELOPMENT if given.part == "development" else REPORT).values()
    cells = [
        (family, seed, *pool)
        for seed in given.seeds
        for family in families
        for pool in pools_of(family, seed)
    ]
    for family, seed, source, percent in cells:
        ways = [way for way in given.ways if (family.name, seed, source, percent, way) not in done]
        mixed = mixture(given.features, family, seed, source, percent) if ways else None
        for way in ways:
            key = dict(zip(names, (family.name, seed, source, percent, way), strict=True))
            rows.append(key | rounds(mixed, way, seed))
            with given.rows.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print(tables(rows))
    if given.figure:
        figure(rows, given.figure)


if __name__ == "__main__":
    main()
