"""What a test bed asks for: the schema of its TOML file, and the checks of its names."""

import tomllib
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mixmood.core.errors import InputError, OptionError, errors_as, reason
from mixmood.core.files import expanded
from mixmood.core.options import DEFAULT_BACKBONE
from mixmood.core.text import check_name, unknown_name
from mixmood.data.splits import Contamination, Noise
from mixmood.measures.registry import PAPER, check_measures
from mixmood.ssl.plan import TUNING, Recipe, TrainingPlan
from mixmood.testbed.plan import PRESETS

Percent = Annotated[float, Field(gt=0, le=100)]
Count = Annotated[int, Field(ge=1)]
Baseline = Literal["none", "supervised", "supervised-epochs", "supervised-updates"]
Regime = Literal["scratch", "frozen", "tuned"]
"""How a run trains: a network from random weights, a head on the backbone's features, or the
backbone itself, fine-tuned from the solution of that head."""
SCRATCH: Regime = "scratch"
FROZEN: Regime = "frozen"
TUNED: Regime = "tuned"
TomlValue = bool | int | float | str

MOST_RUNS = 1_000_000  # the paper's whole grid has about a thousand


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Grid(_Section):
    """Which cells, and how often each is run.

    `tasks` has the sources of each task. Seeds count from `first_seed`. The baseline `none` is the
    0 % cell. `n_unlabelled` has the sizes of the pool if several are compared. The regime `scratch`
    has two supervised baselines: one with as many epochs, one with as many updates as the other
    runs. Other regimes have one, for any of the three names.
    """

    tasks: dict[str, list[str]] = Field(min_length=1)
    percents: list[Percent] = [50, 100]
    n_labelled: list[Count] = Field([60, 100, 150], min_length=1)
    n_unlabelled: list[Count] = []
    seeds: Count = 10
    first_seed: Annotated[int, Field(ge=0)] = 0
    algorithms: list[str] = ["mixmatch"]
    contamination: list[Contamination] = Field(["fixed-total"], min_length=1)
    baselines: list[Baseline] = ["none", "supervised-epochs", "supervised-updates"]
    regimes: list[Regime] = Field([SCRATCH], min_length=1)

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        """Refuse a baseline without meaning, and a list of runs that would fill the memory."""
        if SCRATCH in self.regimes and "supervised" in self.baselines:
            raise ValueError(
                "from scratch the baseline is supervised-epochs or supervised-updates, not "
                "supervised"
            )
        n_sources = sum(map(len, self.tasks.values())) * len(self.percents)
        n_contaminated = n_sources * len(self.algorithms) * len(self.contamination)
        n_clean = len(self.tasks) * len(self.baselines) * max(1, len(self.algorithms))
        n_cells = (n_contaminated + n_clean) * len(self.n_labelled) * len(self.regimes)
        n_runs = n_cells * max(1, len(self.n_unlabelled)) * self.seeds
        if n_runs > MOST_RUNS:
            raise ValueError(f"the grid has about {n_runs} runs, more than {MOST_RUNS}")
        return self


class SplitSection(_Section):
    """How images are split; see `mixmood.data.splits.Scenario`."""

    n_unlabelled: Count = 3000
    n_validation: Annotated[int, Field(ge=0)] = 60
    n_classes: Annotated[int, Field(ge=2)] = 5
    test_share: Annotated[float, Field(gt=0, lt=1)] = 0.25
    balanced: bool = False
    image_scale: Annotated[float, Field(gt=0)] = 1.0
    noise: Noise = "text"
    rgb: bool = False


class _RecipeSection(_Section):
    """The fields of `mixmood.ssl.plan.Recipe` that a section sets; its checks and its plan."""

    epochs: int = Recipe.epochs
    batch_size: int = Recipe.batch_size
    learning_rate: float = Recipe.learning_rate
    weight_decay: float = Recipe.weight_decay
    augment: str = Recipe.augment
    settings: dict[str, dict[str, TomlValue]] = {}  # by algorithm, what its defaults are not

    @model_validator(mode="after")
    def _is_a_recipe(self) -> Self:
        try:
            Recipe(**self._recipe())
        except OptionError as error:
            raise ValueError(str(error).rstrip(".")) from error
        return self

    def _recipe(self) -> dict[str, Any]:
        return self.model_dump(include={one.name for one in fields(Recipe)})

    def plan(self, algorithm: str, **others: Any) -> TrainingPlan:
        """The plan of a run with this algorithm; `others` are options that no recipe has."""
        values = {"model": DEFAULT_BACKBONE, **self._recipe(), **others}
        settings = {**self.default_settings, **self.settings.get(algorithm, {})}
        return TrainingPlan(**values, algorithm=algorithm, settings=settings)

    default_settings: ClassVar[dict[str, TomlValue]] = {}


class TrainingSection(_RecipeSection):
    """How a network from scratch is trained; as the paper's, the pool's loss has class weights."""

    model: str = Recipe.model
    ema: float = Recipe.ema
    default_settings: ClassVar[dict[str, TomlValue]] = {"balanced": "both"}


