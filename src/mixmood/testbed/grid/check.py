"""Checks of a configuration before the first run."""

from collections.abc import Callable, Iterable

from mixmood.core.errors import OptionError
from mixmood.core.suggest import unknown_name
from mixmood.data.splits import check_split
from mixmood.measures.registry import check_measures
from mixmood.testbed.grid.cells import Cell
from mixmood.testbed.grid.config import (
    FROZEN,
    SCRATCH,
    TUNED,
    Config,
    Regime,
    TrainingSection,
    TunedSection,
)
from mixmood.testbed.runs.run import Job


def check_names(config: Config) -> None:
    """Refuse names and settings that no algorithm, network, augmentation or backbone has."""
    from mixmood.features.backbones.registry import load_backbone

    for regime in config.grid.regimes:
        CHECKS[regime](config)
    check_measures(tuple(config.distances.measures))
    load_backbone(config.distances.backbone, config.distances.resolution)


def _check_scratch(config: Config) -> None:
    from mixmood.ssl.models.registry import model_spec

    model_spec(config.training.model)
    _check_training(config, config.training)


def _check_training(config: Config, section: TrainingSection | TunedSection) -> None:
    from mixmood.ssl.algorithms.registry import algorithm_named
    from mixmood.ssl.augment import augmentation

    augmentation(section.augment)
    for algorithm in {*config.grid.algorithms, *section.settings}:
        algorithm_named(algorithm, section.settings.get(algorithm, {}), 1)


def _check_tuned(config: Config) -> None:
    _check_training(config, config.tuned)


def _check_frozen(config: Config) -> None:
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.heads.registry import HEADS

    known = [name for name, entry in HEADS.items() if entry.uses_pool]
    for algorithm in config.grid.algorithms:
        if algorithm not in known:
            raise unknown_name("algorithm of frozen features", algorithm, known)
    load_backbone(config.frozen.backbone, config.frozen.resolution)


CHECKS: dict[Regime, Callable[[Config], None]] = {
    SCRATCH: _check_scratch,
    FROZEN: _check_frozen,
    TUNED: _check_tuned,
}


def check_data(jobs: Iterable[Job]) -> None:
    """Refuse cells for which data sets or pools are too small; only one seed is checked."""
    first = {job.run.cell: job for job in reversed(list(jobs))}
    for job in first.values():
        _check_samples(job.config, job.run.cell)
        check_split(job.run.scenario(job.config), job.home)


def _check_samples(config: Config, cell: Cell) -> None:
    """Refuse a cell whose pool is smaller than one sample for distances."""
    from mixmood.ranking.plan import RankingPlan

    if cell.is_supervised:
        return
    distances = config.distances
    plan = RankingPlan(measures=tuple(distances.measures), sample_size=distances.sample_size)
    size, n_pool = plan.fitted(cell.n_labelled).sample_size, config.split.n_unlabelled
    if n_pool < size:
        raise OptionError(
            f"Distances of {cell.task} with {cell.n_labelled} labels are measured on samples of "
            f"{size} images, but the pool has only {n_pool}. Let distances.sample_size be at most "
            f"{n_pool}, or split.n_unlabelled at least {size}."
        )
