"""How well distances, share, probe and advice predict what a pool gains: the numbers.

Rows are those of `benchmarks.probe.cases`. Correlations and regrets are computed within a task and
seed and then averaged; intervals resample tasks, then seeds, never pools.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.study import percent_with_interval, share_with_interval
from mixmood.core.records.ranking import Probe, ShareRecord
from mixmood.evidence.advice import advise
from mixmood.evidence.gain import PoolEffect, gain_of

N_RESAMPLED = 2000
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
FILLED, FULL = 30, 50
"""Fewest pools in a bin that counts, and in one that has to meet the goal."""
HARM, WORTHWHILE = -0.5, 2.0
"""Points that count as harm, and as a gain worth having."""
Array = np.ndarray
Groups = dict[str, dict[int, list[dict]]]
Columns = tuple[Array, Array]
"""A predictor of each pool, and its true gain."""


def truth(row: dict, algorithm: str) -> float:
    """The true gain: the mean over the draws of pool and training."""
    gains = row[algorithm]["gains"]
    return sum(gains) / len(gains)


def probe_of(row: dict, algorithm: str) -> Probe:
    """The probe of a row by the map that is shipped."""
    own = {
        key: value for key, value in row[algorithm].items() if key not in ("gains", "independent")
    }
    effect = PoolEffect(**own)
    gain = gain_of(effect, row["share"], row["cv"] / 100, algorithm)
    return Probe(
        gain.points, gain.interval, gain.p_helps, algorithm, effect.p_right, effect.error,
        row["cv"], row["is_learnable"], 1000, None, effect.n_held_out, gain.order_error,
    )  # fmt: skip


def advice_of(row: dict, algorithm: str) -> str:
    """The advice of a row."""
    share = ShareRecord(row["share"], (row["share_low"], row["share_high"]))
    return advise(probe_of(row, algorithm), share).word


PREDICTORS: dict[str, Callable[[dict, str], float]] = {
    "useful share": lambda row, algorithm: row["share"],
    "probe, change of accuracy": lambda row, algorithm: row[algorithm]["accuracy"],
    "probe, change of probability": lambda row, algorithm: row[algorithm]["p_right"],
    "probe: gain": lambda row, algorithm: probe_of(row, algorithm).gain,
}
"""What could order pools besides their distances; larger is better."""


def predictor(row: dict, algorithm: str, name: str) -> float:
    """One of PREDICTORS, or the nearness by a measure; NaN where a row does not have it."""
    if name in PREDICTORS:
        return PREDICTORS[name](row, algorithm)
    return -row.get("distances", {}).get(name, np.nan)


def by_task_and_seed(rows: list[dict]) -> Groups:
    """Rows in groups."""
    groups: Groups = {}
    for row in rows:
        groups.setdefault(row["task"], {}).setdefault(row["seed"], []).append(row)
    return groups


@cache
def resamples(n_seeds: tuple[int, ...]) -> tuple[Array, list[Array]]:
    """Tasks that are drawn again, and for each task its seeds, of so many; the same every time."""
    rng, shape = np.random.default_rng(0), (N_RESAMPLED, len(n_seeds))
    seeds = [rng.integers(0, n, (*shape, n)) for n in n_seeds]
    return rng.integers(0, len(n_seeds), shape), seeds


def averaged(groups: dict[str, dict[int, Any]], value: Callable[[Any], float]) -> dict:
    """The mean over tasks and seeds, with an interval from resampling tasks, then seeds."""
    table = [[value(rows) for rows in seeds.values()] for seeds in groups.values()]
    table = [[one for one in seeds if np.isfinite(one)] for seeds in table]
    table = [seeds for seeds in table if seeds]
    if not table:
        return {"mean": None, "interval": None}
    tasks, seeds_of = resamples(tuple(map(len, table)))
    # For every resample and place of a task: the mean over seeds that are drawn again.
    drawn = np.stack(
        [np.array(one)[seeds].mean(axis=2) for one, seeds in zip(table, seeds_of, strict=True)]
    )
    rows, places = np.arange(N_RESAMPLED)[:, None], np.arange(len(table))
    means = drawn[tasks, rows, places].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(np.mean([np.mean(one) for one in table]))
    return {"mean": round(mean, 3), "interval": [round(float(low), 3), round(float(high), 3)]}


def predicted_and_true(rows: list[dict], algorithm: str, name: str) -> Columns:
    """A predictor of each pool, and its true gain."""
    own = np.array([predictor(row, algorithm, name) for row in rows])
    return own, np.array([truth(row, algorithm) for row in rows])


def correlation(x: Array, y: Array) -> float:
    """Pearson's r; NaN where one of the two is constant."""
    if len(x) < 3 or not np.ptp(x) or not np.ptp(y):
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def lead(groups: Groups, algorithm: str, name: str, other: str) -> dict:
    """How much better one predictor correlates than another, within the same task and seed."""

    def difference(rows: list[dict]) -> float:
        first, second = (
            correlation(*predicted_and_true(rows, algorithm, one)) for one in (name, other)
        )
        return first - second

    return averaged(groups, difference)


