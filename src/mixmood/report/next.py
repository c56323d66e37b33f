"""The images that are worth a label, as lines of text."""

from mixmood.core.records.next import AskedPool, Proposals
from mixmood.report.text import count, in_view, printable

MOST_SHOWN = 10
"""Images in the lines; the list has them all."""


def next_lines(record: Proposals) -> list[str]:
    """What to do, the first images with their reasons, and where they come from."""
    seen = f" Seen at {in_view(record.view)}." if record.view else ""
    lines = [printable(record.answer) + seen]
    for number, one in enumerate(record.images[:MOST_SHOWN], start=1):
        lines.append(f"{number:>4}  {printable(one.path)}  {printable(one.reason)}")
    if len(record.images) > MOST_SHOWN:
        lines.append(f"      and {len(record.images) - MOST_SHOWN} more")
    lines += [_pool_line(pool) for pool in record.pools]
    return lines + [f"Note: {printable(warning)}" for warning in record.warnings]


def _pool_line(pool: AskedPool) -> str:
    share = pool.useful_share
    gain = "" if pool.gain is None else f"; without labels: {pool.gain:+.1f} points, {pool.advice}"
    note = f" {share.note}" if share.note else ""
    proposed = f"{count(pool.n_proposed)} of {count(pool.n_images)} images"
    useful = f"{share.share:.0%} ({share.interval[0]:.0%} to {share.interval[1]:.0%})"
    return f"{printable(pool.name)}: {proposed}; useful share {useful}{gain}.{note}"
