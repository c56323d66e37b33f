"""How often the 95 % intervals of docs/results.md hold the truth: a simulation.

    python -m benchmarks.testbed.coverage

Three tasks differ in how strongly nearness and gain are correlated. Each seed draws ten new pools
of each task, with noise that its tasks share. The truth is the mean over 1000 seeds.
"""

import numpy as np

from benchmarks.testbed.units import Mean, best, chosen, mean_over, pearson, spearman

N_CASES, N_TRUE, N_POOLS = 200, 1000, 10
TASKS = {"a": 0.3, "b": 0.6, "c": 0.9}
STATISTICS = {
    "Pearson": pearson,
    "Spearman": spearman,
    "regret": lambda x, y: best(y) - chosen(x, y),
}


def drawn(n_seeds: int, rng: np.random.Generator) -> dict[str, dict[tuple[str, int], float]]:
    """Every statistic of every task and seed."""
    found: dict[str, dict[tuple[str, int], float]] = {name: {} for name in STATISTICS}
    for seed in range(n_seeds):
        level, slant = rng.normal(size=2)
        for task, r in TASKS.items():
            x = rng.normal(size=N_POOLS)
            together = np.clip(r + 0.2 * slant, -0.99, 0.99)
            y = level + together * x + np.sqrt(1 - together**2) * rng.normal(size=N_POOLS)
            for name, statistic in STATISTICS.items():
                found[name][task, seed] = statistic(x, y)
    return found


def holds(found: Mean, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return found.low <= truth <= found.high


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    truth = {name: mean_over(one, "seeds").value for name, one in drawn(N_TRUE, rng).items()}
    print("| seeds | " + " | ".join(STATISTICS) + " |\n" + "|---" * 4 + "|")
    for n_seeds in (3, 5, 10):
        cases = [drawn(n_seeds, rng) for _ in range(N_CASES)]
        shares = [
            100 * np.mean([holds(mean_over(case[name], "seeds"), truth[name]) for case in cases])
            for name in STATISTICS
        ]
        print(f"| {n_seeds} | " + " | ".join(f"{share:.0f} %" for share in shares) + " |")


if __name__ == "__main__":
    main()
