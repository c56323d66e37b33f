"""Extraction with a Hugging Face model against a plain torch loop with two loading workers."""

import io
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measuring.material import PreparedFiles
from benchmarks.measuring.row import Effort, Row, SkippedError, interleaved, ratios

AGAINST = "a plain loop: transformers' model and processor, DataLoader of 2 workers, batches of 16"


def against_plain_loop(effort: Effort) -> list[Row]:
    """A random ViT-Tiny of 224 pixels saved to a folder, on JPEGs of 600 x 400."""
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as error:
        raise SkippedError(f"{error.name} is not installed; make bench installs it") from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    n_images = effort.images(64, least=16)
    with tempfile.TemporaryDirectory() as place:
        folder, images = Path(place) / "vit", Path(place) / "images"
        _save_model(transformers, folder)
        _save_images(images, n_images)
        works = {"plain": _plain_loop(folder, images), "own": _extraction(folder, images)}
        features = {name: work() for name, work in works.items()}
        times = interleaved(works, effort.rounds(3), _both_times)
    worst = np.abs(features["plain"] - features["own"]).max()
    return [
        _row("images a second", 0, times, n_images, f"Features differ by at most {worst:.1g}."),
        _row("images a second of processor time", 1, times, n_images, "For loaded machines."),
    ]


def _row(what, place, times, n_images, note) -> Row:
    plain, own = ([one[place] for one in times[name]] for name in ("plain", "own"))
    speeds = [n_images / statistics.median(found) for found in (own, plain)]
    return Row(
        f"hf: model, ViT-Tiny of 224 pixels, JPEGs of 600 x 400, {what}",
        AGAINST,
        *ratios(plain, own),
        f"{speeds[0]:.1f} / {speeds[1]:.1f} images/s",
        at_least=0.9,
        note=note,
    )


def _both_times(work) -> tuple[float, float]:
    """Seconds by the clock, and of the processor, workers that have ended included."""
    start, used = time.perf_counter(), _processor_s()
    work()
    return time.perf_counter() - start, _processor_s() - used


def _processor_s() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def _plain_loop(folder, images):
    import torch
    from torch.utils.data import DataLoader
    from transformers import AutoImageProcessor, AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    processor = AutoImageProcessor.from_pretrained(folder)

    def pixels(image):
        return processor(images=image, return_tensors="pt")["pixel_values"][0]

    files = PreparedFiles(images, pixels)

    @torch.inference_mode()
    def work():
        batches = DataLoader(files, batch_size=16, num_workers=2)
        return np.concatenate([model(pixel_values=one).pooler_output.numpy() for one in batches])

    return work


def _extraction(folder, images):
    """Our extraction, without a cache."""
    from mixmood.data.open import open_pool
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.features.extract import Extractor

    backbone, pool = load_backbone(f"hf:{folder}"), open_pool(images)
    return lambda: Extractor(backbone).read(pool).features


def _save_model(transformers, folder) -> None:
    config = transformers.ViTConfig(
        hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768
    )
    transformers.ViTModel(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil().save_pretrained(folder)


def _save_images(folder, n_images) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(n_images):
        small = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(small).resize((600, 400)).save(buffer, format="JPEG")
        (folder / f"{number:05}.jpg").write_bytes(buffer.getvalue())
