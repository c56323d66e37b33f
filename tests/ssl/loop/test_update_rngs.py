"""The generators of updates."""

from mixmood.core.seeds import rng_for
from mixmood.ssl.loop.update_rngs import AHEAD, Draws


def test_draws_depend_on_seed_update_and_purpose_alone():
    """In whatever order they are asked for, and however often."""
    draws = Draws(7)
    asked = [(0, "mixup"), (0, "labelled"), (1, "mixup"), (AHEAD, "mixup"), (0, "mixup")]
    for update, purpose in asked:
        expected = rng_for(7, "update", update, purpose).random(3)
        assert (draws(update, purpose).random(3) == expected).all()
