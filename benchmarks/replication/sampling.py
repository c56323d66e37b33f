"""How tau, C and the bins of histograms change the distances' correlation and order.

    mixmood testbed run benchmarks/replication/pool-size.toml --store STORE
    python -m benchmarks.replication.sampling STORE

One of them is changed at a time. Distances are measured anew on the pools of 3000 images of the
store; accuracies are those of its heads with MixMatch. The table of docs/measures is written.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.stats import pearsonr, spearmanr

from benchmarks.testbed.written import filled
from mixmood.core.files import write_atomic
from mixmood.ranking.distance import quick_distances
from mixmood.ranking.plan import RankingPlan
from mixmood.testbed.record import RunRecord
from mixmood.testbed.results import FrozenPool
from mixmood.testbed.run import job_for
from mixmood.testbed.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "measures" / "index.md"
N_POOL, N_PERMUTATIONS = 3000, 1
MEASURES = ("cosine", "js", "l1", "l2")
DEFAULT = (30, 30, 15)
SETTINGS = [DEFAULT, (10, 30, 15), (20, 30, 15), (30, 5, 15), (30, 10, 15), (30, 100, 15)]
SETTINGS += [(30, 30, 5), (30, 30, 50)]
"""tau, C and bins; with 60 labels tau is at most 30."""
Setting = tuple[int, int, int]


def distances(record: RunRecord, store: Store) -> Iterator[tuple[Setting, dict[str, float]]]:
    """The distance of a run's pool by each measure, for every setting."""
    pool = FrozenPool(job_for(store.config, record.run))
    seed = record.run.seed
    order = np.random.default_rng(seed).permutation(len(pool.labelled))
    labelled, unlabelled = pool.labelled.last[order], pool.unlabelled.last
    for tau, draws, bins in SETTINGS:
        plan = RankingPlan(measures=MEASURES, sample_size=tau, draws=draws, seed=seed)
        with patch("mixmood.measures.registry.N_BINS", bins):
            found = quick_distances(labelled, unlabelled[: tau * draws], plan, N_PERMUTATIONS)
        yield (tau, draws, bins), {name: found[name]["distance"] for name in MEASURES}


def table(store: Store) -> list[str]:
    """Correlations with accuracy, and of the order with that of the default, by setting."""
    groups: dict[tuple[object, ...], list[tuple[float, float]]] = defaultdict(list)
    chosen = [
        record
        for record in store.records()
        if record.run.n_unlabelled == N_POOL
        and record.run.algorithm == "mixmatch"
        and record.run.percent
    ]
    for record in sorted(chosen, key=lambda r: (r.run.task, r.run.seed, r.run.source)):
        for setting, found in distances(record, store):
            for measure, distance in found.items():
                key = (setting, measure, record.run.task, record.run.seed)
                groups[key].append((distance, record.accuracy.test))
    n_groups = len({key[2:] for key in groups})
    lines = ["| tau | C | bins | measure | Pearson | Spearman | order as with 30, 30, 15 |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for setting in SETTINGS:
        for measure in MEASURES if setting[2] == DEFAULT[2] else MEASURES[:2]:
            own, usual = (
                [np.array(pairs).T for key, pairs in groups.items() if key[:2] == (one, measure)]
                for one in (setting, DEFAULT)
            )
            r, rank = ([f(*pairs).statistic for pairs in own] for f in (pearsonr, spearmanr))
            same = [spearmanr(a[0], b[0]).statistic for a, b in zip(own, usual, strict=True)]
            cells = [*setting, measure, *(f"{np.mean(values):.2f}" for values in (r, rank, same))]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    note = f"Means over {n_groups} tasks and seeds of ten pools each; negative is right."
    return [*lines, "", note]


if __name__ == "__main__":
    store = Store(Path(sys.argv[1]))
    write_atomic(PAGE, filled(PAGE.read_text(), {"sampling": lambda: table(store)}))
