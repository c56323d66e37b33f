"""A straightforward MixMatch in PyTorch, for the benchmark."""

import math

import numpy as np
import torch
from torch.nn import functional

from benchmarks.speed.updates import (
    BATCH,
    N_CLASSES,
    N_LABELLED,
    N_POOL,
    N_UPDATES,
    PEAK_RATE,
    WEIGHT_DECAY,
    Setting,
    labels,
)

VIEWS, TEMPERATURE, ALPHA, GAMMA, RAMP = 2, 0.5, 0.75, 25.0, 3000
DEGREES = 10.0


class PlainMixMatch:
    """The same network, batches, views, losses and schedule as the product's, written plainly.

    Whole batches are augmented at once and images are in memory: nothing is slow on purpose.
    Each view is guessed in a pass of its own, and so are the three parts of the mixed batch.
    """

    def __init__(self, setting: Setting):
        """Prepare the first update."""
        torch.manual_seed(0)
        shape = (setting.channels, setting.side, setting.side)
        self.model = setting.spec.build(shape, N_CLASSES).train()
        self.images = self._standardised(setting.pixels(N_LABELLED, seed=1))
        self.labels = torch.from_numpy(labels(N_LABELLED))
        self.pool = self._standardised(setting.pixels(N_POOL))
        self.optimiser = torch.optim.Adam(
            self.model.parameters(), lr=PEAK_RATE, weight_decay=WEIGHT_DECAY
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimiser, max_lr=PEAK_RATE, total_steps=N_UPDATES
        )
        self.n_done = 0
        self.log: list[tuple[float, float, float]] = []

    @staticmethod
    def _standardised(pixels):
        images = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous().float() / 255
        mean, deviation = images.mean((0, 2, 3), keepdim=True), images.std((0, 2, 3), keepdim=True)
        return (images - mean) / deviation

    def update(self):
        """Do one update."""
        rows = torch.randint(len(self.images), (BATCH,))
        pool_rows = torch.randint(len(self.pool), (BATCH,))
        labelled = augmented(self.images[rows])
        targets = functional.one_hot(self.labels[rows], N_CLASSES).float()
        views = [augmented(self.pool[pool_rows]) for _ in range(VIEWS)]
        with torch.no_grad():
            guess = sum(torch.softmax(self.model(view), dim=1) for view in views) / VIEWS
            sharp = guess ** (1 / TEMPERATURE)
            sharp = sharp / sharp.sum(dim=1, keepdim=True)
        images, soft = torch.cat([labelled, *views]), torch.cat([targets] + [sharp] * VIEWS)
        images, soft = mixed_up(images, soft)
        logits = [self.model(part) for part in images.split(BATCH)]
        supervised = -(soft[:BATCH] * functional.log_softmax(logits[0], dim=1)).sum(1).mean()
        guessed = torch.softmax(torch.cat(logits[1:]), dim=1)
        unsupervised = ((guessed - soft[BATCH:]) ** 2).mean()
        weight = GAMMA * min(1.0, self.n_done / RAMP)
        loss = supervised + weight * unsupervised
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.schedule.step()
        self.log.append((loss.item(), supervised.item(), unsupervised.item()))
        self.n_done += 1


def augmented(images):
    """A view of each image: flips both ways, a rotation by up to 10 degrees."""
    n_images = len(images)
    for axis in (2, 3):
        is_flipped = torch.rand(n_images, 1, 1, 1) < 0.5
        images = torch.where(is_flipped, images.flip(axis), images)
    angle = (torch.rand(n_images) * 2 - 1) * math.radians(DEGREES)
    zero = torch.zeros(n_images)
    upper = torch.stack([angle.cos(), -angle.sin(), zero], dim=1)
    lower = torch.stack([angle.sin(), angle.cos(), zero], dim=1)
    grid = functional.affine_grid(
        torch.stack([upper, lower], dim=1), list(images.shape), align_corners=False
    )
    return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)


def mixed_up(images, targets):
    """MixUp with lambda' = max(lambda, 1 - lambda)."""
    share = np.random.beta(ALPHA, ALPHA)
    share = max(share, 1 - share)
    partners = torch.randperm(len(images))
    return (
        share * images + (1 - share) * images[partners],
        share * targets + (1 - share) * targets[partners],
    )
