"""Classifying images with a trained model's ONNX file; torch is not needed."""

import json
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixmood.core.arrays import Mask, Rows
from mixmood.core.errors import InputError, ShapeError, UnreadableImageError, errors_as
from mixmood.core.files import csv_text, written
from mixmood.core.listener import Listener
from mixmood.core.text import counted
from mixmood.data.images.pixel_range import PixelRange
from mixmood.data.images.pool import ImageSource
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.devices import CPU, is_surely_cpu, open_on_device
from mixmood.features.backbones.onnx_graph import has_external_data
from mixmood.features.backbones.view import LAST
from mixmood.features.extract import batched_by
from mixmood.features.sample import Sample, no_readable_image
from mixmood.jobs.local import checked_jobs
from mixmood.ssl.pools import pictures_at
from mixmood.ssl.run_folder import MODEL

INPUT = "images"
METADATA = "mixmood"
BATCH = 128
N_NAMED = 3  # how many classes `repr` names
MOST_PIXELS = 4096**2  # models for larger images are refused: a whole batch must fit in memory


@dataclass(frozen=True, repr=False)
class Predictions:
    """The class probabilities of each readable image."""

    images: tuple[str, ...]
    probabilities: NDArray[np.float32]  # shape (n, classes)
    class_names: tuple[str, ...]
    unreadable: tuple[str, ...]
    typicality: NDArray[np.float32] | None = None  # shape (n,); None for networks
    threshold: float | None = None  # 95 % of the labelled images are at least this typical
    device: str = CPU  # the device that computed the predictions

    @property
    def classes(self) -> list[str]:
        """The most likely class of each image."""
        return [self.class_names[code] for code in self.probabilities.argmax(axis=1)]

    @property
    def is_none(self) -> Mask:
        """Which images are none of the classes: less typical than the threshold, shape (n,)."""
        if self.typicality is None or self.threshold is None:
            return np.zeros(len(self.images), dtype=bool)
        return self.typicality < self.threshold

    def __repr__(self) -> str:
        """One line: how many images, and the commonest classes."""
        common = [f"{name} {n}" for name, n in Counter(self.classes).most_common(N_NAMED)]
        return f"<Predictions: {counted(len(self.images), 'image')}: {', '.join(common)}>"

    def to_csv(self, path: str | Path | None = None) -> str:
        """One line an image: class, probabilities, typicality; also written to `path`, if given."""
        columns = ["image", "class", "confidence", *(f"p_{n}" for n in self.class_names)]
        rows = [
            [image, name, f"{row.max():.6f}", *(f"{p:.6f}" for p in row)]
            for image, name, row in zip(self.images, self.classes, self.probabilities, strict=True)
        ]
        if self.typicality is not None:
            columns += ["typicality", "none_of_these"]
            for row, value, is_none in zip(rows, self.typicality, self.is_none, strict=True):
                row += [f"{value:.6f}", str(int(is_none))]
        return written(csv_text(columns, rows), path)


class Classifier:
    """A trained model read from its ONNX file."""

    def __init__(
        self,
        model: str | Path | bytes,
        jobs: int | None = None,
        device: str = CPU,
        listener: Listener | None = None,
    ) -> None:
        """Open a model file, that of a run's folder, or its bytes; `jobs` are threads.

        BackboneError if a device was named and cannot be used; the backbone of a model that takes
        features computes on it, too.
        """
        n_threads = checked_jobs(jobs)
        self._file = "The model" if isinstance(model, bytes) else str(_file_of(Path(model)))
        with self._no_model():
            content = model if isinstance(model, bytes) else Path(self._file).read_bytes()
            if has_external_data(content):
                # A forged model could name any file of this machine.
                raise ValueError("it keeps its weights in another file")
            self._session, self.device = open_on_device(content, n_threads=n_threads)
            self._read(json.loads(self._session.get_modelmeta().custom_metadata_map[METADATA]))
        self._asked_device, self._listener = device, listener
        if self.input == INPUT and not is_surely_cpu(device):
            self._session, self.device = open_on_device(content, device, listener, n_threads)

    def _read(self, known: dict[str, Any]) -> None:
        """Read the metadata; ValueError if a value is impossible."""
        self.class_names = tuple(map(str, known["class_names"]))
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
        """Class probabilities (n, classes) and typicality (n,), None for networks, of the input."""
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
        found = load_backbone(
            str(self._backbone_name), self.size[0], self._asked_device, self._depth, self._listener
        )
        self.device = found.device
        return found

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


@dataclass(frozen=True)
class Answers:
    """What a model says of the readable images of a pool, in its order."""

    rows: Rows
    probabilities: NDArray[np.float32]  # shape (n, classes)
    typicality: NDArray[np.float32] | None  # shape (n,)


def classified(classifier: Classifier, source: ImageSource, progress: Listener) -> Answers:
    """The answers of a model that takes images."""
    if classifier.size is None:
        raise InputError(f"{source.name} holds images; this model takes features.")
    task = f"classifying {source.name}"
    progress.start(task, len(source))
    order, parts = source.reading_order(np.arange(len(source))).tolist(), []
    rows: list[int] = []
    for some in batched_by(order, BATCH):
        read = zip(some, pictures_at(source, some, classifier.size), strict=True)
        kept = {row: one for row, one in read if not isinstance(one, UnreadableImageError)}
        if kept:
            rows += kept
            parts.append(classifier.answer(np.stack(list(kept.values()))))
        progress.advance(task, len(some))
    progress.finish(task)
    if not rows:
        raise no_readable_image(source.name, len(source))
    back = np.argsort(rows)
    typical = [values for _, values in parts if values is not None]
    return Answers(
        np.array(rows)[back],
        np.concatenate([found for found, _ in parts])[back],
        np.concatenate(typical)[back] if typical else None,
    )


def classified_features(classifier: Classifier, sample: Sample) -> Answers:
    """The answers of a model that takes features."""
    features = np.asarray(sample.features, np.float32)
    if classifier.width not in (None, features.shape[1]):
        raise ShapeError(
            f"{sample.pool.name} has {features.shape[1]} features for each image, and the model "
            f"takes {classifier.width}. Extract them as those of the labelled images."
        )
    return Answers(sample.rows, *classifier.answer(features))
