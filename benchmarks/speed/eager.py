"""The same network in plain PyTorch: eager mode, a DataLoader, Pillow."""

import statistics
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scripts.export_backbone import EPSILON, blocks, read_weights, same_pads, worst_cosine
from torch import nn
from torch.utils.data import DataLoader

from benchmarks.measuring.material import PreparedFiles, large_jpegs, small_jpegs
from benchmarks.measuring.row import Effort, Row, SkippedError, interleaved, ratios
from benchmarks.speed.extraction import Engine


class Unit(nn.Module):
    """Convolution, batch normalisation and, if wanted, ReLU6."""

    def __init__(self, weights, conv, norm, stride=1, is_active=True):
        """Take weights by their names in the checkpoint."""
        super().__init__()
        kernel = torch.from_numpy(weights[f"{conv}.weight"])
        n_out, n_in, side, _ = kernel.shape
        groups = n_out if n_in == 1 and side > 1 else 1
        first, last = same_pads(side, stride)
        self.pad = nn.ZeroPad2d((first, last, first, last)) if side > 1 else nn.Identity()
        self.conv = nn.Conv2d(n_in * groups, n_out, side, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(n_out, eps=EPSILON)
        self.act = nn.ReLU6() if is_active else nn.Identity()
        self.conv.weight.data = kernel
        for name in ("weight", "bias", "running_mean", "running_var"):
            getattr(self.norm, name).data = torch.from_numpy(weights[f"{norm}.{name}"])

    def forward(self, x):
        """The maps of the next layer."""
        return self.act(self.norm(self.conv(self.pad(x))))


class Block(nn.Module):
    """An inverted bottleneck."""

    def __init__(self, weights, name, stride, expansion, is_added):
        """Take weights by their names in the checkpoint."""
        super().__init__()
        units = [Unit(weights, f"{name}._expand_conv", f"{name}._bn0")] if expansion > 1 else []
        units.append(Unit(weights, f"{name}._depthwise_conv", f"{name}._bn1", stride))
        units.append(Unit(weights, f"{name}._project_conv", f"{name}._bn2", is_active=False))
        self.units, self.is_added = nn.Sequential(*units), is_added

    def forward(self, x):
        """The maps of the next layer."""
        return self.units(x) + x if self.is_added else self.units(x)


class EagerLite0(nn.Module):
    """EfficientNet-Lite0 up to its pooled features."""

    def __init__(self):
        """Load the weights that the product's own file was made from."""
        super().__init__()
        weights = {name: np.array(value, copy=True) for name, value in read_weights().items()}
        layers = [Unit(weights, "_conv_stem", "_bn0", stride=2)]
        layers += [
            Block(weights, f"_blocks.{number}", stride, expansion, is_added)
            for number, (_, stride, expansion, is_added) in enumerate(blocks())
        ]
        self.layers = nn.Sequential(*layers, Unit(weights, "_conv_head", "_bn1"))

    def forward(self, images):
        """Features, shape (n, 1280), of uint8 images, shape (n, 3, side, side)."""
        return self.layers((images.float() - 127) / 128).mean((2, 3))


def against_torch(effort: Effort) -> list[Row]:
    """Small and large JPEGs: the engine against eager PyTorch with the same weights."""
    try:
        model = EagerLite0().eval()
    except ImportError as error:
        raise SkippedError(f"{error.name} is not installed; make bench installs it") from error
    sizes = {
        "64 x 64": (small_jpegs, effort.images(512, least=64), 7),
        "2000 x 1500": (large_jpegs, effort.images(96, least=4), 3),
    }
    rows = []
    for size, (make, n_images, n_rounds) in sizes.items():
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder) / "images", n_images)
            rows.append(_compare(model, made, size, n_images, effort.rounds(n_rounds)))
    return rows


def _compare(model, folder, size, n_images, n_rounds) -> Row:
    engine = Engine(folder, n_images)
    size_of = (engine.side, engine.side)

    def resized(image):
        smaller = image.resize(size_of, Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(smaller)).permute(2, 0, 1)

    # The workers live on from round to round: starting them is not held against PyTorch.
    loader = DataLoader(
        PreparedFiles(folder, resized),
        batch_size=64,
        num_workers=2,
        persistent_workers=True,
    )

    @torch.inference_mode()
    def eager():
        return torch.cat([model(batch) for batch in loader]).numpy()

    alike = worst_cosine(eager(), engine.together())
    times = interleaved({"engine": engine.together, "torch": eager}, n_rounds)
    speed = {name: n_images / statistics.median(found) for name, found in times.items()}
    return Row(
        f"folder of {size} JPEGs, end to end, images a second",
        "PyTorch eager, same weights, DataLoader of 2 workers, batches of 64",
        *ratios(times["torch"], times["engine"]),
        f"{speed['engine']:.0f} / {speed['torch']:.0f} images/s",
        at_least=2,
        note=f"The features of an image have a cosine of at least {alike:.5f}: the product stores "
        "16-bit weights and decodes large JPEGs at reduced size.",
    )
