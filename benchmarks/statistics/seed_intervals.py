"""How often 95 % intervals over seeds contain the truth.

python -m benchmarks.statistics.seed_intervals

A simulated group has eight pools whose true mean distances and accuracies are known. Every run
adds noise to both, part of it shared by all runs of a seed, as their images are. The interval
should hold the correlation, and the regret, of the true means in 95 % of cases. It prints the
table of docs/reliability.md: ours (the jackknife with Student's t) and the percentile bootstrap.
"""

import sys

import numpy as np

from mixmood.testbed.analysis import agreement

N_POOLS = 8
N_CASES = 1000
N_RESAMPLES = 500
DISTANCE_NOISE = 0.3
"""Relative to the spread of true distances; accuracies have the noise of each column."""
STATISTICS = {
    "Pearson": agreement.pearsons,
    "Spearman": agreement.spearmans,
    "regret": agreement.regrets,
}


def simulated(n_seeds, correlation, noise, rng):
    """True means of shape (2, 1, pools), and runs of shape (2, seeds, pools)."""
    distance = rng.normal(size=N_POOLS)
    rest = np.sqrt(1 - correlation**2) * rng.normal(size=N_POOLS)
    truth = np.stack([distance, correlation * distance + rest])[:, None]
    sizes = np.array([DISTANCE_NOISE, noise])[:, None, None]
    own = rng.normal(size=(2, n_seeds, N_POOLS))
    shared = rng.normal(size=(2, n_seeds, 1))
    return truth, truth + sizes * (own + shared)


def _holds(interval, value):
    return interval is not None and interval[0] - 1e-9 <= value <= interval[1] + 1e-9


def covered(n_seeds, correlation, noise, rng):
    """For each statistic, whether our interval and that of the bootstrap hold the truth."""
    truth, runs = simulated(n_seeds, correlation, noise, rng)
    draws = rng.integers(n_seeds, size=(N_RESAMPLES, n_seeds))
    found = {}
    for name, statistic in STATISTICS.items():
        true, point = float(statistic(*truth)[0]), float(statistic(*runs.mean(1, keepdims=True))[0])
        make = agreement.regret_interval if name == "regret" else agreement.correlation_interval
        ours = make(point, agreement.each_left_out(*runs, statistic))
        resampled = statistic(*(values[draws].mean(axis=1) for values in runs))
        found[name] = _holds(ours, true), _holds(np.quantile(resampled, [0.025, 0.975]), true)
    return found


def _percent(are_covered):
    return f"{100 * np.mean(are_covered):.0f} %"


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    write = sys.stdout.write
    write("| seeds | true r | noise | " + " | ".join(STATISTICS) + " |\n")
    write("|---" * 6 + "|\n")
    for n_seeds in (3, 5, 10):
        for correlation in (0.0, -0.5, -0.9):
            for noise in (0.3, 1.0):
                cases = [covered(n_seeds, correlation, noise, rng) for _ in range(N_CASES)]
                shares = [
                    " / ".join(_percent([case[name][k] for case in cases]) for k in (0, 1))
                    for name in STATISTICS
                ]
                write(f"| {n_seeds} | {correlation:g} | {noise:g} | {' | '.join(shares)} |\n")


if __name__ == "__main__":
    main()
