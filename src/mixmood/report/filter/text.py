"""A filtered pool in a few lines."""

from mixmood.core.records.filtering import Filtering, GainInterval
from mixmood.report.charts.numbers import count, number
from mixmood.report.charts.printable import printable


def kept_sentence(record: Filtering) -> str:
    """How much of the pool is kept."""
    part = f" ({record.n_kept / record.n_images:.0%})" if record.n_images else ""
    kept, of_all = count(record.n_kept), count(record.n_images)
    return f"{kept} of {of_all} images of {printable(record.pool)} kept{part}."


def filter_lines(record: Filtering) -> list[str]:
    """How many images were kept, why the others were not, and the expected effect."""
    share = record.useful_share
    low, high = share.interval
    lines = [
        kept_sentence(record),
        f"Useful share: {share.share:.0%} ({low:.0%} to {high:.0%})."
        + (f" {share.note}" if share.note else ""),
    ]
    if record.threshold is not None and record.typical is not None:
        lines.append(
            f"A kept image scores at least {number(record.threshold)}, as {record.typical:.0%} of "
            "your labelled images do."
        )
    if record.reasons:
        dropped = ", ".join(f"{count(n)} {reason}" for reason, n in record.reasons.items())
        lines.append(f"Dropped: {dropped}.")
    if record.distance is not None:
        whole, own = record.distance.whole, record.distance.kept
        lines.append(
            f"Distance to the labelled images ({record.distance.measure}): "
            f"{number(whole.distance)} whole pool, {number(own.distance)} kept part."
        )
    if record.probe is not None:
        lines.append(
            f"Expected gain of the head {record.probe.algorithm}: "
            f"{_gain(record.probe.whole)} whole pool, {_gain(record.probe.kept)} kept part."
        )
    if record.classes is not None and record.n_kept:
        shown = ", ".join(f"{printable(name)} {count(n)}" for name, n in record.classes.items())
        lines.append(f"Classes of the kept images: {shown}.")
    lines += [f"Note: {warning}" for warning in record.warnings]
    return lines


def _gain(gain: GainInterval) -> str:
    low, high = gain.interval
    return f"{gain.gain:+.1f} points ({low:+.1f} to {high:+.1f})"
