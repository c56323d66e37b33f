"""A ranking in a notebook: a small HTML table without a style sheet."""

from html import escape

from mixmood.core.records.ranking import Candidate, Ranking
from mixmood.report.charts.numbers import chance, number, p_value, signed, span
from mixmood.report.charts.printable import printable
from mixmood.report.ranking.warning_lines import warning_lines

HEADINGS = (
    "rank",
    "pool",
    "images",
    "distance",
    "95 % interval",
    "p (Holm)",
    "P(best)",
    "ranks",
    "gain",
    "advice",
)


def ranking_html(ranking: Ranking) -> str:
    """The verdict and the table of the measure that ranks, as a fragment of HTML."""
    heads = "".join(f"<th>{escape(head)}</th>" for head in HEADINGS)
    rows = "".join(_row(candidate, ranking.measure) for candidate in ranking.candidates)
    sentence = [ranking.recommendation.sentence] if ranking.recommendation else []
    warnings = warning_lines(ranking, "to_json() or to_html(FILE)")
    lines = [*sentence, *ranking.notes, *(f"! {text}" for text in warnings)]
    lines += [f"! set aside, {one.name}: {one.reason}" for one in ranking.set_aside]
    notes = "".join(f"<li>{_safe(line)}</li>" for line in lines)
    return (
        f"<div><p><b>{_safe(ranking.verdict)}</b> <small>({_safe(ranking.measure)})</small></p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</div>"
    )


def _row(candidate: Candidate, measure: str) -> str:
    result = candidate.measures[measure]
    cells = (
        candidate.rank,
        candidate.name,
        f"{candidate.n_images:,}",
        number(result.distance),
        span(*result.interval),
        p_value(result.p_holm),
        chance(candidate.p_best),
        span(*candidate.rank_interval),
        "-" if candidate.probe is None else signed(candidate.probe.gain, 1),
        candidate.advice or "-",
    )
    return "<tr>" + "".join(f"<td>{_safe(str(cell))}</td>" for cell in cells) + "</tr>"


def _safe(text: str) -> str:
    return escape(printable(text))
