"""The number of threads that torch computes with: given, or measured to be faster."""

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

ROUNDS = 3
LONG_S = 1.0
"""If an update takes longer, the measurement is not repeated."""


def limit_threads(n_threads: int) -> None:
    """Let torch compute with `n_threads` threads in this process from now on."""
    torch.set_num_threads(n_threads)


@contextmanager
def computing_with(n_threads: int) -> Iterator[None]:
    """Within, torch computes with `n_threads` threads; afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def faster_threads(model: nn.Module, shape: tuple[int, int, int], n_images: int) -> int:
    """One thread, or all that torch may use: whichever trains a copy of the model faster.

    On a busy machine threads wait for each other: sixty updates of a small network took 23 s with
    two threads and 1 s with one.

    Args:
        model: The network; it is not changed.
        shape: Channels, height and width of the images.
        n_images: Images in an update.
    """
    most = torch.get_num_threads()
    if most == 1 or next(model.parameters()).device.type != "cpu":
        return most
    trial, images = copy.deepcopy(model).train(), torch.zeros(n_images, *shape)
    images = images.to(memory_format=torch.channels_last)
    took_s = dict.fromkeys((1, most), float("inf"))
    try:
        for _ in range(ROUNDS):
            for n_threads in took_s:
                torch.set_num_threads(n_threads)
                took_s[n_threads] = min(took_s[n_threads], _update_s(trial, images))
            if max(took_s.values()) > LONG_S:
                break
    finally:
        torch.set_num_threads(most)
    return min(took_s, key=lambda n_threads: (took_s[n_threads], n_threads))


def _update_s(model: nn.Module, images: torch.Tensor) -> float:
    """Seconds of a forward and a backward pass."""
    start = time.perf_counter()
    model(images).square().sum().backward()
    return time.perf_counter() - start
