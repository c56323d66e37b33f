"""Checkpoints: all that a run needs to go on as if it had never stopped."""

import io
import json
from pathlib import Path
from typing import Any

import torch

from mixmood.core.errors import TrainingError
from mixmood.core.files.atomic import write_atomic
from mixmood.ssl.output.run_files import CHECKPOINT

SCHEMA = 1


def save(folder: Path, state: dict[str, Any], configuration: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all; tensors and plain values only."""
    buffer = io.BytesIO()
    content = state | {"schema": SCHEMA, "configuration": json.dumps(configuration)}
    torch.save(content, buffer)
    write_atomic(folder / CHECKPOINT, buffer.getvalue())


def load(folder: Path, configuration: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint in a folder, None if there is none; refuses one of another configuration."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        found = json.loads(state["configuration"])
        schema = state["schema"]
        wanted = json.loads(json.dumps(configuration))
        differing = sorted(k for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k))
    except Exception as error:
        # The reader of damaged archives and of forged pickles raises nearly anything.
        # Its messages tell how to load them all the same: not to be handed on.
        raise unreadable(folder, type(error).__name__) from error
    if schema != SCHEMA or differing:
        raise TrainingError(
            f"The checkpoint {path} belongs to another run: it differs in "
            f"{', '.join(differing) or 'its format'}. Give the options of that run, or another "
            "output folder."
        )
    return state


def unreadable(folder: Path, reason: str) -> TrainingError:
    """The error for a checkpoint that is damaged, or is none."""
    return TrainingError(
        f"The checkpoint {folder / CHECKPOINT} cannot be read ({reason}). Delete it to begin again."
    )
