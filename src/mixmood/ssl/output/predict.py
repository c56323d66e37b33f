"""Classifying images with a trained model's ONNX file; torch is not needed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, UnreadableImageError, reason
from mixmood.core.files.spreadsheet import csv_text
from mixmood.core.progress import Progress
from mixmood.data.pools.pool import ImageSource
from mixmood.features.backbones.onnx_safety import has_external_data
from mixmood.features.backbones.runtime import onnx_runtime
from mixmood.ssl.input.pictures import read_at
from mixmood.ssl.output.run_files import MODEL

INPUT = "images"
METADATA = "mixmood"
BATCH = 128
MOST_PIXELS = 4096**2
"""No model takes larger images: a batch of them is in memory at once."""


@dataclass(frozen=True)
class Predictions:
    """The class probabilities of each readable image."""

    images: tuple[str, ...]
    probabilities: NDArray[np.float32]
    """Shape (n, classes)."""
    class_names: tuple[str, ...]
    unreadable: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        """The most likely class of each image."""
        return [self.class_names[code] for code in self.probabilities.argmax(axis=1)]

    def to_csv(self) -> str:
        """One line for each image: its name, its class, the confidence, every probability."""
        columns = ["image", "class", "confidence", *(f"p_{n}" for n in self.class_names)]
        found = zip(self.images, self.classes, self.probabilities, strict=True)
        return csv_text(
            columns,
            (
                [image, name, f"{row.max():.6f}", *(f"{p:.6f}" for p in row)]
                for image, name, row in found
            ),
        )


class Classifier:
    """A trained model read from its ONNX file."""

    def __init__(self, path: str | Path) -> None:
        """Open a model file, or the one in the folder of a run."""
        file = self._file = Path(path) / MODEL if Path(path).is_dir() else Path(path)
        if not file.is_file():
            raise InputError(
                f"{file} does not exist. Give the folder that `mixmood train --out` wrote."
            )
        try:
            model = file.read_bytes()
            if has_external_data(model):
                # Its weights could be any file of this machine.
                raise ValueError("it keeps its weights in another file")
            self._session = onnx_runtime().InferenceSession(
                model, providers=["CPUExecutionProvider"]
            )
            known: dict[str, Any] = json.loads(
                self._session.get_modelmeta().custom_metadata_map[METADATA]
            )
            self.class_names = tuple(str(name) for name in known["class_names"])
            self.size = int(known["height"]), int(known["width"])
            self._channels = int(known["channels"])
            if not 0 < self.size[0] * self.size[1] <= MOST_PIXELS:
                raise ValueError(f"it claims to take images of {self.size} pixels")
        except Exception as error:
            # ONNX Runtime raises classes of its own for a broken file.
            raise self._no_model(error) from error

    def probabilities(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Class probabilities, shape (n, classes), of RGB images at the size of the model."""
        if self._channels == 1:
            # Trained on grey images, whose three channels are one.
            pixels = pixels[..., :1]
        try:
            answer: NDArray[np.float32] = self._session.run(None, {INPUT: pixels})[0]
            if answer.shape != (len(pixels), len(self.class_names)) or answer.dtype != np.float32:
                raise ValueError(f"it gives {answer.dtype} {answer.shape}")
            if not np.isfinite(answer).all():
                raise ValueError("its probabilities are not finite")
        except Exception as error:
            raise self._no_model(error) from error
        return answer

    def _no_model(self, error: Exception) -> InputError:
        return InputError(
            f"{self._file} is no model written by `mixmood train`: {reason(error)}. "
            "Give the folder of a finished run."
        )


def classified(
    classifier: Classifier, source: ImageSource, kept: list[int], progress: Progress
) -> Iterator[NDArray[np.float32]]:
    """Probabilities batch by batch, in the order of reading; `kept` grows by their images."""
    task = f"classifying {source.name}"
    progress.start(task, len(source))
    order = source.reading_order(np.arange(len(source)))
    for start in range(0, len(source), BATCH):
        rows = order[start : start + BATCH]
        pictures = []
        read = read_at(source, rows.tolist(), classifier.size)
        for row, (picture, _) in zip(rows.tolist(), read, strict=True):
            if not isinstance(picture, UnreadableImageError):
                kept.append(row)
                pictures.append(picture)
        if pictures:
            yield classifier.probabilities(np.stack(pictures))
        progress.advance(task, len(rows))
    progress.finish(task)
