"""Which runs a configuration asks for, and which of them `--only` takes."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from itertools import product
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from mixmood.core.errors import OptionError
from mixmood.core.text import check_name, unknown_name
from mixmood.data.splits import NONE, OTHER_HALF, Scenario
from mixmood.testbed.config import SCRATCH, Config, Regime

SUPERVISED = {
    "supervised-epochs": "supervised, same epochs",
    "supervised-updates": "supervised, same updates",
    "supervised": "supervised",
}
"""The baselines without a pool, and their names in tables."""
SIMILAR = {"mnist": "svhn", "cifar10": "tiny_imagenet", "fashion_mnist": "fashion_product"}
"""For each task, the source that the paper calls similar."""
STRICT = ConfigDict(strict=True)


@dataclass(frozen=True, config=STRICT)
class Cell:
    """One cell of the grid. The source of a supervised baseline is `none`."""

    task: str
    source: str
    percent: Annotated[float, Field(ge=0, le=100)]
    n_labelled: Annotated[int, Field(ge=1, lt=2**53)]
    algorithm: str
    contamination: str
    regime: Regime = SCRATCH
    n_unlabelled: Annotated[int, Field(ge=1, lt=2**53)] | None = None  # as split.n_unlabelled

    @property
    def cell(self) -> "Cell":
        """Only the cell, without the further fields of a run or of a row of a table."""
        return Cell(*(getattr(self, field.name) for field in fields(Cell)))

    @property
    def ood_type(self) -> str:
        """The paper's T_OOD: half-half (HH), similar (Sim) or different (Dif); empty for 0 %."""
        if self.source == NONE:
            return ""
        is_similar = SIMILAR.get(self.task) == self.source
        return "HH" if self.source == OTHER_HALF else "Sim" if is_similar else "Dif"

    @property
    def is_supervised(self) -> bool:
        """Whether it is a baseline without a pool."""
        return self.algorithm in SUPERVISED


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Run(Cell):
    """A cell and a seed."""

    seed: Annotated[int, Field(ge=0, lt=2**53)]

    def to_dict(self) -> dict[str, Any]:
        """The run in plain values, without a size of the pool that the grid does not vary."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def scenario(self, config: Config) -> Scenario:
        """The split that this run is trained on; it is the same in every regime."""
        split = config.split.model_dump()
        split["n_unlabelled"] = self.n_unlabelled or split["n_unlabelled"]
        own = ("task", "source", "percent", "n_labelled", "seed", "contamination")
        return Scenario(**{name: getattr(self, name) for name in own}, **split)


def cells(config: Config) -> list[Cell]:
    """All cells of a grid: baselines first, then sources, task by task."""
    grid, made = config.grid, []
    first = grid.contamination[0]
    sizes: list[int | None] = [*grid.n_unlabelled] or [None]
    for regime, (task, sources), n in product(grid.regimes, grid.tasks.items(), grid.n_labelled):
        for baseline in grid.baselines:
            if baseline != NONE:
                name = baseline if regime == SCRATCH else "supervised"
                made.append(Cell(task, NONE, 0.0, n, name, first, regime))
        for algorithm, size in product(grid.algorithms, sizes):
            if NONE in grid.baselines:
                made.append(Cell(task, NONE, 0.0, n, algorithm, first, regime, size))
            for mode, source, percent in product(grid.contamination, sources, grid.percents):
                cell = Cell(task, source, float(percent), n, algorithm, mode, regime, size)
                made.append(cell)
    return list(dict.fromkeys(made))


@dataclass(frozen=True)
class CellFilter:
    """A choice of cells: for some fields of a cell, the values that are wanted."""

    wanted: dict[str, frozenset[str]]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "CellFilter":
        """From texts such as `task=mnist,n_labelled=60`; a key given twice takes either value."""
        known = [field.name for field in fields(Cell)]
        wanted: dict[str, set[str]] = {}
        words = (word.strip() for word in ",".join(texts).split(","))
        for word in filter(None, words):
            key, equals, value = word.partition("=")
            if not equals or not value:
                raise OptionError(f"--only takes KEY=VALUE, such as task=mnist; got '{word}'.")
            check_name("key of --only", key, known)
            wanted.setdefault(key, set()).add(value)
        return cls({key: frozenset(values) for key, values in wanted.items()})

    def takes(self, cell: Cell) -> bool:
        """Whether the filter takes this cell."""
        return all(_word(cell, key) in words for key, words in self.wanted.items())

    def unmatched(self, cells: Sequence[Cell]) -> str:
        """A sentence on the first value that no cell has; empty if each value occurs."""
        for key, words in self.wanted.items():
            known = list(dict.fromkeys(_word(cell, key) for cell in cells))
            for word in sorted(words.difference(known)):
                return str(unknown_name(key, word, known))
        return ""


def _word(cell: Cell, key: str) -> str:
    """A field of a cell as it is written in `--only`."""
    value = getattr(cell, key)
    return f"{value:g}" if isinstance(value, float) else str(value)


EVERY_CELL = CellFilter({})


def runs(config: Config, only: CellFilter = EVERY_CELL, seeds: int | None = None) -> list[Run]:
    """All runs of a grid, seed by seed: an interrupted grid has whole seeds."""
    n_seeds = config.grid.seeds if seeds is None else seeds
    if n_seeds < 1:
        raise OptionError(f"seeds must be at least 1; got {n_seeds}.")
    everything = cells(config)
    chosen = [cell for cell in everything if only.takes(cell)]
    if not everything:
        raise OptionError(f"'{config.name}' has no cells: give sources or baselines in its grid.")
    if not chosen:
        hint = only.unmatched(everything) or "Select less strictly."
        raise OptionError(f"No cell of '{config.name}' is left by --only. {hint}")
    first = config.grid.first_seed
    return [Run(**vars(cell), seed=first + k) for k in range(n_seeds) for cell in chosen]
