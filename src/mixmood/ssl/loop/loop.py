"""The training loop of all algorithms and networks."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from mixmood.core.arrays import Rows
from mixmood.core.errors import TrainingError
from mixmood.core.files.atomic import write_atomic
from mixmood.core.interrupt import Interrupt, deferred
from mixmood.core.progress import Progress
from mixmood.core.seeds import rng_for
from mixmood.ssl.algorithms.algorithm import Algorithm, Step, unlabelled_ratio
from mixmood.ssl.algorithms.class_weights import class_weights
from mixmood.ssl.augmentation.strong import strong_augment
from mixmood.ssl.augmentation.weak import Augment
from mixmood.ssl.input.images import Images
from mixmood.ssl.input.task import Labelled, Task
from mixmood.ssl.loop import checkpoint
from mixmood.ssl.loop.average import Follower
from mixmood.ssl.loop.evaluate import accuracy
from mixmood.ssl.loop.network import Network
from mixmood.ssl.loop.optimiser import AdamW
from mixmood.ssl.loop.order import Order
from mixmood.ssl.loop.schedule import Length, one_cycle
from mixmood.ssl.loop.standardise import Standardise
from mixmood.ssl.loop.tally import Tally
from mixmood.ssl.output.record import EpochRecord, epochs_from, select, to_jsonl
from mixmood.ssl.output.run_files import METRICS
from mixmood.ssl.plan import TrainingPlan

SAVE_EVERY = 1000
"""Updates between checkpoints within an epoch, unless a minute passes first."""

SAVE_EVERY_S = 60.0
"""Seconds of training between checkpoints, for updates that take seconds each."""

CHECK_EVERY = 100
"""Updates between checks that the losses are finite; each check makes a GPU wait."""

TASK = "training"


class Loop:
    """A run in progress. Everything that changes from update to update is in `state`.

    The random numbers of an update depend only on the seed and the number of the update. A run
    that is resumed from a checkpoint therefore draws the same numbers.
    """

    def __init__(
        self,
        task: Task,
        plan: TrainingPlan,
        length: Length,
        algorithm: Algorithm,
        network: Network,
        *,
        augment: Augment,
        follower: Follower | None,
    ) -> None:
        """Prepare the first update."""
        self.task, self.plan, self.length = task, plan, length
        self.algorithm, self.network, self.follower = algorithm, network, follower
        self.pool = task.unlabelled if algorithm.needs_pool else None
        self._augment = augment
        counts = torch.bincount(task.labelled.codes.cpu(), minlength=task.n_classes).float()
        weights = class_weights(getattr(algorithm, "balanced", "labelled"), counts)
        self._class_weights, self._pool_weights = (w.to(network.device) for w in weights)
        self._one_hot = functional.one_hot(task.labelled.codes, task.n_classes).float()
        # A pretrained network needs the standardisation that it was trained with.
        own = getattr(network.model, "standardise", None)
        scale = Standardise.of(task.labelled.images) if own is None else own()
        self.standardise = scale.to(network.device)
        self._pool_standardise = None
        if self.pool is not None:
            pool_scale = Standardise.of(self.pool) if own is None else scale
            self._pool_standardise = pool_scale.to(network.device)
        # Decoupled weight decay: class weights, which scale the loss, do not change its strength.
        factors = getattr(network.model, "rate_factors", None)
        everything = [(list(network.model.parameters()), 1.0)]
        self._optimiser = AdamW(
            [{"params": p, "factor": f} for p, f in (factors() if factors else everything)],
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=True,
        )
        order = partial(Order, seed=plan.seed)
        self._order = order(len(task.labelled.images), plan.batch_size, purpose="labelled")
        self.n_pool_batch = plan.batch_size * unlabelled_ratio(algorithm)
        self._pool_order = (
            None if self.pool is None else order(len(self.pool), self.n_pool_batch, purpose="pool")
        )
        self.n_done = 0
        self.epochs: tuple[EpochRecord, ...] = ()
        self.elapsed_s, self.training_s = 0.0, 0.0
        self.selected: dict[str, Tensor] | None = None
        self._saved_at_s = 0.0
        self._tally = Tally(task.n_classes, network.device)

    @property
    def tested(self) -> nn.Module:
        """The model that is tested: the one that follows the model in training, if there is one."""
        return self.network.model if self.follower is None else self.follower.model

    def run(
        self,
        out: Path | None,
        configuration: dict[str, Any],
        progress: Progress,
        on_epoch: Callable[[EpochRecord], None],
    ) -> None:
        """Train to the end; Ctrl-C saves a checkpoint first."""
        progress.start(TASK, self.length.n_updates)
        progress.advance(TASK, self.n_done)
        self.network.model.train()
        # An update that is interrupted halfway would leave some weights changed and others not.
        with deferred() as interrupt, torch.random.fork_rng(devices=[]):
            while self.n_done < self.length.n_updates:
                self.update()
                progress.advance(TASK)
                if self.length.ends_epoch(self.n_done):
                    self._end_epoch()
                    on_epoch(self.epochs[-1])
                self._save_if_due(out, configuration, interrupt)
        progress.finish(TASK)

    def _save_if_due(
        self, out: Path | None, configuration: dict[str, Any], interrupt: Interrupt
    ) -> None:
        is_late = self.elapsed_s - self._saved_at_s > SAVE_EVERY_S
        is_due = self.length.ends_epoch(self.n_done) or self.n_done % SAVE_EVERY == 0 or is_late
        if out is not None and (is_due or interrupt.is_requested):
            self._check_finite(self.network.model.parameters())
            checkpoint.save(out, self.state(), configuration)
            write_atomic(out / METRICS, to_jsonl(self.epochs))
            self._saved_at_s = self.elapsed_s
        if interrupt.is_requested:
            raise KeyboardInterrupt

    def update(self) -> None:
        """Do one update; every CHECK_EVERY updates, check that the losses are finite."""
        start = time.perf_counter()
        self._update()
        if self.n_done % CHECK_EVERY == 0 or self.length.ends_epoch(self.n_done):
            self._check_finite([self._tally.sums])
        spent = time.perf_counter() - start
        self.training_s += spent
        self.elapsed_s += spent

    def _update(self) -> None:
        update = self.n_done
        rate, momentum = one_cycle(update, self.length.n_updates, self.plan.learning_rate)
        for group in self._optimiser.param_groups:
            group["lr"], group["betas"] = rate * group.get("factor", 1.0), (momentum, 0.99)
        self._seed_torch(update)
        losses = self.algorithm.loss(self._step(update))
        self._optimiser.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        if self.follower is not None:
            self.follower.update(update)
        self._tally.add(losses)
        self.n_done += 1

    def _seed_torch(self, update: int) -> None:
        """Seed torch's generator, which layers of a user's model may draw from (dropout)."""
        seed = (self.plan.seed * 1_000_003 + update) % 2**63
        if self.network.device.type == "cpu":
            # `torch.manual_seed` would also seed every kind of GPU, which takes 0.2 ms.
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def _step(self, update: int) -> Step:
        rng = partial(rng_for, self.plan.seed, "update", update)
        rows = self._order.rows(update)
        pool_batch = cache(partial(self._pool_batch, update))

        def labelled() -> Tensor:
            images = self._fetch(self.task.labelled.images, rows)
            return self.standardise(self._augment(images, rng("labelled")))

        def unlabelled(views: int) -> Tensor:
            images = pool_batch().repeat(views, 1, 1, 1)
            return self._to_pool_scale(self._augment(images, rng("unlabelled")))

        def strong() -> Tensor:
            draws = rng("strong")
            return self._to_pool_scale(strong_augment(self._augment(pool_batch(), draws), draws))

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
        images = self._fetch(self.pool, self._pool_order.rows(update))
        self.pool.prefetch(self._pool_order.rows(update + 1))
        return images

    def _fetch(self, images: Images, rows: Rows) -> Tensor:
        return images.batch(rows).to(self.network.device, non_blocking=True)

    def _to_pool_scale(self, pixels: Tensor) -> Tensor:
        return pixels if self._pool_standardise is None else self._pool_standardise(pixels)

    def _check_finite(self, tensors: Iterable[Tensor]) -> None:
        if not all(bool(torch.isfinite(tensor).all()) for tensor in tensors):
            raise TrainingError(
                f"The loss is no longer a number near update {self.n_done} of "
                f"{self.length.n_updates}. The last good checkpoint, if any, was kept. Lower the "
                f"learning rate ({self.plan.learning_rate:g}) or the weight of the pool (gamma)."
            )

    def _end_epoch(self) -> None:
        start = time.perf_counter()
        tested = accuracy(
            self.tested, self.task.test.images, self.task.test.codes, self.standardise
        )
        validated = self._validation_accuracy(self.task.validation)
        self.elapsed_s += time.perf_counter() - start
        self.epochs = (*self.epochs, self._epoch_record(tested, validated))
        self._tally.clear()
        if validated is not None and select(self.epochs) is self.epochs[-1]:
            self.selected = {k: v.clone() for k, v in self.tested.state_dict().items()}

    def _validation_accuracy(self, validation: Labelled | None) -> float | None:
        if validation is None:
            return None
        return accuracy(self.tested, validation.images, validation.codes, self.standardise)

    def _epoch_record(self, tested: float, validated: float | None) -> EpochRecord:
        means = self._tally.means()
        has_mask = getattr(self.algorithm, "ood_mask", None) is not None
        return EpochRecord(
            epoch=len(self.epochs) + 1,
            n_updates=self.n_done,
            learning_rate=self._optimiser.param_groups[0]["lr"],
            loss=means.loss,
            loss_labelled=means.loss_labelled,
            loss_unlabelled=means.loss_unlabelled,
            share_dropped=means.share_dropped if has_mask else None,
            pseudo_label_shares=means.pseudo_label_shares,
            test_accuracy=tested,
            validation_accuracy=validated,
            elapsed_s=self.elapsed_s,
            share_sure=means.share_sure,
        )

    def state(self) -> dict[str, Any]:
        """Everything that changes from update to update, as tensors and plain values."""
        return {
            "n_done": self.n_done,
            "epochs": json.dumps([asdict(epoch) for epoch in self.epochs]),
            "n_threads": torch.get_num_threads(),
            "elapsed_s": self.elapsed_s,
            "training_s": self.training_s,
            "sums": self._tally.sums,
            "model": self.network.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "average": None if self.follower is None else self.follower.model.state_dict(),
            "selected": self.selected,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.n_done, self.selected = state["n_done"], state["selected"]
        self.epochs = epochs_from(json.loads(state["epochs"]))
        self.elapsed_s, self.training_s = float(state["elapsed_s"]), float(state["training_s"])
        is_timed = self.training_s > 0 or self.n_done == 0
        if self.n_done not in range(self.length.n_updates + 1) or not is_timed:
            raise ValueError(f"{self.n_done} updates in {self.training_s} s are impossible")
        self._tally.restore(state["sums"])
        if self.selected is not None:
            # Only to check that they fit; the weights that are loaded next replace them.
            self.tested.load_state_dict(self.selected)
        self.network.model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        if self.follower is not None:
            self.follower.model.load_state_dict(state["average"])
