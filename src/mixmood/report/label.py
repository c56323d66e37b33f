"""Images that a person labels: as lines of text, as a page, and as tasks of Label Studio."""

import hashlib
import json
from collections.abc import Sequence

from mixmood.core.records.labelling import LabelTask, Proposals
from mixmood.core.version import __version__
from mixmood.data.images.labels import KEEP, LABELS_COLUMNS, NONE
from mixmood.report.page import inert_json, render
from mixmood.report.text import count, printable, seen_at


def label_page(task: LabelTask, pictures: Sequence[str | None]) -> str:
    """The page as HTML text; it needs no server and saves a CSV file.

    Without classes, the answers are keep and drop. Pictures are data URIs; None if unreadable.
    """
    record = task.to_json()
    facts = {
        "key": f"mixmood-label-{hashlib.sha256(record.encode()).hexdigest()[:32]}",
        "none": NONE,
        "keep": KEEP,
        "file": task.file,
        "columns": LABELS_COLUMNS,
        "pictures": pictures,
    }
    context = {"task": task, "facts": inert_json(json.dumps(facts)), "file": task.file}
    return render("label/label.html", record, context, "label")


def label_studio_tasks(task: LabelTask, pictures: Sequence[str | None]) -> str:
    """The images as JSON for the import of Label Studio, with the best guess as a prediction.

    The labelling interface needs an Image named `image` and Choices named `label`. An export as CSV
    then has the columns that `--labels` reads.
    """
    tasks = []
    for number, (one, picture) in enumerate(zip(task.images, pictures, strict=True)):
        image: dict[str, object] = {"image": picture, "pool": one.pool, "path": one.path}
        image |= {"index": one.index, "reason": one.note}
        way = {"from_name": "label", "to_name": "image", "type": "choices"}
        predictions = [
            {
                "model_version": f"mixmood {__version__}",
                "score": round(chance, 4),
                "result": [{"id": f"mixmood-{number}"} | way | {"value": {"choices": [name]}}],
            }
            for name, chance in one.guesses[:1]
        ]
        if picture is not None:
            tasks.append({"data": image, "predictions": predictions})
    return json.dumps(tasks, indent=1)


MOST_SHOWN = 10  # images in the lines; the list has them all


def next_lines(record: Proposals) -> list[str]:
    """What to do, the first images with their reasons, and where they come from."""
    lines = [printable(record.answer) + seen_at(record.view)]
    for number, one in enumerate(record.images[:MOST_SHOWN], start=1):
        lines.append(f"{number:>4}  {printable(one.path)}  {printable(one.reason)}")
    if len(record.images) > MOST_SHOWN:
        lines.append(f"      and {len(record.images) - MOST_SHOWN} more")
    for pool in record.pools:
        share, gain, advice = pool.useful_share, pool.gain, pool.advice
        expected = "" if gain is None else f"; without labels: {gain:+.1f} points, {advice}"
        note = f" {share.note}" if share.note else ""
        proposed = f"{count(pool.n_proposed)} of {count(pool.n_images)} images"
        lines.append(f"{printable(pool.name)}: {proposed}; useful share {share}{expected}.{note}")
    return lines + [f"Note: {printable(warning)}" for warning in record.warnings]
