"""The training loop: the batches, rates and losses of each update, tests after each epoch."""

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache, partial
from inspect import unwrap
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn import functional

from mixmood.core.arrays import Rows
from mixmood.core.errors import TrainingError
from mixmood.core.files import write_atomic
from mixmood.core.interrupt import Interrupt, deferred
from mixmood.core.listener import Listener
from mixmood.core.seeds import rng_for
from mixmood.ssl.algorithms.algorithm import Algorithm, Step, StepLoss, unlabelled_ratio
from mixmood.ssl.algorithms.losses import class_weights
from mixmood.ssl.augment import augmentation, strong_augment
from mixmood.ssl.models.network import Follower, Network, Shadow, Standardise
from mixmood.ssl.plan import TrainingPlan
from mixmood.ssl.record import Arm, EpochRecord, select, to_jsonl
from mixmood.ssl.run_folder import METRICS, save_checkpoint
from mixmood.ssl.task import Labelled, Task, standardisation_of

TEST_BATCH = 256


@torch.inference_mode()
def accuracy(model: nn.Module, labelled: Labelled, standardise: Standardise) -> float:
    """The share of images whose predicted class is right; batch-norm uses running statistics."""
    was_training, images = model.training, labelled.images
    model.eval()
    n_right = torch.zeros((), dtype=torch.long, device=labelled.codes.device)
    every = (torch.arange(len(images)), labelled.codes)
    for rows, codes in zip(*(torch.split(one, TEST_BATCH) for one in every), strict=True):
        logits = model(standardise(images.batch(rows.numpy()).to(codes.device).float()))
        n_right += (logits.argmax(dim=1) == codes).sum()
    model.train(was_training)
    return int(n_right) / len(images)


@torch.no_grad()
def tally(sums: Tensor, losses: StepLoss) -> None:
    """Add the values of an update to the sums over an epoch.

    They are updates, total, labelled and unlabelled loss, share of dropped images, guesses, guesses
    of each class, share of sure guesses, updates with a threshold.
    """
    sums[0] += 1
    sums[1] += losses.total
    sums[2] += losses.labelled
    if losses.unlabelled is not None:
        sums[3] += losses.unlabelled
    if losses.is_kept is not None:
        sums[4] += 1 - losses.is_kept.float().mean()
    if losses.guesses is not None:
        sums[5] += len(losses.guesses)
        guessed = losses.guesses.argmax(dim=1)
        sums[6:-2] += functional.one_hot(guessed, losses.guesses.shape[1]).sum(0)
    if losses.is_sure is not None:
        sums[-2] += losses.is_sure.float().mean()
        sums[-1] += 1


def means(sums: Tensor, has_mask: bool) -> dict[str, Any]:
    """Fields of an EpochRecord; None for values of guesses if the algorithm made none."""
    n_updates, total, labelled, unlabelled, dropped, n_guesses, *classes = sums.tolist()
    *classes, n_sure, n_checked = classes
    return {
        "loss": total / n_updates,
        "loss_labelled": labelled / n_updates,
        "loss_unlabelled": unlabelled / n_updates if n_guesses else None,
        "share_dropped": dropped / n_updates if n_guesses and has_mask else None,
        "pseudo_label_shares": tuple(n / n_guesses for n in classes) if n_guesses else None,
        "share_sure": n_sure / n_checked if n_checked else None,
    }


@dataclass
class Order:
    """Batches from repeated passes over n images, each pass in a new random order.

    The order depends only on the seed, the purpose and the number of the pass, so that the batch
    of any update can be computed without the earlier ones, as in a resumed run.
    """

    n_images: int
    batch_size: int
    seed: int
    purpose: str
    _pass: tuple[int, Rows] | None = None  # number and order of the pass that was last used

    def rows(self, update: int) -> Rows:
        """The images of an update, counted from 0; shape (batch_size,)."""
        position, end = update * self.batch_size, (update + 1) * self.batch_size
        parts = []
        while position < end:
            number, offset = divmod(position, self.n_images)
            if self._pass is None or self._pass[0] != number:
                rng = rng_for(self.seed, "order", self.purpose, number)
                self._pass = number, rng.permutation(self.n_images)
            parts.append(self._pass[1][offset : offset + end - position])
            position += len(parts[-1])
        return np.concatenate(parts)