class TunedSection(_RecipeSection):
    """How the backbone is fine-tuned; it is tested after each of `epochs` parts of the updates."""

    updates: Count = TUNING["updates"]
    epochs: Count = 2
    learning_rate: float = TUNING["learning_rate"]
    augment: str = TUNING["augment"]
    resolution: Annotated[int, Field(ge=32)] = TUNING["image_size"]


class FrozenSection(_Section):
    """The features of heads in the regime `frozen`; each run's labelled images choose the view."""

    backbone: str = DEFAULT_BACKBONE
    resolution: int | Literal["auto"] = "auto"
    depth: Literal["auto", "last", "middle", "both"] = "auto"


class DistanceSection(_Section):
    """How distances are measured; see `mixmood.ranking.plan.RankingPlan`."""

    measures: list[str] = list(PAPER)
    backbone: str = DEFAULT_BACKBONE
    resolution: int | None = None
    sample_size: Count = 80
    draws: Annotated[int, Field(ge=2)] = 30


class Config(_Section):
    """A whole test bed: a grid of cells and one protocol for all of them."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    grid: Grid
    split: SplitSection = SplitSection()
    training: TrainingSection = TrainingSection()
    frozen: FrozenSection = FrozenSection()
    tuned: TunedSection = TunedSection()
    distances: DistanceSection = DistanceSection()

    def protocol(self, regime: Regime | None = None) -> dict[str, Any]:
        """The settings that all runs, or all runs of one regime, share, in plain values."""
        own = {SCRATCH: {"training"}, FROZEN: {"frozen"}, TUNED: {"tuned"}}
        parts = own[regime] if regime else {part for found in own.values() for part in found}
        return self.model_dump(mode="json", include={"split", "distances", *parts})


def load_config(word: str | Path) -> Config:
    """The test bed from the name of a preset or from a TOML file."""
    if isinstance(word, str) and word in PRESETS:
        return parse_config(preset_text(word), word)
    path = expanded(word)
    if path.suffix != ".toml":
        error = unknown_name("preset", str(word), PRESETS)
        raise OptionError(f"{error} Or give a file that ends in .toml.")
    with errors_as(InputError, f"Cannot read the test bed {path}"):
        text = path.read_text(encoding="utf-8")
    return parse_config(text, str(path))


def preset_text(name: str) -> str:
    """The commented TOML file of a preset."""
    return files("mixmood.testbed").joinpath(f"presets/{name}.toml").read_text(encoding="utf-8")


def parse_config(text: str, where: str) -> Config:
    """The test bed that a TOML text describes; `where` names it in messages."""
    try:
        return Config.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise _first_problem(error, where) from error
    except (ValueError, RecursionError) as error:
        # Besides TOMLDecodeError: deeply nested brackets, or a number of thousands of digits.
        raise InputError(f"{where} is no valid TOML: {reason(error)}.") from error


def _first_problem(error: ValidationError, where: str) -> OptionError:
    # Unknown keys come first: a misspelt key is the likely reason why another one is missing.
    problem = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    place = [part for part in problem["loc"] if isinstance(part, str)]
    if problem["type"] == "extra_forbidden":
        kind: Any = Config
        for part in place[:-1]:
            kind = kind.model_fields[part].annotation
        return unknown_name(f"key of {where}", place[-1], kind.model_fields)
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "value_error":
        # A check of a whole section: its message has the value, and needs no other.
        return OptionError(f"{where}: {key}: {problem['ctx']['error']}.")
    got = "" if problem["type"] == "missing" else f"; got {problem['input']!r:.200}"
    return OptionError(f"{where}: {key}: {problem['msg']}{got}.")


def check_names(config: Config) -> None:
    """Refuse names and settings that no algorithm, network, augmentation or backbone has."""
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.heads.registry import HEADS

    grid, frozen = config.grid, config.frozen
    check_measures(tuple(config.distances.measures))
    load_backbone(config.distances.backbone, config.distances.resolution)
    if SCRATCH in grid.regimes:
        _check_training(grid, config.training)
    if FROZEN in grid.regimes:
        known = [name for name, head in HEADS.items() if head.uses_pool]
        for algorithm in grid.algorithms:
            check_name("algorithm of frozen features", algorithm, known)
        side = frozen.resolution if isinstance(frozen.resolution, int) else None
        load_backbone(frozen.backbone, side).views(frozen.resolution, frozen.depth)
    if TUNED in grid.regimes:
        _check_training(grid, config.tuned)


def _check_training(grid: Grid, section: TrainingSection | TunedSection) -> None:
    from mixmood.ssl.algorithms.registry import algorithm_named
    from mixmood.ssl.augment import augmentation
    from mixmood.ssl.models.registry import model_spec

    if isinstance(section, TrainingSection):
        model_spec(section.model)
    augmentation(section.augment)
    for algorithm in {*grid.algorithms, *section.settings}:
        algorithm_named(algorithm, section.settings.get(algorithm, {}), 1)
