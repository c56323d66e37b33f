"""From a configuration to the runs it asks for."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from mixmood.core.errors import OptionError
from mixmood.core.suggest import unknown_name
from mixmood.data.splits.scenario import NONE, Scenario
from mixmood.testbed.grid.config import Config

SUPERVISED = ("supervised-epochs", "supervised-updates")


@dataclass(frozen=True)
class Cell:
    """One place of the grid. A supervised baseline has `none` as its source."""

    task: str
    source: str
    percent: float
    n_labelled: int
    algorithm: str
    contamination: str

    @property
    def is_supervised(self) -> bool:
        """Whether the pool is left unused."""
        return self.algorithm in SUPERVISED


@dataclass(frozen=True)
class Run:
    """A cell and a seed."""

    cell: Cell
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """The run in plain values, flat."""
        return asdict(self.cell) | {"seed": self.seed}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Run":
        """The run that was written."""
        cell = {field.name: values[field.name] for field in fields(Cell)}
        return cls(Cell(**cell), values["seed"])

    def scenario(self, config: Config) -> Scenario:
        """The split that this run is trained on."""
        cell = self.cell
        return Scenario(
            task=cell.task,
            source=cell.source,
            percent=cell.percent,
            n_labelled=cell.n_labelled,
            seed=self.seed,
            contamination=cell.contamination,  # type: ignore[arg-type]
            **config.split.model_dump(),
        )


def cells(config: Config) -> list[Cell]:
    """All cells of a grid: baselines first, then sources, task by task."""
    return list(dict.fromkeys(_cells(config)))


def _cells(config: Config) -> Iterator[Cell]:
    grid = config.grid
    for task, sources in grid.tasks.items():
        for n_labelled in grid.n_labelled:
            for baseline in grid.baselines:
                if baseline != NONE:
                    yield Cell(task, NONE, 0.0, n_labelled, baseline, grid.contamination[0])
            for algorithm in grid.algorithms:
                if NONE in grid.baselines:
                    yield Cell(task, NONE, 0.0, n_labelled, algorithm, grid.contamination[0])
                for mode in grid.contamination:
                    for source in sources:
                        for percent in grid.percents:
                            yield Cell(task, source, float(percent), n_labelled, algorithm, mode)


def runs(config: Config, only: "Selection | None" = None, seeds: int | None = None) -> list[Run]:
    """All runs of a grid, one seed after the other, so that what is done first is whole."""
    n_seeds = config.grid.seeds if seeds is None else seeds
    if n_seeds < 1:
        raise OptionError(f"seeds must be at least 1; got {n_seeds}.")
    chosen = [cell for cell in cells(config) if only is None or only.takes(cell)]
    if not chosen:
        raise OptionError(f"No cell of '{config.name}' is left by --only. Select less strictly.")
    return [Run(cell, seed) for seed in range(n_seeds) for cell in chosen]


@dataclass(frozen=True)
class Selection:
    """Cells by what they must be: every key has the words that are taken."""

    wanted: dict[str, frozenset[str]]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Selection":
        """From texts such as `task=mnist,n_labelled=60`; a key given twice takes either word."""
        known = [field.name for field in fields(Cell)]
        wanted: dict[str, set[str]] = {}
        for word in filter(None, ",".join(texts).split(",")):
            key, equals, value = word.partition("=")
            if not equals or not value:
                raise OptionError(f"A selection is written like task=mnist; got '{word}'.")
            if key not in known:
                raise unknown_name("key of a selection", key, known)
            wanted.setdefault(key, set()).add(value)
        return cls({key: frozenset(values) for key, values in wanted.items()})

    def takes(self, cell: Cell) -> bool:
        """Whether the cell is one of those wanted."""
        return all(
            f"{value:g}" in words if isinstance(value, float) else str(value) in words
            for key, words in self.wanted.items()
            for value in [getattr(cell, key)]
        )
