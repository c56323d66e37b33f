"""From what a model gives for an image to one vector."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

EMBEDDING, POOLED = "image embedding", "pooled output"
CLASS_TOKEN, PATCHES = "class token", "mean of patches"


def ways_of(output: Any, is_pooler_there: bool, has_class_token: bool) -> list[str]:
    """Ways to make a vector of an output, the best first."""
    ways = []
    if getattr(output, "image_embeds", None) is not None:
        ways.append(EMBEDDING)
    if getattr(output, "pooler_output", None) is not None and is_pooler_there:
        ways.append(POOLED)
    if getattr(output, "last_hidden_state", None) is not None:
        ways.append(CLASS_TOKEN if has_class_token else PATCHES)
    return ways


def vector_of(output: Any, pooling: str) -> NDArray[np.float32]:
    """The features of a batch by one of these ways, shape (n, d)."""
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
    """What `get_image_features` gave, as an output with an embedding; some give the tensor alone.

    It is the pooled output where transformers gives a whole output.
    """
    from types import SimpleNamespace

    vector = getattr(found, "pooler_output", found)
    return SimpleNamespace(image_embeds=vector, keys=lambda: ["image_embeds"])