def agreement(groups: Groups, algorithm: str, name: str) -> dict:
    """Correlations and regret of one predictor."""

    def regret(columns: Columns) -> float:
        own, true = columns
        return float(true.max() - true[own.argmax()])

    def is_worse(columns: Columns) -> float:
        own, true = columns
        return float(true[own.argmax()] < 0)

    found = {
        task: {seed: predicted_and_true(rows, algorithm, name) for seed, rows in seeds.items()}
        for task, seeds in groups.items()
    }
    return {
        "pearson": averaged(found, lambda columns: correlation(*columns)),
        "spearman": averaged(found, lambda columns: correlation(*rankdata(columns, axis=1))),
        "regret_points": averaged(found, regret),
        "picks_worse_than_no_pool": averaged(found, is_worse),
    }


def oracle(groups: Groups, algorithm: str) -> dict:
    """The regret of choosing by one draw of the true gain; the truth is the mean of all draws."""

    def regret(rows: list[dict]) -> float:
        gains = np.array([row[algorithm]["gains"] for row in rows])
        mean = gains.mean(axis=1)
        return float(np.mean([mean.max() - mean[own.argmax()] for own in gains.T]))

    return {"regret_points": averaged(groups, regret)}


def pick_by_advice(groups: Groups, algorithm: str) -> dict:
    """The pool with the highest gain among those to use, or none; no pool gains 0."""

    def picked(rows: list[dict]) -> float:
        used = [row for row in rows if advice_of(row, algorithm) == "use"]
        if not used:
            return 0.0
        return truth(max(used, key=lambda row: probe_of(row, algorithm).gain), algorithm)

    def best(rows: list[dict]) -> float:
        return max(0.0, *(truth(row, algorithm) for row in rows))

    return {
        "regret_points": averaged(groups, lambda rows: best(rows) - picked(rows)),
        "picks_worse_than_no_pool": averaged(groups, lambda rows: float(picked(rows) < 0)),
        "no_pool_picked": averaged(groups, lambda rows: float(picked(rows) == 0)),
    }


def advice_table(rows: list[dict], algorithm: str) -> dict:
    """The true gains of the pools, by their advice."""
    words = np.array([advice_of(row, algorithm) for row in rows])
    known = [word for word in ("use", "filter", "unsure", "avoid") if (words == word).any()]
    true = np.array([truth(row, algorithm) for row in rows])
    used, worth = words == "use", true >= WORTHWHILE
    return {
        "n_pools": len(rows),
        "n_by_advice": {word: int((words == word).sum()) for word in known},
        "mean_gain_by_advice": {
            word: round(float(true[words == word].mean()), 2) for word in known
        },
        "used_that_harm": ratio((true < HARM) & used, used),
        "worthwhile_that_are_used": ratio(used & worth, worth),
    }


