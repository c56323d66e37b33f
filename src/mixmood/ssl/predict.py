"""Classifying images with a trained model's ONNX file; torch is not needed."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.errors import InputError, ShapeError, UnreadableImageError, errors_as
from mixmood.core.files import csv_text
from mixmood.core.listener import Listener
from mixmood.core.text import counted
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import FeatureSource, ImageSource
from mixmood.features.backbones.backbone import Backbone, viewed
from mixmood.features.backbones.devices import CPU, check_device, is_surely_cpu, open_on_device
from mixmood.features.backbones.onnx_graph import has_external_data
from mixmood.features.backbones.onnx_network import open_session, session_options
from mixmood.features.backbones.view import LAST
from mixmood.jobs.local import checked_jobs
from mixmood.ssl.pools import pictures_at
from mixmood.ssl.run_folder import MODEL

INPUT = "images"
METADATA = "mixmood"
BATCH = 128
N_NAMED = 3
"""How many classes `repr` names."""
MOST_PIXELS = 4096**2
"""Models for larger images are refused: a whole batch must fit in memory."""


@dataclass(frozen=True, repr=False)
class Predictions:
    """The class probabilities of each readable image."""

    images: tuple[str, ...]
    probabilities: NDArray[np.float32]
    """Shape (n, classes)."""
    class_names: tuple[str, ...]
    unreadable: tuple[str, ...]
    typicality: NDArray[np.float32] | None = None
    """How much each image resembles the labelled ones, shape (n,); None for networks."""
    threshold: float | None = None
    """95 % of the labelled images are at least this typical."""
    device: str = CPU
    """The device that computed the predictions."""

    @property
    def classes(self) -> list[str]:
        """The most likely class of each image."""
        return [self.class_names[code] for code in self.probabilities.argmax(axis=1)]

    @property
    def is_none(self) -> NDArray[np.bool_]:
        """Which images are none of the classes: less typical than the threshold, shape (n,)."""
        if self.typicality is None or self.threshold is None:
            return np.zeros(len(self.images), dtype=bool)
        return np.asarray(self.typicality < self.threshold)

    def __repr__(self) -> str:
        """One line: how many images, and the commonest classes."""
        common = ", ".join(f"{name} {n}" for name, n in Counter(self.classes).most_common(N_NAMED))
        return f"<Predictions: {counted(len(self.images), 'image')}: {common}>"

    def to_csv(self) -> str:
        """One line for each image: its name, its class, the confidence, every probability.

        If the model gives typicality, also that, and whether the image is none of the classes.
        """
        columns = ["image", "class", "confidence", *(f"p_{n}" for n in self.class_names)]
        rows = [
            [image, name, f"{row.max():.6f}", *(f"{p:.6f}" for p in row)]
            for image, name, row in zip(self.images, self.classes, self.probabilities, strict=True)
        ]
        if self.typicality is not None:
            columns += ["typicality", "none_of_these"]
            for row, value, is_none in zip(rows, self.typicality, self.is_none, strict=True):
                row += [f"{value:.6f}", str(int(is_none))]
        return csv_text(columns, rows)


class Classifier:
    """A trained model read from its ONNX file."""

    def __init__(
        self,
        model: str | Path | bytes,
        jobs: int | None = None,
        device: str = CPU,
        listener: Listener | None = None,
    ) -> None:
        """Open a model file, the one in the folder of a run, or its bytes; `jobs` are threads.

        A model that takes images computes on the device. A model that takes features computes on
        the CPU; its backbone computes on the device. BackboneError if a device was named and
        cannot be used.
        """
        n_threads = checked_jobs(jobs)
        self._file = "The model" if isinstance(model, bytes) else str(_file_of(Path(model)))
        with self._no_model():
            content = model if isinstance(model, bytes) else Path(self._file).read_bytes()
            if has_external_data(content):
                # A forged model could name any file of this machine.
                raise ValueError("it keeps its weights in another file")
            self._session = open_session(content, n_threads)
            known: dict[str, Any] = json.loads(
                self._session.get_modelmeta().custom_metadata_map[METADATA]
            )
            self._read(known)
        self._asked_device, self.device, self._listener = device, CPU, listener
        self.is_batch_dependent = False
        if self.input == INPUT and not is_surely_cpu(check_device(device)):
            options = session_options(n_threads)
            self._session, self.device = open_on_device(content, options, device, listener)

    def _read(self, known: dict[str, Any]) -> None:
        """Read the metadata; ValueError if a value is impossible."""
        self.class_names = tuple(str(name) for name in known["class_names"])
        self.input = str(known.get("input", INPUT))
        self._channels = int(known["channels"])
        self._backbone_name = known.get("backbone")
        self._depth = str(known.get("depth") or LAST)
        threshold, wide = known.get("threshold"), known.get("pixel_range")
        self.threshold = None if threshold is None else float(threshold)
        self.pixel_range = None if wide is None else PixelRange(**wide)
        self.size: tuple[int, int] | None = None
        if known["height"] is not None:
            self.size = int(known["height"]), int(known["width"])
            if not 0 < self.size[0] * self.size[1] <= MOST_PIXELS:
                raise ValueError(f"it claims to take images of {self.size} pixels")

    def answer(self, given: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Class probabilities, shape (n, classes), and typicality, shape (n,); None for networks.

        Args:
            given: RGB images at the size of the model, or features if `input` says so.
        """
        if self.input == INPUT and self._channels == 1:
            # Trained on grey images: their three channels are equal.
            given = given[..., :1]
        with self._no_model():
            found = self._session.run(None, {self.input: given})
            answer: NDArray[np.float32] = found[0]
            if answer.shape != (len(given), len(self.class_names)) or answer.dtype != np.float32:
                raise ValueError(f"it gives {answer.dtype} {answer.shape}")
            typical = None if len(found) < 2 else np.asarray(found[1], np.float32).reshape(-1)
            if typical is not None and typical.shape != (len(given),):
                raise ValueError(f"it gives {len(typical)} values of typicality")
            if not np.isfinite(answer).all():
                raise ValueError("its probabilities are not finite")
        return answer, typical

    @property
    def width(self) -> int | None:
        """How many features the model takes for each image; None if its file does not say."""
        shape = self._session.get_inputs()[0].shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    def backbone(self) -> Backbone:
        """The backbone that computes the features for this model."""
        from mixmood.features.backbones.registry import load_backbone

        if self._backbone_name is None or self.size is None:
            raise InputError(
                f"{self._file} was trained on features: give features of the same kind, as a 2-D "
                "array of floats."
            )
        name = str(self._backbone_name)
        backbone = load_backbone(
            name, self.size[0], self._asked_device, self._depth, listener=self._listener
        )
        self.device = getattr(backbone, "device", CPU)
        self.is_batch_dependent = backbone.is_batch_dependent
        return backbone

    def _no_model(self) -> AbstractContextManager[None]:
        start = f"{self._file} is no model written by `mixmood train`"
        return errors_as(InputError, start, "Give the folder of a finished run.")


