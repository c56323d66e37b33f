"""How well distances, share, probe and advice predict what a pool gains, on report tasks.

    python -m benchmarks.probe.evidence REPORT.jsonl [--out results/probe]

Rows come from `benchmarks.probe.cases --part report`. Correlations and regrets are computed
within a task and seed and then averaged; intervals resample tasks, then seeds, never pools. The
regret of an oracle, which picks by one half of the noisy truth and is judged by the other, stands
beside every regret.
"""

import argparse
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.heads.tasks import REPORT
from mixmood.core.files.atomic import write_atomic
from mixmood.core.records.ranking import Probe
from mixmood.core.records.useful_share import ShareRecord
from mixmood.ranking.advice import advise
from mixmood.ranking.plan import PROBE_ALGORITHMS
from mixmood.ranking.probe.measure import PoolEffect
from mixmood.ranking.probe.points import gain_of

N_RESAMPLED = 1000
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
HARM, WORTHWHILE = -0.5, 2.0
"""Points that count as harm, and as a gain worth having."""


def truth(row: dict, algorithm: str) -> float:
    """The true gain: the mean over the draws of pool and training."""
    return float(np.mean(row[algorithm]["gains"]))


def probe_of(row: dict, algorithm: str) -> Probe:
    """The probe of a row by the map that is shipped."""
    own = row[algorithm]
    effect = PoolEffect(own["p_right"], own["error"], own["unrest"], own["accuracy"])
    gain = gain_of(effect, row["share"], algorithm)
    is_learnable = row["cv"] > 100 / 5 + 10
    return Probe(
        gain.points, gain.interval, gain.p_helps, algorithm, effect.p_right, effect.error,
        row["cv"], is_learnable, 400,
    )  # fmt: skip


def advice_of(row: dict, algorithm: str) -> str:
    """The advice of a row; how near it is does not matter here."""
    share = ShareRecord(row["share"], (row["share_low"], row["share_high"]))
    return advise(probe_of(row, algorithm), share, "different").word


def predictors(row: dict, algorithm: str) -> dict[str, float]:
    """Everything that could order pools; larger is better."""
    found = {name: -value for name, value in row.get("distances", {}).items()}
    found["useful share"] = row["share"]
    found["probe, measured change alone"] = row[algorithm]["p_right"]
    found["probe (gain)"] = probe_of(row, algorithm).gain
    return found


def by_task_and_seed(rows: list[dict]) -> dict[str, dict[int, list[dict]]]:
    """Rows in groups."""
    groups: dict[str, dict[int, list[dict]]] = {}
    for row in rows:
        groups.setdefault(row["task"], {}).setdefault(row["seed"], []).append(row)
    return groups


def averaged(groups: dict, value: Callable[[list[dict]], float]) -> dict[str, object]:
    """The mean over tasks and seeds, with an interval from resampling tasks, then seeds."""
    table = [[value(rows) for rows in seeds.values()] for seeds in groups.values()]
    table = [[one for one in seeds if np.isfinite(one)] for seeds in table]
    table = [seeds for seeds in table if seeds]
    if not table:
        return {"mean": None, "interval": None}
    rng = np.random.default_rng(0)
    means = []
    for _ in range(N_RESAMPLED):
        tasks = [table[k] for k in rng.integers(0, len(table), len(table))]
        picked = [np.mean([one[k] for k in rng.integers(0, len(one), len(one))]) for one in tasks]
        means.append(np.mean(picked))
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(np.mean([np.mean(one) for one in table]))
    return {"mean": round(mean, 3), "interval": [round(float(low), 3), round(float(high), 3)]}


def agreement(groups: dict, algorithm: str, name: str) -> dict[str, object]:
    """Correlations and regret of one predictor."""

    def columns(rows: list[dict]) -> tuple[np.ndarray, np.ndarray]:
        own = np.array([predictors(row, algorithm).get(name, np.nan) for row in rows])
        return own, np.array([truth(row, algorithm) for row in rows])

    def pearson(rows: list[dict]) -> float:
        own, true = columns(rows)
        return float(np.corrcoef(own, true)[0, 1]) if own.std() and true.std() else np.nan

    def spearman(rows: list[dict]) -> float:
        own, true = columns(rows)
        return float(spearmanr(own, true).statistic) if own.std() and true.std() else np.nan

    def regret(rows: list[dict]) -> float:
        own, true = columns(rows)
        return float(true.max() - true[own.argmax()])

    def is_worse(rows: list[dict]) -> float:
        own, true = columns(rows)
        return float(true[own.argmax()] < 0)

    return {
        "pearson": averaged(groups, pearson),
        "spearman": averaged(groups, spearman),
        "regret_points": averaged(groups, regret),
        "picks_worse_than_no_pool": averaged(groups, is_worse),
    }


