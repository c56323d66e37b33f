"""`mixmood.embed`: the features of images, cached."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from mixmood.api.view_choice import largest_asked, reading
from mixmood.core.listener import Listener
from mixmood.core.options import with_options
from mixmood.data.images.pool import FeatureSource
from mixmood.data.open import open_pool
from mixmood.features.plan import ExtractionPlan


class Embedding(np.ndarray[tuple[int, ...], np.dtype[np.float32]]):
    """Features of images, shape (n, d): an array that knows its images.

    Rows that are chosen by an index, a slice or a mask keep their paths and labels. Any other
    array that is computed from it knows nothing, since its rows may be other ones.

    Attributes:
        paths: The image of each row, as its pool names it; None in computed arrays.
        labels: The class of each row; None without classes.
        unreadable: The images that could not be read and have no row.
        image_view: Backbone, resolution and depth of the features, which `embed(view=...)` takes;
            None for a pool of features.
    """

    paths: list[str] | None = None
    labels: list[str] | None = None
    unreadable: tuple[str, ...] = ()
    image_view: dict[str, Any] | None = None

    def __getitem__(self, index: Any) -> Any:
        """Some rows, which keep what is known of them; else as for any array."""
        found = super().__getitem__(index)
        is_rows = isinstance(found, Embedding) and found.ndim == 2 and not isinstance(index, tuple)
        if is_rows and self.paths is not None:
            rows = np.arange(len(self))[index].tolist()
            found.paths = [self.paths[row] for row in rows]
            found.labels = None if self.labels is None else [self.labels[row] for row in rows]
            found.unreadable, found.image_view = self.unreadable, self.image_view
        return found

    def __reduce__(self) -> Any:
        """What copies and pickles are made from: the array and what it knows."""
        make, words, state = cast("tuple[Any, Any, Any]", super().__reduce__())
        return make, words, (state, vars(self))

    def __setstate__(self, state: Any) -> None:
        """The array and what it knows."""
        array, known = state
        super().__setstate__(array)
        vars(self).update(known)


@with_options(ExtractionPlan)
def embed(
    images: Any,
    *,
    plan: ExtractionPlan,
    view: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
) -> Embedding:
    """Features of the readable images of a pool, in its order, shape (n, d).

    The array knows which image each row is; see `Embedding`. Unreadable images have no row; a
    warning names them. Of a pool of features the features are returned, as float32.

    Args:
        images: Anything that `rank` takes as a pool.
        view: The entry `view` of a record: the features are those of that command. It replaces
            backbone, resolution and depth.
    """
    if view is not None:
        plan = replace(plan, **{name: view[name] for name in ("backbone", "resolution", "depth")})
    with reading(plan, listener) as reader:
        pool = open_pool(images, seed=plan.seed, cache=reader.cache, frames=plan.frames)
        is_given = isinstance(pool, FeatureSource)
        network = None if is_given else largest_asked(plan, reader.listener)
        found = replace(reader, backbone=network).read(pool)
    for text in found.not_empty().warnings:
        reader.listener.warn(f"{pool.name}: {text}")
    rows, labels = found.rows.tolist(), pool.labels
    made = np.asarray(found.features, np.float32).view(Embedding)
    made.paths = [pool.locate(row) for row in rows]
    made.labels = None if labels is None else [labels.names[labels.codes[row]] for row in rows]
    made.unreadable = tuple(pool.locate(row) for row, _ in found.unreadable)
    if network is not None:
        made.image_view = {"backbone": plan.backbone, **network.view.describe()}
    return made