def _file_of(path: Path) -> Path:
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"{file} does not exist. Give the folder that `mixmood train --out` wrote."
        )
    return file


Answers = tuple[NDArray[np.float32], NDArray[np.float32] | None]


def classified(
    classifier: Classifier, source: ImageSource, kept: list[int], progress: Listener
) -> Iterator[Answers]:
    """Answers batch by batch, in reading order; the rows of the images are appended to `kept`."""
    backbone = None if classifier.input == INPUT else classifier.backbone()
    if classifier.size is None:
        raise InputError(f"{source.name} holds images; this model takes features.")
    task = f"classifying {source.name}"
    progress.start(task, len(source))
    order = source.reading_order(np.arange(len(source)))
    for start in range(0, len(source), BATCH):
        rows = order[start : start + BATCH]
        pictures = []
        read = pictures_at(source, rows.tolist(), classifier.size)
        for row, (picture, _) in zip(rows.tolist(), read, strict=True):
            if not isinstance(picture, UnreadableImageError):
                kept.append(row)
                pictures.append(picture)
        if pictures:
            pixels = np.stack(pictures)
            yield classifier.answer(pixels if backbone is None else viewed(backbone, pixels))
        progress.advance(task, len(rows))
    progress.finish(task)


def classified_features(classifier: Classifier, source: FeatureSource) -> Answers:
    """The answers for all rows of a pool of features."""
    if classifier.input == INPUT:
        raise InputError(f"{source.name} holds features; images are needed to classify.")
    if classifier.width not in (None, source.width):
        raise ShapeError(
            f"{source.name} has {source.width} features for each image, and the model takes "
            f"{classifier.width}. Extract them as those of the labelled images."
        )
    features = np.asarray(source.features(np.arange(len(source))), np.float32)
    return classifier.answer(features)