@dataclass(frozen=True)
class Length:
    """How many updates a run has, and how many of them make an epoch."""

    n_updates: int
    updates_per_epoch: int

    def ends_epoch(self, n_done: int) -> bool:
        """Whether an epoch ends after `n_done` updates."""
        return n_done % self.updates_per_epoch == 0 or n_done == self.n_updates


def one_cycle(update: int, n_updates: int, peak: float) -> tuple[float, float]:
    """Learning rate and momentum of an update (counted from 0) under the one-cycle policy.

    The rate climbs along half a cosine from peak / 25 to the peak over the first 30 % of the
    updates, then falls to peak / 250000; momentum mirrors it between 0.95 and 0.85.

    Source: Smith, "A disciplined approach to neural network hyper-parameters", 2018.

    >>> one_cycle(29, 100, 1.0)
    (1.0, 0.85)
    """
    top = 0.3 * n_updates - 1
    if update <= top:
        share = update / top if top > 0 else 1.0
        return _cosine(peak / 25, peak, share), _cosine(0.95, 0.85, share)
    share = (update - top) / (n_updates - 1 - top)
    return _cosine(peak, peak / (25 * 1e4), share), _cosine(0.85, 0.95, share)


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


SAVE_EVERY, SAVE_EVERY_S = 1000, 60.0  # updates and seconds between checkpoints in an epoch
LONG_S = 60.0  # a training of a minute or more says how long it takes
CHECK_EVERY = 100  # updates between checks that the losses are finite; each makes a GPU wait
TASK = "training"


class PlainAdamW(torch.optim.AdamW):
    """AdamW without torch's decorators that import its compiler, which nothing here uses.

    The smallest `mixmood train` of a network takes 2.2 s of processor time, and 3.5 s with them;
    every worker of a test bed would import it too. The weights are the same, byte for byte.
    """

    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))
    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)