def calibration(rows: list[dict], algorithm: str) -> dict:
    """How often pools help, by `p_helps`; and how often the interval holds the truth."""
    probes = [probe_of(row, algorithm) for row in rows]
    true = np.array([truth(row, algorithm) for row in rows])
    chance = np.array([probe.p_helps for probe in probes])
    bins = {}
    for low, high in pairwise(BINS):
        inside = (chance >= low) & ((chance < high) | (high == 1.0))
        if inside.any():
            own = [rows[place] for place in np.flatnonzero(inside)]
            helped = share_with_interval(own, lambda row: truth(row, algorithm) > 0)
            bins[f"{low:g} to {high:g}"] = {
                "n": int(inside.sum()),
                "p_helps": round(float(chance[inside].mean()), 3),
                "helped": tuple(round(one, 3) for one in helped),
            }
    held = [p.interval[0] <= t <= p.interval[1] for p, t in zip(probes, true, strict=True)]
    errors = np.array([probe.gain for probe in probes]) - true
    return {
        "bins": bins,
        "coverage_of_intervals": round(float(np.mean(held)), 3),
        "bias_points": round(float(errors.mean()), 2),
        "rmse_points": round(float(np.sqrt((errors**2).mean())), 2),
    }


@dataclass(frozen=True)
class Fact:
    """A number of the report: as text, and whether it meets its goal, if it has one."""

    text: str
    goal: str = ""
    is_met: bool = False


def facts(rows: list[dict], algorithm: str) -> dict[str, Fact]:
    """What the report says about rows of one number of labels; goals are those of 60 labels."""
    groups, probe = by_task_and_seed(rows), calibration(rows, algorithm)
    gain = agreement(groups, algorithm, "probe: gain")
    advice = advice_table(rows, algorithm)
    harm, used = advice["used_that_harm"], advice["worthwhile_that_are_used"]
    shares = shares_by_task(rows, algorithm)
    picked = pick_by_advice(groups, algorithm)["regret_points"]["mean"]
    known = oracle(groups, algorithm)["regret_points"]["mean"]
    bins = [one for one in probe["bins"].values() if one["n"] >= FULL]
    worst = max(bins, key=excess, default=None)
    two = independent(groups, algorithm)
    cover = probe["coverage_of_intervals"]
    r, rho = (gain[name]["mean"] for name in ("pearson", "spearman"))
    return {
        "pools (tasks and seeds)": Fact(f"{len(rows)} ({sum(map(len, groups.values()))})"),
        "Pearson of expected and true gain": Fact(with_interval(gain["pearson"]), ">= 0.75",
                                                  r >= 0.75),
        "Spearman": Fact(with_interval(gain["spearman"]), ">= 0.7", rho >= 0.7),
        "Pearson of two independent estimates of the true gain": Fact(with_interval(two)),
        "ceiling: what a perfect predictor would reach": Fact(
            "-" if two["mean"] is None else f"{perfect(two['mean']):.2f}"
        ),
        "pools to `use` that harm by over half a point": Fact(
            counted_share(harm, shares["harm"]), "<= 3 %", (harm["share"] or 0) <= 0.03
        ),
        "pools that gain 2 points and are to be used": Fact(
            counted_share(used, shares["used"]), ">= 70 %", (used["share"] or 0) >= 0.7
        ),
        "`p_helps`, worst bin of at least 50 pools": Fact(
            "-" if worst is None else bin_text(worst),
            "<= 5 points or two errors",
            worst is not None and excess(worst) <= 0,
        ),
        "intervals that hold the true gain": Fact(
            percent_with_interval(shares["held"]), "93 to 97 %", 0.93 <= round(cover, 2) <= 0.97
        ),
        "regret of the advice above an oracle's, points": Fact(
            f"{picked - known:.2f}", "<= 0.4", picked - known <= 0.4
        ),
    }  # fmt: skip


