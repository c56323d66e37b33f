"""The warnings of a ranking as lines: all of its own, and those of the first pools."""

from collections.abc import Iterator

from mixmood.core.records.ranking import Ranking
from mixmood.core.words import counted, either_form

MOST_POOLS = 8
"""Pools whose warnings are shown; with hundreds of pools they would hide the result."""


def warning_lines(ranking: Ranking, all_of_them: str) -> Iterator[str]:
    """All warnings of the ranking itself, those of the first pools, and the number of other pools.

    Args:
        ranking: The record.
        all_of_them: Where the reader finds the warnings that are left out.
    """
    yield from ranking.warnings
    pools = [pool for pool in ranking.candidates if pool.warnings]
    for pool in pools[:MOST_POOLS]:
        for warning in pool.warnings:
            yield f"{pool.name}: {warning}"
    n_more = len(pools) - MOST_POOLS
    if n_more > 0:
        have = either_form(n_more, "has", "have")
        yield f"{counted(n_more, 'more pool')} {have} warnings: see {all_of_them}."
