"""Measures a MixMatch update of semilearn (USB) and of mixmood alternately; prints JSON.

    python -m benchmarks.peers.usb thin|small|paper ROUNDS EACH

Runs in the environment that `make bench-peers` makes, which has both. Both train the same
network on the same images, with AdamW, flips and shifts, batches of 16 + 2 x 16, one thread.
"""

import contextlib
import importlib.abc
import importlib.machinery
import json
import sys
import types
import warnings

import benchmarks.peers.torchvision_operators  # noqa: F401 - before torchvision
import torch
from benchmarks.speed import updates

UNUSED = ("aim", "progress", "ruamel", "skimage", "tensorboard", "timm", "torchaudio")
UNUSED += ("tqdm", "transformers", "wandb")


class Unused(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for libraries that semilearn imports for text, sound, other networks and logs.

    Nothing of them is called in an update of MixMatch.
    """

    def find_spec(self, name, path=None, target=None):
        """Any module of the unused libraries."""
        is_unused = name.split(".")[0] in UNUSED or name == "torch.utils.tensorboard"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_unused else None

    def create_module(self, spec):
        """A module that has whatever class is asked of it."""
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: type(name, (), {})
        return module

    def exec_module(self, module):
        """There is nothing to run."""


sys.meta_path.insert(0, Unused())
warnings.filterwarnings("ignore")

with contextlib.redirect_stdout(sys.stderr):
    import semilearn
    from semilearn.algorithms.mixmatch.mixmatch import MixMatch
    from torchvision import transforms


class OnCpu(MixMatch):
    """USB's own algorithm, left on the CPU, on images that are given."""

    def set_dataset(self):
        """The data set that its users make of arrays: a `BasicDataset` each."""
        setting = updates.SETTINGS[self.args.setting]
        side = setting.side
        weak = transforms.Compose(
            [
                transforms.Resize(side),
                transforms.RandomCrop(side, padding=round(side / 8), padding_mode="reflect"),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize([0.5] * setting.channels, [0.25] * setting.channels),
            ]
        )
        plain = {"transform": weak, "num_classes": updates.N_CLASSES}
        images = setting.pixels(updates.N_LABELLED, seed=1)
        pool = setting.pixels(updates.N_POOL)
        if setting.channels == 1:
            images, pool = images[..., 0], pool[..., 0]
        labelled = semilearn.BasicDataset(
            self.algorithm, images, updates.labels(updates.N_LABELLED), **plain
        )
        unlabelled = semilearn.BasicDataset(
            self.algorithm, pool, is_ulb=True, strong_transform=weak, **plain
        )
        unlabelled.targets = updates.labels(updates.N_POOL)  # carried along, never used
        return {"train_lb": labelled, "train_ulb": unlabelled, "eval": labelled, "test": None}

    def process_batch(self, input_args=None, **batch):
        """What the step takes, without the way to a GPU."""
        return {name: batch[name] for name in ("x_lb", "y_lb", "x_ulb_w", "x_ulb_s")}


class Answers(torch.nn.Module):
    """A network that answers as USB's own do."""

    def __init__(self, network):
        """Wrap the network."""
        super().__init__()
        self.network, self.feat = network, None
        network.head.register_forward_pre_hook(self._keep)

    def _keep(self, head, given):
        self.feat = given[0]

    def forward(self, images):
        """Logits and pooled features."""
        return {"logits": self.network(images), "feat": self.feat}


class Usb:
    """The body of its training loop: hooks, batches, step."""

    def __init__(self, name):
        """Prepare the first update."""
        setting = updates.SETTINGS[name]
        shape = (setting.channels, setting.side, setting.side)
        config = semilearn.get_config(
            {
                "algorithm": "mixmatch",
                "dataset": "none",
                "num_classes": updates.N_CLASSES,
                "epoch": 1,
                "num_train_iter": updates.N_UPDATES,
                "num_eval_iter": updates.N_UPDATES,
                "num_log_iter": updates.N_UPDATES,
                "optim": "AdamW",
                "lr": updates.PEAK_RATE,
                "weight_decay": updates.WEIGHT_DECAY,
                "batch_size": updates.BATCH,
                "num_workers": 0,
                "distributed": False,
                "rank": 0,
                "world_size": 1,
                "ulb_loss_ratio": 25.0,
                "mixup_alpha": 0.75,
                "setting": name,
            }
        )
        self.usb = OnCpu(
            config, lambda **_: Answers(setting.spec.build(shape, updates.N_CLASSES)), None, None
        )
        self.usb.model.train()
        # Its timer asks a GPU for the time; tests and checkpoints are not part of an update. Its
        # average of the weights is left out too: ours is off by default.
        for hook in ("TimerHook", "EvaluationHook", "CheckpointHook", "EMAHook"):
            del self.usb.hooks_dict[hook]
        loaders = self.usb.loader_dict
        self.batches = zip(loaders["train_lb"], loaders["train_ulb"], strict=True)
        self.ready = next(self.batches)

    def update(self):
        """An update on the next batch, augmented image by image in this process."""
        self._step(*next(self.batches))

    def step(self):
        """An update on a batch that is ready."""
        self._step(*self.ready)

    def _step(self, labelled, unlabelled):
        usb = self.usb
        usb.call_hook("before_train_step")
        batch = usb.process_batch(**labelled, **unlabelled)
        usb.out_dict, usb.log_dict = usb.train_step(**batch)
        usb.call_hook("after_train_step")
        usb.it += 1


def main(name, n_rounds, n_each):
    """Print the seconds of each, round by round."""
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(sys.stderr):
        peer = Usb(name)
        ours = updates.our_loop(updates.SETTINGS[name], augment="flip-crop")
        works = {"ours": ours.update, "usb": peer.update, "usb_step": peer.step}
        times = updates.rounds_of(works, n_rounds, n_each)
    print(json.dumps(times))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
