"""`mixmood.predict`: the class of every image of a pool; torch is not needed."""

from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.errors import InputError
from mixmood.core.files import data_frame
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.data.images.pool import FeatureSource, Pool, poor_range, scaled
from mixmood.data.open import open_pool
from mixmood.features.extract import Extractor
from mixmood.features.sample import pixel_warnings, unreadable_warning
from mixmood.ssl import predict as models
from mixmood.ssl.plan import PredictionPlan
from mixmood.ssl.predict import Answers, Classifier, Predictions


class PredictReport(Predictions):
    """Predictions, also as a table of pandas."""

    def to_dataframe(self) -> Any:
        """A row for each image: its name, its class, every probability, and perhaps typicality."""
        rows: list[dict[str, object]] = [
            {"image": image, "class": name, "confidence": float(row.max())}
            | {f"p_{one}": float(p) for one, p in zip(self.class_names, row, strict=True)}
            for image, name, row in zip(self.images, self.classes, self.probabilities, strict=True)
        ]
        if self.typicality is not None:
            for own, value, is_none in zip(rows, self.typicality, self.is_none, strict=True):
                own |= {"typicality": float(value), "none_of_these": bool(is_none)}
        return data_frame(rows)


@with_options(PredictionPlan)
def predict(
    model: str | Path | bytes,
    images: Any,
    *,
    plan: PredictionPlan,
    listener: Listener | None = None,
) -> PredictReport:
    """The class of every readable image of a pool.

    Args:
        model: The folder of a finished run, its `model.onnx`, or the bytes of that file.
        images: Anything that `rank` takes as a pool of images.
    """
    listener = listener or Silent()
    classifier = Classifier(model, plan.jobs, plan.device, listener)
    source = scaled(open_pool(images), classifier.pixel_range)
    if classifier.input == models.INPUT:
        answers = _of_images(classifier, source, listener)
    else:
        answers = _of_features(classifier, source, plan, listener)
    return PredictReport(
        tuple(map(source.locate, answers.rows.tolist())),
        answers.probabilities,
        classifier.class_names,
        _missing(source, answers),
        answers.typicality,
        classifier.threshold,
        classifier.device,
    )


def _of_images(classifier: Classifier, source: Pool, listener: Listener) -> Answers:
    if isinstance(source, FeatureSource):
        raise InputError(f"{source.name} holds features; images are needed to classify.")
    n_tried, n_poor = poor_range(source)
    for text in (*source.notes, *pixel_warnings(n_tried, 0, n_poor, source.pixel_range)):
        listener.warn(f"{source.name}: {text}")
    answers = models.classified(classifier, source, listener)
    for text in unreadable_warning(len(source), _missing(source, answers)):
        listener.warn(f"{source.name}: {text}")
    return answers


def _missing(source: Pool, answers: Answers) -> tuple[str, ...]:
    rows = np.setdiff1d(np.arange(len(source)), answers.rows).tolist()
    return tuple(map(source.locate, rows))


def _of_features(
    classifier: Classifier, source: Pool, plan: PredictionPlan, listener: Listener
) -> Answers:
    """The backbone is no part of such a model: features are read as everywhere."""
    backbone = None if isinstance(source, FeatureSource) else classifier.backbone()
    sample = Extractor(backbone, plan.jobs, None, listener).read(source).not_empty()
    for text in (*getattr(source, "notes", ()), *sample.warnings):
        listener.warn(f"{source.name}: {text}")
    if backbone is not None and backbone.is_batch_dependent:
        listener.warn(
            "The features of this backbone depend on the other images of a batch: the class of an "
            "image can change with the images that it is classified with."
        )
    return models.classified_features(classifier, sample)
