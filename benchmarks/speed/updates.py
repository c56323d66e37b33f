"""The MixMatch updates that are measured: networks, images, and the product's own loop."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.measuring.row import interleaved
from mixmood.ssl.algorithms.consistency import MixMatch
from mixmood.ssl.loop import Length, Loop
from mixmood.ssl.models.network import Follower, Network
from mixmood.ssl.models.registry import WideResNetSpec, model_spec
from mixmood.ssl.plan import TrainingPlan
from mixmood.ssl.task import Task, checked_task

N_CLASSES, N_LABELLED, N_POOL, BATCH = 5, 60, 3000, 16
PEAK_RATE, WEIGHT_DECAY = 2e-4, 1e-4
N_UPDATES = 9400
"""Updates of the whole run, of which the first ones are measured."""


@dataclass(frozen=True)
class Setting:
    """A network, and the images it is trained on."""

    name: str
    model: str
    side: int
    channels: int

    @property
    def spec(self) -> WideResNetSpec:
        """What the network is built from."""
        return model_spec(self.model)

    @property
    def words(self) -> str:
        """The setting as text."""
        spec = self.spec
        network = f"{spec.groups} x {spec.blocks} blocks, k = {spec.widening}"
        pixels = f"{self.side}x{self.side}x{self.channels}"
        return f"{network}, {spec.first_filters} filters, {pixels}"

    def pixels(self, n_images: int, seed: int = 0) -> np.ndarray:
        """Random images: what they show does not change how long they take."""
        shape = (n_images, self.side, self.side, self.channels)
        return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


SETTINGS = {
    "thin": Setting("thin", "wrn-thin", 14, 1),
    "small": Setting("small", "wrn-small", 28, 1),
    "paper": Setting("paper", "wrn:first_filters=16", 32, 3),
}


def labels(n_images: int) -> np.ndarray:
    """Classes in turn."""
    return np.arange(n_images) % N_CLASSES


def task_of(setting: Setting) -> Task:
    """A task of the paper's size: 60 labelled images and a pool of 3000."""
    labelled = (setting.pixels(N_LABELLED, seed=1), labels(N_LABELLED))
    return checked_task(labelled, setting.pixels(N_POOL), labelled, None, None)


def our_loop(setting: Setting, augment: str = "paper", ema: float = 0.0) -> Loop:
    """The product's loop before its first update."""
    torch.manual_seed(0)
    task = task_of(setting)
    model = setting.spec.build(task.labelled.images.shape, N_CLASSES)
    network = Network(model.train(), torch.device("cpu"), "auto")
    return Loop(
        task,
        TrainingPlan(
            model=setting.model,
            batch_size=BATCH,
            learning_rate=PEAK_RATE,
            weight_decay=WEIGHT_DECAY,
            augment=augment,
            ema=ema,
        ),
        Length(N_UPDATES, N_UPDATES),
        MixMatch(balanced="both"),
        network,
        follower=Follower(network.model, ema) if ema else None,
    )


def rounds_of(
    works: Mapping[str, Callable[[], object]], n_rounds: int, n_each: int
) -> dict[str, list[float]]:
    """The median seconds of each work in each round.

    Within a round, too, the works take turns: A B C, A B C, ... , `n_each` times.
    """
    interleaved(works, 2)  # the first updates also fetch memory and choose algorithms
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_rounds):
        for name, times in interleaved(works, n_each).items():
            found[name].append(statistics.median(times))
    return found
