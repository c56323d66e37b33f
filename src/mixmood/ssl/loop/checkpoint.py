"""Checkpoints: everything that a run needs to continue with the same results."""

import io
import json
from pathlib import Path
from typing import Any

import torch

from mixmood.core.errors import OptionError, OutputError, TrainingError
from mixmood.core.files.atomic import sweep, write_atomic
from mixmood.core.files.places import make_folder
from mixmood.ssl.loop.configuration import differences
from mixmood.ssl.output.run_files import ALL, CHECKPOINT, MODEL, WEIGHTS

SCHEMA = 1
NAMED = 4
"""How many differences a message names."""


def open_folder(
    folder: Path | None, configuration: dict[str, Any], resume: bool
) -> dict[str, Any] | None:
    """Make the folder of a run; returns its checkpoint if the run is to be resumed from one."""
    prepare_folder(folder, resume)
    return load_checkpoint(folder, configuration) if resume and folder is not None else None


def prepare_folder(folder: Path | None, resume: bool) -> None:
    """Make the folder of a network; refuse one that holds another run, or the run of a head."""
    if folder is None:
        if resume:
            raise OptionError("resume needs the folder of the run to go on with; got none.")
        return
    make_folder(folder)
    has_checkpoint, has_weights, has_model = (
        (folder / name).exists() for name in (CHECKPOINT, WEIGHTS, MODEL)
    )
    if has_model and not (has_checkpoint or has_weights):
        raise OutputError(
            f"The folder {folder} holds the run of a head, which a network would overwrite. "
            "Choose another folder."
        )
    if not resume and (has_checkpoint or has_weights):
        go_on = "Go on with it by" if has_checkpoint else "Train it again with"
        raise OutputError(
            f"The folder {folder} holds a run already. {go_on} --resume, or choose another folder."
        )
    sweep(folder, *ALL)


def save(folder: Path, state: dict[str, Any], configuration: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all; tensors and plain values only."""
    buffer = io.BytesIO()
    content = state | {"schema": SCHEMA, "configuration": json.dumps(configuration)}
    torch.save(content, buffer)
    write_atomic(folder / CHECKPOINT, buffer.getvalue())


def load_checkpoint(folder: Path, configuration: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint in a folder, None if there is none; refuses one of another configuration."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        found = json.loads(state["configuration"])
        schema = state["schema"]
        wanted = json.loads(json.dumps(configuration))
        differing = differences(found, wanted)
    except Exception as error:
        # torch.load raises errors of many classes for damaged or forged files. Its messages advise
        # to load them without checks, so they are not passed on.
        raise unreadable(folder, type(error).__name__) from error
    if schema != SCHEMA or differing:
        raise TrainingError(
            f"The checkpoint {path} belongs to another run: it differs in "
            f"{', '.join(differing[:NAMED]) or 'its format'}. Give the options of that run, or "
            "another output folder."
        )
    return state


def unreadable(folder: Path, reason: str) -> TrainingError:
    """The error for a damaged file, or one that is not a checkpoint."""
    return TrainingError(
        f"The checkpoint {folder / CHECKPOINT} cannot be read ({reason}). Delete it to begin again."
    )
