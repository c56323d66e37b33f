"""Work done ahead by other threads, up to a limit."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


def ordered_map(
    pool: Executor, function: Callable[[In], Out], items: Iterable[In], ahead: int
) -> Iterator[Out]:
    """Results in the order of the items, with at most `ahead` of them begun and not yet taken.

    `Executor.map` would take all items at once; here a slow consumer stops the producers.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(ordered_map(pool, abs, [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    begun: deque[Future[Out]] = deque()
    for item in items:
        begun.append(pool.submit(function, item))
        if len(begun) >= ahead:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def batched_by(items: Iterable[In], size: int) -> Iterator[list[In]]:
    """Lists of `size` items, the last one shorter.

    >>> list(batched_by([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    batch: list[In] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