def oracle_regret(groups: dict, algorithm: str) -> dict[str, object]:
    """The regret of a pick by one draw of the truth."""

    def regret(rows: list[dict]) -> float:
        gains = np.array([row[algorithm]["gains"] for row in rows])
        mean = gains.mean(axis=1)
        return float(mean.max() - mean[gains[:, 0].argmax()])

    return averaged(groups, regret)


def advice_table(rows: list[dict], algorithm: str) -> dict[str, object]:
    """What became of the pools by their advice."""
    words = np.array([advice_of(row, algorithm) for row in rows])
    true = np.array([truth(row, algorithm) for row in rows])
    used, worth = words == "use", true >= WORTHWHILE
    return {
        "n_pools": len(rows),
        "n_by_advice": {word: int((words == word).sum()) for word in sorted(set(words))},
        "mean_gain_by_advice": {
            word: round(float(true[words == word].mean()), 2) for word in sorted(set(words))
        },
        "used_that_harm": ratio((true < HARM) & used, used),
        "worthwhile_that_are_used": ratio(used & worth, worth),
    }


def calibration(rows: list[dict], algorithm: str) -> dict[str, object]:
    """How often pools help, by `p_helps`; and how often the interval holds the truth."""
    probes = [probe_of(row, algorithm) for row in rows]
    true = np.array([truth(row, algorithm) for row in rows])
    chance = np.array([probe.p_helps for probe in probes])
    bins = {}
    for low, high in pairwise(BINS):
        inside = (chance >= low) & ((chance < high) | (high == 1.0))
        if inside.any():
            bins[f"{low:g} to {high:g}"] = {
                "n": int(inside.sum()),
                "p_helps": round(float(chance[inside].mean()), 3),
                "helped": round(float((true[inside] > 0).mean()), 3),
            }
    held = [p.interval[0] <= t <= p.interval[1] for p, t in zip(probes, true, strict=True)]
    errors = np.array([probe.gain for probe in probes]) - true
    return {
        "bins": bins,
        "coverage_of_intervals": round(float(np.mean(held)), 3),
        "bias_points": round(float(errors.mean()), 2),
        "rmse_points": round(float(np.sqrt((errors**2).mean())), 2),
    }


def ratio(part: np.ndarray, whole: np.ndarray) -> dict[str, object]:
    """A share with its counts."""
    n, m = int(part.sum()), int(whole.sum())
    return {"n": n, "of": m, "share": round(n / m, 3) if m else None}


def main() -> None:
    """Write the summary of all rows, for each number of labels and head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/probe"))
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    if any(row["task"] not in REPORT for row in rows):
        raise SystemExit("Only report tasks are reported on.")
    summary: dict[str, object] = {}
    for n_labelled in sorted({row["n_labelled"] for row in rows}):
        some = [row for row in rows if row["n_labelled"] == n_labelled]
        groups = by_task_and_seed(some)
        names = sorted({name for row in some for name in predictors(row, "mixmatch")})
        for algorithm in PROBE_ALGORITHMS:
            summary[f"{n_labelled} labels, {algorithm}"] = {
                "n_tasks": len(groups),
                "n_task_seeds": sum(len(seeds) for seeds in groups.values()),
                "predictors": {name: agreement(groups, algorithm, name) for name in names},
                "oracle_regret_points": oracle_regret(groups, algorithm),
                "advice": advice_table(some, algorithm),
                "probe": calibration(some, algorithm),
            }
    given.out.mkdir(parents=True, exist_ok=True)
    write_atomic(given.out / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_atomic(given.out / "rows.jsonl", given.rows.read_text())
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
