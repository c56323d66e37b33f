"""One MixMatch update: against the passes that it contains, and against plain PyTorch."""

import statistics

import torch

from benchmarks.measuring.row import Effort, Row, ratios
from benchmarks.speed.plain_mixmatch import PlainMixMatch
from benchmarks.speed.updates import BATCH, SETTINGS, Setting, our_loop, rounds_of

ROUNDS = {"thin": (15, 10), "small": (15, 8), "paper": (5, 2)}
"""For each setting, how many rounds, and how often each work takes its turn in a round."""


class BarePasses:
    """The necessary part of a MixMatch update: its passes through the network, and nothing else.

    One forward pass over the two views of the pool without gradients, one over all three parts of
    the batch with gradients, and its backward pass.
    """

    def __init__(self, setting: Setting):
        """Draw the images once, in the memory layout of the loop's own."""
        loop = our_loop(setting)
        self.model = loop.network.model
        seen: list[torch.Tensor] = []
        handle = self.model.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        loop.update()
        handle.remove()
        self.pool, self.batch = (images.detach() for images in seen)
        self.gradient = torch.ones(len(self.batch), loop.task.n_classes)

    def run(self):
        """Do the passes of an update."""
        with torch.no_grad():
            self.model(self.pool)
        self.model.zero_grad(set_to_none=True)
        self.model(self.batch).backward(self.gradient)


def one_update(effort: Effort) -> list[Row]:
    """The update of the loop itself for three networks, with one thread."""
    torch.set_num_threads(1)
    settings = ["thin"] if effort.is_tiny else list(SETTINGS)
    return [row for name in settings for row in compared(SETTINGS[name], effort)]


def compared(setting: Setting, effort: Effort) -> list[Row]:
    """Ours, the passes alone, and the plain version, in turns."""
    n_rounds, n_each = ROUNDS[setting.name]
    works = {
        "ours": our_loop(setting).update,
        "passes": BarePasses(setting).run,
        "plain": PlainMixMatch(setting).update,
    }
    times = rounds_of(works, effort.rounds(n_rounds), 2 if effort.is_tiny else n_each)
    ours, passes, plain = (1e3 * statistics.median(times[name]) for name in works)
    what = f"a MixMatch update of {BATCH} + 2 x {BATCH} images, one thread; {setting.words}"
    return [
        Row(
            what,
            "the forward and backward passes that it contains, same network and batches",
            *ratios(times["ours"], times["passes"]),
            f"{ours:.1f} / {passes:.1f} ms",
            at_most=1.1,
        ),
        Row(
            what,
            "MixMatch in plain PyTorch, same network and batch sizes",
            *ratios(times["plain"], times["ours"]),
            f"{plain:.1f} / {ours:.1f} ms",
            at_least=1.2,
        ),
    ]
