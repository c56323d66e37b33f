"""Extraction with a model of the hub's form against a plain torch loop with two loading workers.

    python benchmarks/hub_models.py [--images 192]

The model is a random ViT-Tiny (224 pixels); both ways run twice in turn, in one process.
"""

import argparse
import io
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image


class Files:
    """A data set of files for a plain loop: decoded, resized and standardised in its workers."""

    def __init__(self, paths, processor):
        """Read these files, and prepare them with the processor."""
        self.paths, self.processor = paths, processor

    def __len__(self):
        """How many files."""
        return len(self.paths)

    def __getitem__(self, index):
        """The pixels of one file."""
        image = Image.open(self.paths[index]).convert("RGB")
        return self.processor(images=image, return_tensors="pt")["pixel_values"][0]


def plain_loop(folder, paths):
    """Seconds of a plain loop."""
    import torch
    from torch.utils.data import DataLoader
    from transformers import AutoImageProcessor, AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    files = Files(paths, AutoImageProcessor.from_pretrained(folder))
    start = time.perf_counter()
    with torch.inference_mode():
        for batch in DataLoader(files, batch_size=16, num_workers=2):
            model(pixel_values=batch).pooler_output.numpy()
    return time.perf_counter() - start


def extraction(folder, images):
    """Seconds of our extraction, without a cache."""
    from mixmood.data.pools.open import open_pool
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.features.extraction.extract import extract

    backbone = load_backbone(f"hf:{folder}")
    pool = open_pool(images)
    start = time.perf_counter()
    extract(pool, range(len(pool)), backbone)
    return time.perf_counter() - start


def main():
    """Print the seconds and their ratio."""
    import transformers

    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=192)
    n_images = parser.parse_args().images
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder, images = Path(place) / "vit", Path(place) / "images"
        config = transformers.ViTConfig(
            hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768
        )
        transformers.ViTModel(config).save_pretrained(folder)
        transformers.ViTImageProcessorPil().save_pretrained(folder)
        images.mkdir()
        for number in range(n_images):
            small = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
            buffer = io.BytesIO()
            Image.fromarray(small).resize((600, 400)).save(buffer, format="JPEG")
            (images / f"{number:05}.jpg").write_bytes(buffer.getvalue())
        paths = sorted(images.iterdir())
        for _ in range(2):
            plain, own = plain_loop(folder, paths), extraction(folder, images)
            print(
                f"plain loop {n_images / plain:.1f} images/s, extraction {n_images / own:.1f}, "
                f"ratio {plain / own:.2f}"
            )


if __name__ == "__main__":
    main()
