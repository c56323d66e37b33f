"""A model in training: its passes, its standardisation of pixels, averages of its weights."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mixmood.core.errors import OptionError
from mixmood.core.text import check_name, unknown_name

BatchNorm = Literal["joint", "separate", "interleaved"]  # see `Network.parts`


class Network:
    """A model on its device, with the three kinds of pass that training needs."""

    def __init__(self, model: nn.Module, device: torch.device, precision: str) -> None:
        """Move the model to the device, channels last in memory."""
        self.model = model.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.device = device
        self._is_mixed = is_mixed(precision, device)
        self._norms = _norms_of(self.model)
        self.shadow: Shadow | None = None  # follows the guesses too, where arms are tested

    def parts(self, parts: Sequence[Tensor], batch_norm: BatchNorm = "joint") -> list[Tensor]:
        """Logits of each part, with gradients.

        `joint`: one pass; all parts share their batch statistics, which update the running ones.
        `separate`: one pass for each part. `interleaved`: every pass has an equal share of every
        part, as in the original MixMatch. Of several passes the first updates the running ones.
        """
        if batch_norm == "separate":
            return self._one_by_one(parts)
        together, sizes = torch.cat(list(parts)), [len(part) for part in parts]
        if batch_norm == "joint":
            return list(torch.split(self.forward(together), sizes))
        n_passes = round(len(together) / sizes[0])
        slots = torch.arange(len(together), device=together.device) % n_passes
        order = torch.argsort(slots, stable=True)
        logits = torch.cat(self._one_by_one(together[order].tensor_split(n_passes)))
        return list(torch.split(logits[torch.argsort(order)], sizes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits in single precision, with gradients; updates the running statistics."""
        with self._autocast():
            logits: Tensor = self.model(images)
        if self.shadow is not None and any(norm.track_running_stats for norm in self._norms):
            self.shadow.follow_pass()
        return logits.float()

    @torch.no_grad()
    def guess(self, images: Tensor, teacher: nn.Module | None = None) -> Tensor:
        """Class probabilities without gradients, by the batch statistics; running ones stay."""
        norms = self._norms if teacher is None else _norms_of(teacher)
        shadow = self.shadow if teacher is None else None
        with shadow.guessing() if shadow else untracked(norms), self._autocast():
            logits: Tensor = (teacher or self.model)(images)
        return logits.float().softmax(dim=1)

    def _one_by_one(self, parts: Sequence[Tensor]) -> list[Tensor]:
        logits = [self.forward(parts[0])]
        with untracked(self._norms):
            logits += [self.forward(part) for part in parts[1:]]
        return logits

    def _autocast(self) -> AbstractContextManager[object]:
        if not self._is_mixed:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


@contextmanager
def untracked(norms: Sequence[_BatchNorm]) -> Iterator[None]:
    """Within, batch-norm uses the statistics of the batch and leaves the running ones unchanged."""
    tracked = [norm for norm in norms if norm.track_running_stats]
    for norm in tracked:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm in tracked:
            norm.track_running_stats = True


class Shadow:
    """Running batch-norm statistics of a model as they were if its guesses updated them too.

    They never influence training, so that one training gives both. Kept is the difference from the
    model's own, which shrinks by 1 - momentum in a pass that updates both.
    """

    def __init__(self, model: nn.Module) -> None:
        """Start with the model's own statistics."""
        self._norms = [norm for norm in _norms_of(model) if norm.track_running_stats]
        self._stats = _statistics_of(model)
        self._differences = [torch.zeros_like(one) for one in self._stats]
        self._factors = [1 - (norm.momentum or 0.0) for norm in self._norms for _ in range(2)]

    @torch.no_grad()
    def follow_pass(self) -> None:
        """After a pass that updated the model's own statistics."""
        for difference, factor in zip(self._differences, self._factors, strict=True):
            difference.mul_(factor)

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """Within, a pass updates these statistics and not the model's own."""
        counts = [norm.num_batches_tracked for norm in self._norms]
        with self.applied() as own:
            yield
            self._differences = list(torch._foreach_sub(self._stats, own))
        for count in counts:
            if count is not None:
                count.sub_(1)

    @contextmanager
    def applied(self, model: nn.Module | None = None) -> Iterator[list[Tensor]]:
        """Within, a model (a copy, or the own one) has these statistics; yields what it had."""
        stats = self._stats if model is None else _statistics_of(model)
        own = [one.clone() for one in stats]
        torch._foreach_add_(stats, self._differences)
        yield own
        torch._foreach_copy_(stats, own)


def _statistics_of(model: nn.Module) -> list[Tensor]:
    norms = [norm for norm in _norms_of(model) if norm.track_running_stats]
    return [
        one for norm in norms for one in (norm.running_mean, norm.running_var) if one is not None
    ]


def _norms_of(model: nn.Module) -> list[_BatchNorm]:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def is_mixed(precision: str, device: torch.device) -> bool:
    """Whether passes run in bfloat16: if `precision` says so, or by `auto` on GPUs with support."""
    check_name("precision", precision, ("auto", "float32", "bfloat16"))
    if precision == "auto":
        # Emulated bfloat16 is slower than single precision.
        return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return precision == "bfloat16"


def device_named(word: str) -> torch.device:
    """The torch device with this name; OptionError if this machine does not have it."""
    kind = word.partition(":")[0]
    if kind not in ("cpu", "cuda", "mps"):
        raise unknown_name("device", word, ["cpu", "cuda", "mps"])
    # Computers without cards of a kind have none of them.
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": torch.mps.device_count()}
    try:
        device = torch.device(word)
        is_available = (device.index or 0) < counts[kind]
    except RuntimeError:
        is_available = False
    if not is_available:
        raise OptionError(
            f"The device '{word}' was asked for, but torch finds none here. Use --device cpu, "
            "or install a build of torch for your GPU."
        )
    return device


class Follower:
    """A copy of the model in training that is tested in its place.

    With a decay it is the moving average decay * average + (1 - decay) * weights; the decay is at
    most (1 + t) / (10 + t). Else it is start + share * (present - start).

    Source: Wortsman et al., "Robust fine-tuning of zero-shot models", 2022, for the second.
    """

    def __init__(self, model: nn.Module, decay: float, share: float | None = None) -> None:
        """Start from a copy of `model`; `share` counts if the decay is 0."""
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._own: list[Tensor] = list(self.model.parameters())
        self._weights: list[Tensor] = list(model.parameters())
        self._buffers = list(zip(self.model.buffers(), model.buffers(), strict=True))
        self._decay, self._share = decay, share or 0.0
        self._start = [] if decay else [weight.clone() for weight in self._own]

    @torch.no_grad()
    def update(self, n_updates: int) -> None:
        """Compute the weights after an update of the model; buffers are copied."""
        share = self._share
        if self._decay:
            share = 1 - min(self._decay, (1 + n_updates) / (10 + n_updates))
        if self._start:
            torch._foreach_copy_(self._own, self._start)
        torch._foreach_lerp_(self._own, self._weights, share)
        for buffer, present in self._buffers:
            buffer.copy_(present)


@dataclass(frozen=True)
class Standardise:
    """(pixel - mean) / deviation per channel, for pixels of 0 to 255; both of shape (channels,)."""

    mean: Tensor
    deviation: Tensor

    def to(self, device: torch.device) -> "Standardise":
        """The statistics on a device."""
        return Standardise(self.mean.to(device), self.deviation.to(device))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Standardised images, in the shape and memory layout of the pixels."""
        return (pixels - self.mean[:, None, None]) / self.deviation[:, None, None]
