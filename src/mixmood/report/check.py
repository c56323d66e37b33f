"""A checked labelled set for its readers: lines of text, CSV and page."""

from collections.abc import Mapping, Sequence
from typing import Any

from mixmood.core.files import csv_text
from mixmood.core.records.check import LABEL, Finding, LabelCheck
from mixmood.core.text import counted
from mixmood.report.page import render
from mixmood.report.text import printable, seen_at, side_by_side

N_SHOWN = 10  # findings in the table of the terminal
LONGEST = 48
COLUMNS = ("path", "label", "suggested", "score", "flag", "check", "why")


def headline(record: LabelCheck) -> str:
    """How many images are flagged."""
    n_flagged, images = record.n_flagged, counted(record.n_images, "image")
    if not n_flagged:
        return f"Nothing is flagged among {images}."
    return f"{n_flagged:,} of {images} should be looked at."


def gain_sentence(record: LabelCheck) -> str:
    """What the set would gain without the flagged labels; empty if it was not measured."""
    found = record.without_flagged
    if found is None:
        return ""
    low, high = (100 * end for end in found.gain.interval)
    advice = "Leaving them out does not help: many may be difficult images with right labels."
    if found.gain.value > 0:
        advice = "Correcting them brings more than leaving them out."
    before, after, gain = (100 * one.value for one in (found.before, found.after, found.gain))
    return (
        f"Without the flagged labels, accuracy on held-out images goes from {before:.1f} % to "
        f"{after:.1f} % ({gain:+.1f} points, {low:+.1f} to {high:+.1f}). {advice}"
    )


def check_text(record: LabelCheck) -> str:
    """The sentences of all checks, and a table of the worst images."""
    lines = [f"{printable(record.labelled)}: {headline(record)}{seen_at(record.view)}"]
    lines += [f"  {one.name}: {printable(one.sentence)}" for one in record.checks]
    if sentence := gain_sentence(record):
        lines.append(sentence)
    worst = record.findings[:N_SHOWN]
    if worst:
        rows = [["score", "check", "label", "suggested", "path"]]
        for one in worst:
            names = map(_short, (one.label, one.suggested or "-", one.path))
            rows.append([f"{one.score:.2f}", one.check, *names])
        lines += ["", *side_by_side(rows)]
    if n_more := len(record.findings) - len(worst):
        lines.append(f"... and {n_more:,} more: --csv FILE or --html FILE has all of them.")
    lines += [f"Note: {printable(text)}" for text in record.warnings]
    return "\n".join(lines)


def _short(text: str) -> str:
    """A name for the table; the end of a long path says more than its start."""
    shown = printable(text)
    return shown if len(shown) <= LONGEST else f"...{shown[3 - LONGEST :]}"


def check_rows(record: LabelCheck) -> list[dict[str, Any]]:
    """The findings, then all other images with the score of their label; the worst first."""
    flagged = {one.index for one in record.findings if one.check == LABEL}
    others = [
        vars(one) | {"score": one.scores.get(LABEL, 0.0), "flag": False, "check": LABEL, "why": ""}
        for one in record.images
        if one.index not in flagged
    ]
    rows = [*map(vars, record.findings), *sorted(others, key=lambda row: -row["score"])]
    return [{name: row[name] for name in COLUMNS} for row in rows]


def check_csv(record: LabelCheck) -> str:
    """All images, the worst first."""
    rows = check_rows(record)
    return csv_text(COLUMNS, (list((row | {"flag": int(row["flag"])}).values()) for row in rows))


def check_page(
    record: LabelCheck, pictures: Mapping[int, str | None], command: str | None = None
) -> str:
    """The page as HTML text; `pictures` are data URIs by the index of the image."""
    shown: Sequence[Finding] = [one for one in record.findings if one.index in pictures]
    return render(
        "check/check.html",
        record.to_json(),
        {
            "record": record,
            "verdict": headline(record),
            "gain": gain_sentence(record),
            "shown": shown or record.findings[:N_SHOWN],
            "pictures": pictures,
            "command": command,
        },
    )
