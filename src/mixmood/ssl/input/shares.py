"""Setting images aside for testing, the same share of every class."""

import numpy as np

from mixmood.core.arrays import Codes, Rows
from mixmood.core.errors import OptionError, TrainingError


def set_aside(
    codes: Codes, shares: dict[str, float], names: tuple[str, ...], rng: np.random.Generator
) -> dict[str, Rows]:
    """Rows for each named share, and the rest under `labelled`; disjoint, stratified by class.

    The images of a class for each share are rounded to a whole number of at least one. A class
    therefore needs one image for each share and one to learn from.
    """
    for what, share in shares.items():
        if not 0 < share < 1:
            raise OptionError(f"The {what} share must lie between 0 and 1; got {share:g}.")
    parts: dict[str, list[Rows]] = {"labelled": [], **{what: [] for what in shares}}
    for code, name in enumerate(names):
        rows = rng.permutation(np.flatnonzero(codes == code))
        wanted = {what: max(1, round(share * len(rows))) for what, share in shares.items()}
        n_aside = sum(wanted.values())
        if len(rows) <= n_aside:
            reasons = [f"{n} for {what}" for what, n in wanted.items()] + ["1 to learn from"]
            raise TrainingError(
                f"Class '{name}' needs at least {n_aside + 1} readable labelled images "
                f"({', '.join(reasons)}); it has {len(rows)}. Label more of them."
            )
        for what, n_images in wanted.items():
            parts[what].append(rows[:n_images])
            rows = rows[n_images:]
        parts["labelled"].append(rows)
    return {what: np.sort(np.concatenate(pieces)) for what, pieces in parts.items()}
