"""Every option of a ranking, declared and checked in one place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mixmood.core.errors import InputError, OptionError
from mixmood.core.options import (
    DEFAULT_MEASURE,
    DEFAULT_PROBE,
    MEASURE_NAMES,
    PROBE_ALGORITHMS,
    option,
)
from mixmood.core.text import listed, unknown_name
from mixmood.features.plan import LoggedPlan, groups_option, labels_option

if TYPE_CHECKING:
    # Not at run time: the command line shows these options before NumPy is imported.
    from mixmood.measures.histogram import Overflow

MIN_LABELLED = 8
BY = ("distance", "gain")


@dataclass(frozen=True, kw_only=True)
class RankingPlan(LoggedPlan):
    """The options of a ranking; command line, Python and test bed share them."""

    measures: tuple[str, ...] = option(
        (DEFAULT_MEASURE,),
        f"{listed((*MEASURE_NAMES, 'all'), 'or')}; several may be given, the first one ranks.",
        flag="--measure",
    )
    sample_size: int = option(80, "Images in a draw (tau).")
    draws: int = option(30, "Number of draws (C).")
    until: float | None = option(
        0.99,
        "Stop reading once one pool is the nearest with this probability; none reads all images.",
        metavar="P|none",
        takes_none=True,
    )
    probe: bool = option(
        True, "Measure the gain of each pool; needs classes.", flag="--probe/--no-probe"
    )
    probe_algorithm: str = option(
        DEFAULT_PROBE, f"The head that is trained with each pool: {listed(PROBE_ALGORITHMS, 'or')}."
    )
    by: str = option(
        "gain", "Order the pools by gain or by distance; without a probe, by distance."
    )
    groups: str | None = groups_option()
    labels: tuple[str, ...] = labels_option()
    paper: bool = option(
        False,
        "Compute distances as the paper's code does: the two labelled samples may overlap, and "
        "values outside the range of the first sample are dropped.",
        flag="--paper",
    )
    strict: bool = option(
        False, "Fail if a pool cannot be ranked, instead of setting it aside.", flag="--strict"
    )

    def __post_init__(self) -> None:
        """Refuse options that make no sense, before any image is read."""
        from mixmood.measures.registry import check_measures

        super().__post_init__()
        given: Sequence[str] | str | None = self.measures  # Python users may give one name
        names = (given,) if isinstance(given, str) else tuple(() if given is None else given)
        object.__setattr__(self, "measures", check_measures(names))
        if not self.measures:
            raise OptionError("measures must name at least one measure; got none.")
        if self.sample_size < 1:
            raise OptionError(f"sample_size must be at least 1; got {self.sample_size}.")
        if self.draws < 2:
            raise OptionError(f"draws must be at least 2, to have a spread; got {self.draws}.")
        if self.until is not None and not 0.5 < self.until <= 1:
            raise OptionError(
                f"until must be over 0.5 and at most 1, or none to read all images; "
                f"got {self.until}."
            )
        if self.by not in BY:
            raise unknown_name("order", self.by, BY)
        if self.probe_algorithm not in PROBE_ALGORITHMS:
            raise unknown_name("probe_algorithm", self.probe_algorithm, PROBE_ALGORITHMS)

    @property
    def measure(self) -> str:
        """The measure by which pools are ranked."""
        return self.measures[0]

    @property
    def overflow(self) -> "Overflow":
        """How values outside the first sample's range are counted."""
        return "drop" if self.paper else "count"

    def fitted(self, n_labelled: int) -> "RankingPlan":
        """This plan with a sample size that so many labelled images allow."""
        if n_labelled < MIN_LABELLED:
            raise InputError(
                f"Ranking needs at least {MIN_LABELLED} labelled images; got {n_labelled}. "
                "Label a few more: with so few, the pools cannot be told apart."
            )
        from mixmood.measures.registry import check_sample_size

        fitted = replace(self, sample_size=min(self.sample_size, n_labelled // 2))
        check_sample_size(fitted.sample_size, fitted.measures)
        return fitted