class Loop:
    """A run in progress. Everything that changes from update to update is in `state`."""

    def __init__(
        self,
        task: Task,
        plan: TrainingPlan,
        length: Length,
        algorithm: Algorithm,
        network: Network,
        follower: Follower | None,
        has_arms: bool = False,
    ) -> None:
        """Prepare the first update; with `has_arms`, each epoch is tested in all arms."""
        self.task, self.plan, self.length = task, plan, length
        self.algorithm, self.network, self.follower = algorithm, network, follower
        self.pool = task.unlabelled if algorithm.needs_pool else None
        self._augment = augmentation(plan.augment)
        counts = torch.bincount(task.labelled.codes.cpu(), minlength=task.n_classes).float()
        weights = class_weights(getattr(algorithm, "balanced", "labelled"), counts)
        self._class_weights, self._pool_weights = (w.to(network.device) for w in weights)
        self._one_hot = functional.one_hot(task.labelled.codes, task.n_classes).float()
        # A pretrained network needs the standardisation that it was trained with.
        own = getattr(network.model, "standardise", None)
        scale = standardisation_of(task.labelled.images) if own is None else own()
        self.standardise = scale.to(network.device)
        self._pool_standardise = self.standardise
        order = partial(Order, seed=plan.seed)
        self._order = order(len(task.labelled.images), plan.batch_size, purpose="labelled")
        self._pool_order: Order | None = None
        self.n_pool_batch = 0
        if self.pool is not None:
            if own is None:
                self._pool_standardise = standardisation_of(self.pool).to(network.device)
            self.n_pool_batch = plan.batch_size * unlabelled_ratio(algorithm)
            self._pool_order = order(len(self.pool), self.n_pool_batch, purpose="pool")
            if has_arms:
                network.shadow = Shadow(network.model)
        self.arms: dict[Arm, list[float]] = {}  # test accuracies by epoch, if they are tested
        # Decoupled weight decay: class weights, which scale the loss, do not change its strength.
        factors = getattr(network.model, "rate_factors", None)
        everything = [(list(network.model.parameters()), 1.0)]
        self._optimiser = PlainAdamW(
            [{"params": p, "factor": f} for p, f in (factors() if factors else everything)],
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
        )
        self.n_done = 0
        self.epochs: tuple[EpochRecord, ...] = ()
        self.elapsed_s, self.training_s = 0.0, 0.0
        self.selected: dict[str, Tensor] | None = None
        self._saved_at_s = 0.0
        self._sums = torch.zeros(8 + task.n_classes, device=network.device)

    @property
    def tested(self) -> nn.Module:
        """The model that is tested: the one that follows the model in training, if there is one."""
        return self.network.model if self.follower is None else self.follower.model

    def run(
        self,
        out: Path | None,
        configuration: dict[str, Any],
        progress: Listener,
        on_epoch: Callable[[EpochRecord], None],
    ) -> None:
        """Train to the end; Ctrl-C saves a checkpoint first."""
        n_all, n_before, spent_s = self.length.n_updates, self.n_done, self.training_s
        progress.start(TASK, n_all)
        progress.advance(TASK, n_before)
        self.network.model.train()
        # An update that is interrupted halfway would leave some weights changed and others not.
        with deferred() as interrupt, torch.random.fork_rng(devices=[]):
            while self.n_done < n_all:
                self.update()
                progress.advance(TASK)
                if self.n_done == n_before + 1:
                    spent_s = self.training_s  # the first update also prepares the libraries
                elif self.n_done == n_before + 2:
                    left_s = (self.training_s - spent_s) * (n_all - self.n_done)
                    if left_s >= LONG_S:
                        progress.note(f"{n_all:,} updates: about {left_s / 60:.0f} min.")
                if self.length.ends_epoch(self.n_done):
                    self._end_epoch()
                    on_epoch(self.epochs[-1])
                self._save_if_due(out, configuration, interrupt)
        progress.finish(TASK)

    def _save_if_due(
        self, out: Path | None, configuration: dict[str, Any], interrupt: Interrupt
    ) -> None:
        is_late = self.elapsed_s - self._saved_at_s > SAVE_EVERY_S or interrupt.is_requested
        is_due = self.length.ends_epoch(self.n_done) or self.n_done % SAVE_EVERY == 0 or is_late
        if out is not None and is_due:
            self._check_finite(self.network.model.parameters())
            save_checkpoint(out, self.state(), configuration)
            write_atomic(out / METRICS, to_jsonl(self.epochs))
            self._saved_at_s = self.elapsed_s
        if interrupt.is_requested:
            raise KeyboardInterrupt

    def update(self) -> None:
        """Do one update; every CHECK_EVERY updates, check that the losses are finite."""
        start, update = time.perf_counter(), self.n_done
        rate, momentum = one_cycle(update, self.length.n_updates, self.plan.learning_rate)
        for group in self._optimiser.param_groups:
            group["lr"], group["betas"] = rate * group.get("factor", 1.0), (momentum, 0.99)
        # Layers of a user's model may draw from torch's generator (dropout).
        torch.manual_seed((self.plan.seed * 1_000_003 + update) % 2**63)
        losses = self.algorithm.loss(self._step(update))
        self._optimiser.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        if self.follower is not None:
            self.follower.update(update)
        tally(self._sums, losses)
        self.n_done += 1
        if self.n_done % CHECK_EVERY == 0 or self.length.ends_epoch(self.n_done):
            self._check_finite([self._sums])
        spent = time.perf_counter() - start
        self.training_s += spent
        self.elapsed_s += spent

    def _step(self, update: int) -> Step:
        rng, rows = partial(rng_for, self.plan.seed, "update", update), self._order.rows(update)
        pool_batch, device = cache(partial(self._pool_batch, update)), self.network.device

        def labelled() -> Tensor:
            images = self.task.labelled.images.batch(rows).to(device, non_blocking=True)
            return self.standardise(self._augment(images, rng("labelled")))

        def unlabelled(views: int) -> Tensor:
            images = pool_batch().repeat(views, 1, 1, 1)
            return self._pool_standardise(self._augment(images, rng("unlabelled")))

        def strong() -> Tensor:
            draws = rng("strong")
            images = strong_augment(self._augment(pool_batch(), draws), draws)
            return self._pool_standardise(images)

        return Step(
            network=self.network,
            teacher=None if self.follower is None else self.follower.model,
            targets=self._one_hot[torch.from_numpy(rows)],
            class_weights=self._class_weights,
            pool_weights=self._pool_weights,
            update=update,
            labelled=labelled,
            unlabelled=unlabelled,
            strong=strong,
            rng=rng,
        )

    def _pool_batch(self, update: int) -> Tensor:
        if self.pool is None or self._pool_order is None:
            raise TrainingError(f"{self.algorithm.name} asked for unlabelled images; got none.")
        images = self.pool.batch(self._pool_order.rows(update))
        self.pool.prefetch(self._pool_order.rows(update + 1))
        return images.to(self.network.device, non_blocking=True)

    def _check_finite(self, tensors: Iterable[Tensor]) -> None:
        if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors):
            raise TrainingError(
                f"The loss is no longer a number near update {self.n_done} of "
                f"{self.length.n_updates}. The last good checkpoint, if any, was kept. Lower the "
                f"learning rate ({self.plan.learning_rate:g}) or the weight of the pool (gamma)."
            )

    def _end_epoch(self) -> None:
        start = time.perf_counter()
        test, validation, pool_scale = self.task.test, self.task.validation, self._pool_standardise
        tested = accuracy(self.tested, test, self.standardise)
        if self.network.shadow is not None:
            found: dict[Arm, float] = {"A": tested, "B": accuracy(self.tested, test, pool_scale)}
            with self.network.shadow.applied(self.tested):
                found["C"] = accuracy(self.tested, test, self.standardise)
                found["D"] = accuracy(self.tested, test, pool_scale)
            for arm, value in found.items():
                self.arms.setdefault(arm, []).append(value)
        validated = None
        if validation is not None:
            validated = accuracy(self.tested, validation, self.standardise)
        self.elapsed_s += time.perf_counter() - start
        record = EpochRecord(
            epoch=len(self.epochs) + 1,
            n_updates=self.n_done,
            learning_rate=self._optimiser.param_groups[0]["lr"],
            **means(self._sums, getattr(self.algorithm, "ood_mask", None) is not None),
            test_accuracy=tested,
            validation_accuracy=validated,
            elapsed_s=self.elapsed_s,
        )
        self.epochs = (*self.epochs, record)
        self._sums.zero_()
        if validated is not None and select(self.epochs) is record:
            self.selected = {k: v.clone() for k, v in self.tested.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """Everything that changes from update to update, as tensors and plain values."""
        return {
            "n_done": self.n_done,
            "epochs": json.dumps([asdict(epoch) for epoch in self.epochs]),
            "elapsed_s": self.elapsed_s,
            "training_s": self.training_s,
            "sums": self._sums,
            "model": self.network.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "average": None if self.follower is None else self.follower.model.state_dict(),
            "selected": self.selected,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.n_done, self.selected = state["n_done"], state["selected"]
        self.epochs = TypeAdapter(tuple[EpochRecord, ...]).validate_json(state["epochs"])
        self.elapsed_s, self.training_s = float(state["elapsed_s"]), float(state["training_s"])
        is_timed = self.training_s > 0 or self.n_done == 0
        if self.n_done not in range(self.length.n_updates + 1) or not is_timed:
            raise ValueError(f"{self.n_done} updates in {self.training_s} s are impossible")
        if len(state["sums"]) != len(self._sums):
            raise ValueError(f"{len(state['sums'])} sums where {len(self._sums)} were wanted")
        self._sums.copy_(state["sums"])
        if self.selected is not None:
            # Only to check that they fit; the weights that are loaded next replace them.
            self.tested.load_state_dict(self.selected)
        self.network.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        if self.follower is not None:
            self.follower.model.load_state_dict(state["average"])
