"""The folder of a run: the names of its files, whether it may be used, its checkpoints."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixmood.core.errors import OptionError, OutputError, TrainingError
from mixmood.core.files import make_folder, sweep, write_atomic
from mixmood.core.text import dotted

CHECKPOINT = "checkpoint.pt"
METRICS = "metrics.jsonl"
WEIGHTS = "model.pt"
MODEL = "model.onnx"
CURVES = "curves.png"
RECORD = "record.json"
REPORT = "report.html"
ALL = (CHECKPOINT, METRICS, WEIGHTS, MODEL, CURVES, RECORD, REPORT)

SCHEMA = 1
MOST_THREADS = 1024
NAMED = 4  # how many differences a message names


def prepare_folder(folder: Path | None, resume: bool, *, is_head: bool = False) -> None:
    """Make the folder of a run; refuse one that holds another run, or one of the other kind."""
    if folder is None and resume:
        raise OptionError("resume needs the folder of the run to go on with; got none.")
    if folder is None:
        return
    make_folder(folder)
    found = {name for name in ALL if (folder / name).exists()}
    is_network = not found.isdisjoint((CHECKPOINT, WEIGHTS))
    if is_network if is_head else (MODEL in found and not is_network):
        own, other = ("head", "network") if is_head else ("network", "head")
        raise OutputError(
            f"The folder {folder} holds the run of a {other}, which a {own} would overwrite. Give "
            "--model as in that run, or choose another folder."
        )
    if found and not resume:
        go_on = "Go on with it by" if CHECKPOINT in found else "Train it again with"
        raise OutputError(
            f"The folder {folder} holds a run already. {go_on} --resume, or choose another folder."
        )
    sweep(folder, *ALL)


def save_checkpoint(folder: Path, state: dict[str, Any], configuration: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all; tensors and plain values only."""
    import torch

    buffer = io.BytesIO()
    content = state | {"schema": SCHEMA, "configuration": json.dumps(configuration)}
    torch.save(content, buffer)
    write_atomic(folder / CHECKPOINT, buffer.getvalue())


def load_checkpoint(folder: Path, configuration: dict[str, Any]) -> dict[str, Any] | None:
    """The checkpoint in a folder, None if there is none; refuses one of another configuration."""
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        found = json.loads(state["configuration"])
        # Not compared: a run that goes on keeps its number, unless another one is asked for.
        state["n_threads"] = int(found.pop("threads"))
        if not 1 <= state["n_threads"] <= MOST_THREADS:
            raise ValueError("its number of threads is impossible")
        schema = state["schema"]
        differing = differences(found, json.loads(json.dumps(configuration)))
    except Exception as error:
        # torch.load raises errors of many classes for damaged or forged files. Its messages advise
        # to load them without checks, so they are not passed on.
        raise unreadable_checkpoint(folder, type(error).__name__) from error
    if schema != SCHEMA or differing:
        raise TrainingError(
            f"The checkpoint {path} belongs to another run: it differs in "
            f"{', '.join(differing[:NAMED]) or 'its format'}. Give the options of that run, or "
            "another output folder."
        )
    return state


def unreadable_checkpoint(folder: Path, reason: str) -> TrainingError:
    """The error for a damaged file, or one that is not a checkpoint."""
    return TrainingError(
        f"The checkpoint {folder / CHECKPOINT} cannot be read ({reason}). Delete it to begin again."
    )


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Where two configurations differ, such as `settings.gamma (25.0 there, 10.0 here)`."""
    there, here = dict(dotted(found)), dict(dotted(wanted))
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    return [f"{name} ({there.get(name)} there, {here.get(name)} here)" for name in sorted(names)]
