"""`mixmood.predict`: the class of every image of a pool; torch is not needed."""

from pathlib import Path
from typing import Any

import numpy as np

from mixmood.core.files import data_frame
from mixmood.core.listener import Listener, Silent
from mixmood.core.options import with_options
from mixmood.data.images.pool import FeatureSource, poor_range
from mixmood.data.open import open_pool
from mixmood.features.sample import no_readable_image, pixel_warnings, unreadable_warning
from mixmood.ssl.plan import PredictionPlan
from mixmood.ssl.predict import Classifier, Predictions, classified, classified_features


class PredictReport(Predictions):
    """Predictions, also as a table of pandas."""

    def to_dataframe(self) -> Any:
        """A row for each image: its name, its class, the confidence, and every probability.

        If the model gives typicality, also that, and whether the image is none of the classes.
        """
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
        listener: Gets progress, warnings and notes.
    """
    listener = listener or Silent()
    classifier = Classifier(model, plan.jobs, plan.device, listener)
    source = open_pool(images)
    if isinstance(source, FeatureSource):
        found, typical = classified_features(classifier, source)
        names = tuple(f"{source.name}[{row}]" for row in range(len(source)))
        found_all = names, found, classifier.class_names, (), typical, classifier.threshold
        return PredictReport(*found_all, classifier.device)
    if classifier.pixel_range is not None:
        source = source.scaled_by(classifier.pixel_range)
    n_tried, n_poor = poor_range(source)
    for text in (*source.notes, *pixel_warnings(n_tried, 0, n_poor, source.pixel_range)):
        listener.warn(f"{source.name}: {text}")
    kept: list[int] = []
    parts = list(classified(classifier, source, kept, listener))
    if classifier.is_batch_dependent:
        listener.warn(
            "The features of this backbone depend on the other images of a batch: the class of an "
            "image can change with the images that it is classified with."
        )
    if not kept:
        raise no_readable_image(source.name, len(source))
    rows = np.array(kept)
    missing = np.setdiff1d(np.arange(len(source)), rows).tolist()
    unreadable = tuple(map(source.locate, missing))
    for text in unreadable_warning(len(source), unreadable):
        listener.warn(f"{source.name}: {text}")
    order = np.argsort(rows)
    typical_parts = [typical for _, typical in parts if typical is not None]
    return PredictReport(
        tuple(map(source.locate, rows[order].tolist())),
        np.concatenate([found for found, _ in parts])[order],
        classifier.class_names,
        unreadable,
        np.concatenate(typical_parts)[order] if typical_parts else None,
        classifier.threshold,
        classifier.device,
    )
