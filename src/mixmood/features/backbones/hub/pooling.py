"""From the output of a model to one vector for each image."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

EMBEDDING, POOLED = "image embedding", "pooled output"
CLASS_TOKEN, PATCHES = "class token", "mean of patches"


def possible_poolings(output: Any, has_pooler: bool, has_class_token: bool) -> list[str]:
    """The ways to turn an output into a vector, the best first."""
    ways = []
    if getattr(output, "image_embeds", None) is not None:
        ways.append(EMBEDDING)
    if getattr(output, "pooler_output", None) is not None and has_pooler:
        ways.append(POOLED)
    if getattr(output, "last_hidden_state", None) is not None:
        ways.append(CLASS_TOKEN if has_class_token else PATCHES)
    return ways


def vector_of(output: Any, pooling: str) -> NDArray[np.float32]:
    """The features of a batch by one of these poolings, shape (n, d)."""
    if pooling == EMBEDDING:
        found = output.image_embeds
    elif pooling == POOLED:
        found = output.pooler_output.flatten(1)
    elif pooling == CLASS_TOKEN:
        found = output.last_hidden_state[:, 0]
    else:
        states = output.last_hidden_state
        found = states.float().mean(dim=(2, 3) if states.ndim == 4 else 1)
    return np.asarray(found.float().cpu().numpy(), np.float32)


def as_output(found: Any) -> Any:
    """The result of `get_image_features` as an output with an image embedding.

    It is a tensor in some versions of transformers; in others, an output that holds it as the
    pooled output.
    """
    from types import SimpleNamespace

    vector = getattr(found, "pooler_output", found)
    return SimpleNamespace(image_embeds=vector, keys=lambda: ["image_embeds"])
