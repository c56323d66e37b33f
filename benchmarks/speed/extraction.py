"""From files to features: the engine compared with decoding and inference alone."""

import io
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measuring.material import large_jpegs, small_jpegs
from benchmarks.measuring.row import Effort, Row, interleaved, ratios
from mixmood.data.images.decode import decode_squares
from mixmood.data.readers.files import FolderSource
from mixmood.features.backbones.onnx_network import MICRO_BATCH, MICRO_BATCH_PIXELS
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.backbones.view import View
from mixmood.features.extract import Extractor
from mixmood.jobs.local import checked_jobs

DEFAULT = View(96)


class Engine:
    """The steps of an extraction from one folder, together and alone, on the same threads."""

    def __init__(self, folder: Path, n_images: int, view: View = DEFAULT) -> None:
        """Open the folder; if it has fewer images than wanted, they are repeated."""
        self.source = FolderSource(folder, folder.name)
        self.backbone = load_backbone().at(view)
        self.side = self.backbone.resolution
        self.jobs = checked_jobs(None)
        self.indices = np.arange(n_images) % len(self.source)
        ready = [self.square(index) for index in range(min(len(self.source), n_images))]
        self.ready = np.stack(ready)[self.indices]
        self.together()
        self.inference()

    def together(self) -> np.ndarray:
        """Features from files, by the engine."""
        return Extractor(self.backbone, self.jobs).read(self.source, self.indices).features

    def inference(self) -> None:
        """The ONNX session alone, on arrays in memory, one thread for each core."""
        session, name = self.backbone._session(), self.backbone.input_name
        size = min(MICRO_BATCH, MICRO_BATCH_PIXELS // self.side**2)
        with ThreadPoolExecutor(self.jobs) as threads:
            batches = (self.ready[at : at + size] for at in range(0, len(self.ready), size))
            for _ in threads.map(lambda batch: session.run(None, {name: batch}), batches):
                pass

    def decoding(self) -> None:
        """Files to squares by our own decoder, one thread for each core."""
        self._spread(self.square)

    def plain_decoding(self) -> None:
        """Files to squares the usual way: every image decoded at full size."""
        self._spread(self._plain_square)

    def square(self, index: int) -> np.ndarray:
        """One image as the backbone wants it."""
        return decode_squares(self.source.fetch(int(index)), "image", (self.side,))[0]

    def _plain_square(self, index: int) -> np.ndarray:
        image = Image.open(io.BytesIO(self.source.fetch(int(index)))).convert("RGB")
        return np.asarray(image.resize((self.side, self.side), Image.Resampling.BILINEAR))

    def _spread(self, function) -> None:
        with ThreadPoolExecutor(self.jobs) as threads:
            for _ in threads.map(function, self.indices):
                pass


def both_clocks(work: Callable[[], object]) -> tuple[float, float]:
    """The wall-clock time of some work, and the processor time of all threads."""
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - start_cpu


def small(effort: Effort) -> list[Row]:
    """JPEGs of 64 x 64 pixels: the engine against the ONNX session alone."""
    n_images = effort.images(2048, least=64)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(small_jpegs(Path(folder) / "small", n_images), n_images)
        works = {"engine": engine.together, "bare": engine.inference, "decode": engine.decoding}
        spent = interleaved(works, effort.rounds(11), both_clocks)
    times = {name: [wall for wall, _ in found] for name, found in spent.items()}
    of_cores = {name: [cpu for _, cpu in found] for name, found in spent.items()}
    middle, low, high = ratios(times["bare"], times["engine"])
    speed = {name: n_images / statistics.median(found) for name, found in times.items()}
    by_cpu, _, _ = ratios(of_cores["bare"], of_cores["engine"])
    decode_ms = 1000 * statistics.median(of_cores["decode"]) / n_images
    bare_ms = 1000 * statistics.median(of_cores["bare"]) / n_images
    return [
        Row(
            "folder of 64 x 64 JPEGs, end to end, images a second",
            "the bare ONNX Runtime session on ready arrays, same threads",
            middle,
            low,
            high,
            f"{speed['engine']:.0f} / {speed['bare']:.0f} images/s",
            at_least=0.9,
            note=f"In processor time: {by_cpu:.2f}; {bare_ms:.2f} ms an image for the session, "
            f"{decode_ms:.2f} ms for decoding alone. Both want the same cores.",
        )
    ]


def photos(effort: Effort) -> list[Row]:
    """JPEGs of 300 x 300 pixels seen at 224 pixels by both layers: the engine and the session."""
    n_images = effort.images(512, least=64)
    with tempfile.TemporaryDirectory() as folder:
        source = small_jpegs(Path(folder) / "photos", n_images // 4, side=300)
        engine = Engine(source, n_images, View(224, "both"))
        works = {"engine": engine.together, "bare": engine.inference, "decode": engine.decoding}
        spent = interleaved(works, effort.rounds(7), both_clocks)
    of_cores = {name: [cpu for _, cpu in found] for name, found in spent.items()}
    ms = {name: 1000 * statistics.median(found) / n_images for name, found in of_cores.items()}
    return [
        Row(
            "folder of 300 x 300 JPEGs at 224 pixels, both layers, processor time",
            "the bare ONNX Runtime session on ready arrays, same threads",
            *ratios(of_cores["bare"], of_cores["engine"]),
            f"{ms['engine']:.1f} / {ms['bare']:.1f} ms an image",
            at_least=0.85,
            note=f"Decoding alone takes {ms['decode']:.1f} ms an image.",
        )
    ]


def large(effort: Effort) -> list[Row]:
    """JPEGs of 2000 x 1500 pixels: the engine against the slower of its two halves."""
    n_files = effort.images(48, least=4)
    n_images = 6 * n_files
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(large_jpegs(Path(folder) / "large", n_files), n_images)
        works = {
            "engine": engine.together,
            "bare": engine.inference,
            "decode": engine.decoding,
            "plain": engine.plain_decoding,
        }
        times = interleaved(works, effort.rounds(7))
    speed = {name: n_images / statistics.median(found) for name, found in times.items()}
    slower = [max(pair) for pair in zip(times["bare"], times["decode"], strict=True)]
    both = [sum(pair) for pair in zip(times["bare"], times["decode"], strict=True)]
    plain = [max(pair) for pair in zip(times["bare"], times["plain"], strict=True)]
    ceiling = statistics.median(a / b for a, b in zip(slower, both, strict=True))
    what = "folder of 2000 x 1500 JPEGs, end to end, images a second"
    shown = f"{speed['engine']:.0f} / {min(speed['bare'], speed['decode']):.0f} images/s"
    shown_both = f"{speed['engine']:.0f} / {1 / (1 / speed['bare'] + 1 / speed['decode']):.0f}"
    shown_plain = f"{speed['engine']:.0f} / {min(speed['plain'], speed['bare']):.0f} images/s"
    return [
        Row(
            what,
            "the slower of decoding alone (our decoder) and inference alone, same threads",
            *ratios(slower, times["engine"]),
            shown,
            at_least=0.9,
            note=f"Decoding {speed['decode']:.0f}, inference {speed['bare']:.0f} images/s. Each "
            f"alone has all cores and together they share them, so that {ceiling:.2f} is the "
            "highest value possible; see the next line.",
        ),
        Row(
            what,
            "both halves one after the other, each on all cores",
            *ratios(both, times["engine"]),
            f"{shown_both} images/s",
            at_least=0.9,
        ),
        Row(
            what,
            "the slower of plain decoding (Pillow at full size) and inference alone, same threads",
            *ratios(plain, times["engine"]),
            shown_plain,
            at_least=0.9,
            note=f"Plain decoding runs at {speed['plain']:.0f} images/s.",
        ),
    ]