def excess(one: dict) -> float:
    """By how much `p_helps` of a bin is farther off than allowed; 0 or less if it is not.

    Allowed are 5 points, or two standard errors: the interval of the share that helped, which
    resamples tasks, then seeds, because the pools of a labelled set have most of their error in
    common. Two errors of independent pools would be half as wide.
    """
    helped, low, high = one["helped"]
    return min(
        abs(one["p_helps"] - helped) - 0.05, max(low - one["p_helps"], one["p_helps"] - high)
    )


def bin_text(one: dict) -> str:
    """How far `p_helps` of a bin is off."""
    helped, low, high = one["helped"]
    said, found = 100 * one["p_helps"], f"{helped:.0%} ({100 * low:.0f} to {100 * high:.0f}) helped"
    return f"off by {abs(said - 100 * helped):.0f} points: {found} where {said:.0f}% is said"


def perfect(r: float) -> float:
    """The correlation of the true gain with its estimate, the mean of two that correlate by r.

    Spearman and Brown: the mean of two such estimates correlates with another such mean by
    2 r / (1 + r), and with the truth by the root of it.

    >>> round(perfect(0.5), 3)
    0.816
    """
    return float(np.sqrt(max(0.0, 2 * r / (1 + r))))


def independent(groups: Groups, algorithm: str) -> dict:
    """The correlation of two estimates of the true gain without common pool or test images."""

    def of_two(rows: list[dict]) -> float:
        return correlation(*np.array([row[algorithm]["independent"] for row in rows]).T)

    return averaged(groups, of_two)


def order_rows(rows: list[dict], algorithm: str) -> list[list[str]]:
    """Every predictor in a row: correlations, regret and bad picks; the best first."""
    groups = by_task_and_seed(rows)
    names = dict.fromkeys(name for row in rows for name in row.get("distances", {}))
    names |= dict.fromkeys(PREDICTORS)
    found = {name: agreement(groups, algorithm, name) for name in names}
    lines = [
        [name, with_interval(one["pearson"]), with_interval(one["spearman"]),
         with_interval(one["regret_points"]), f"{one['picks_worse_than_no_pool']['mean']:.0%}"]
        for name, one in sorted(found.items(), key=lambda item: -item[1]["pearson"]["mean"])
    ]  # fmt: skip
    pick = pick_by_advice(groups, algorithm)
    return [
        *lines,
        ["advice: the best to use, or none", "", "", with_interval(pick["regret_points"]),
         f"{pick['picks_worse_than_no_pool']['mean']:.0%}"],
        ["oracle: one draw of the truth", "", "",
         with_interval(oracle(groups, algorithm)["regret_points"]), ""],
    ]  # fmt: skip


def with_interval(value: dict) -> str:
    """A mean with its interval as text."""
    if value["mean"] is None:
        return "-"
    low, high = value["interval"]
    return f"{value['mean']:.2f} ({low:.2f} to {high:.2f})"


def shares_by_task(rows: list[dict], algorithm: str) -> dict[str, tuple[float, float, float]]:
    """Shares of pools with intervals that resample tasks, then seeds."""

    def is_used(row: dict) -> bool:
        return advice_of(row, algorithm) == "use"

    def holds(row: dict) -> bool:
        low, high = probe_of(row, algorithm).interval
        return low <= truth(row, algorithm) <= high

    return {
        "harm": share_with_interval(rows, lambda row: truth(row, algorithm) < HARM, is_used),
        "used": share_with_interval(rows, is_used, lambda row: truth(row, algorithm) >= WORTHWHILE),
        "held": share_with_interval(rows, holds),
    }


def counted_share(found: dict, share: tuple[float, float, float]) -> str:
    """A share with its counts and its interval."""
    if found["share"] is None:
        return "none"
    return f"{percent_with_interval(share, 1)}, {found['n']} of {found['of']}"


def ratio(part: np.ndarray, whole: np.ndarray) -> dict:
    """A share with its counts."""
    n, m = int(part.sum()), int(whole.sum())
    return {"n": n, "of": m, "share": round(n / m, 3) if m else None}
