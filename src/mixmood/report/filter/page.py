"""The page of a filtered pool, drawn from its record."""

from mixmood.core.records.filter_material import FilterMaterial
from mixmood.core.records.filtering import Filtering
from mixmood.report.charts.marks import LABELLED, mark
from mixmood.report.charts.scores import score_chart
from mixmood.report.filter.text import kept_sentence
from mixmood.report.page.render import render


def filter_page(record: Filtering, material: FilterMaterial, command: str | None = None) -> str:
    """The page of a filtered pool, as HTML text.

    Args:
        record: The record.
        material: The histogram of scores and the pictures.
        command: The command that made it.
    """
    return render(
        "filter/filter.html",
        record.to_json(),
        {
            "record": record,
            "verdict": kept_sentence(record),
            "chart": score_chart(material.histogram, record.threshold),
            "galleries": material.galleries,
            "n_classes_left_out": material.n_classes_left_out,
            "labelled_mark": LABELLED,
            "pool_mark": mark(0),
            "warnings": [text for text in (record.useful_share.note, *record.warnings) if text],
            "command": command,
        },
    )
