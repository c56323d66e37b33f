"""`mixmood.rank` and `mixmood.demo`: a ranking of pools, with its pages and tables."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.api.mlflow_runs import log_ranking, mlflow_log
from mixmood.api.outputs import PicturedReport, carried, command_for, slug, train_command
from mixmood.api.view_choice import open_labelled, reading, sets_in_view
from mixmood.core.files import data_frame, written
from mixmood.core.listener import Listener
from mixmood.core.options import DEFAULT_PROBE, with_options
from mixmood.core.records.ranking import Candidate, Ranking
from mixmood.core.text import counted
from mixmood.data.open import open_candidates
from mixmood.data.sets import demo_sets
from mixmood.ranking.pictures import gather_page_material
from mixmood.ranking.plan import RankingPlan
from mixmood.ranking.rank import rank as rank_pools
from mixmood.report.ranking.page import plot_ranking, ranking_html, ranking_page
from mixmood.report.ranking.text import plain_text, ranking_csv, ranking_rows, ranking_view
from mixmood.selection.plan import FilterPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RankReport(PicturedReport, Ranking):
    """A ranking with methods that show it as text, CSV, JSON or HTML."""

    _elapsed_s: float | None = None

    def __repr__(self) -> str:
        """One line: the nearest pool, and how many were compared."""
        best = self.candidates[0]
        claim = "gains most" if self.by == "gain" else "is the nearest"
        gain = f", gain {best.probe.gain:+.1f} points" if best.probe else ""
        return (
            f"<RankReport: {best.name!r} {claim} of {counted(len(self.candidates), 'pool')}{gain}, "
            f"{self.measure} {best.distance:.3g}, p_best {best.p_best:.2f}>"
        )

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        return ranking_html(self)

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        material = None
        if self._sets is not None:
            material = gather_page_material(self._sets.labelled, self._sets.pools)
        return written(ranking_page(self, material, command, self._elapsed_s), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """One row for each pool and measure; also written to `path`, if one is given."""
        return written(ranking_csv(self), path)

    def to_dataframe(self) -> Any:
        """The rows of `to_csv` as a table of pandas."""
        return data_frame(ranking_rows(self))

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The gains of the pools with their intervals, or their distances, by matplotlib."""
        return plot_ranking(self, axes)

    def to_text(self, width: int = 100, *, verbose: bool = False) -> str:
        """The answer and tables of the command line, without colours."""
        return plain_text(ranking_view(self, is_plain=True, is_verbose=verbose), width)


@with_options(RankingPlan)
def rank(
    labelled: Any,
    candidates: Mapping[str, Any] | Sequence[Any],
    *,
    plan: RankingPlan,
    listener: Listener | None = None,
) -> RankReport:
    """Which pool of unlabelled images is nearest to the labelled set, and how sure that is.

    Args:
        labelled: The labelled images: a path, an array, a data set (see `mixmood rank --help`).
        candidates: The pools: a dictionary from names to pools, or a list. A pool is given in the
            same ways as the labelled images.
    """
    log = mlflow_log(plan.mlflow)
    with reading(plan, listener) as reader:
        base = open_labelled(labelled, plan, reader)
        opened = open_candidates(candidates, base, plan.seed, reader.cache, plan.frames)
        sets = sets_in_view(base, opened.pools, plan, reader, with_last=True)
        sets.given.tell(reader.listener)
        start = time.perf_counter()
        ranked = rank_pools(
            sets.labelled,
            sets.unlabelled,
            plan,
            backbone=sets.extractor.backbone,
            views=None if sets.view is None else sets.view.evidence,
            set_aside=opened.set_aside | sets.emptied,
            cache=reader.cache,
            progress=reader.listener,
        )
    record = with_command(ranked.record, labelled, opened.given, plan)
    notes = (*record.notes, *sets.given.notes)
    record = replace(record, view=sets.view_entry, notes=notes)
    report = RankReport.of(record, ranked)
    vars(report)["_elapsed_s"] = time.perf_counter() - start
    if log is not None:
        log_ranking(log, report)
    return report


def with_command(
    record: Ranking, labelled: Any, given: Mapping[str, Any], plan: RankingPlan
) -> Ranking:
    """The record with the command that follows its advice, if all sets of the command are paths."""
    partly = [one for one in record.candidates if one.advice == "filter"]
    if record.union is None and partly:
        name = min(partly, key=_most_useful).name
        sets, out = (labelled, given[name]), f"kept-{slug(name)}.csv"
        return replace(record, next=command_for("filter", sets, out, carried(plan, FilterPlan)))
    # Images of pools that are not advised may have labels too.
    names = list(given if plan.labels else record.union.pools if record.union else ())
    # One folder for each set of pools: `train` refuses a folder that holds a run.
    out = f"run-{slug('-'.join(names)) if names else 'supervised'}"
    sets = (labelled, *(given[name] for name in names))
    is_other_head = record.union is not None and plan.probe_algorithm != DEFAULT_PROBE
    options = ["--algorithm", plan.probe_algorithm] if is_other_head else []
    command = train_command(sets, out, plan, record.labelled.classes, options=options)
    return replace(record, next=command)


def _most_useful(pool: Candidate) -> tuple[float, float, str]:
    """What orders pools that are to be filtered, as in the answer: gain, share, name."""
    gain = pool.probe.gain if pool.probe else 0.0
    return -gain, -pool.useful_share.share if pool.useful_share else 0.0, pool.name


@with_options(RankingPlan)
def demo(*, plan: RankingPlan, listener: Listener | None = None) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits."""
    return rank(*demo_sets(plan.seed), plan=plan, listener=listener)
