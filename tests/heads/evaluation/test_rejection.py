import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError
from mixmood.heads.evaluation.rejection import keep_threshold


def test_the_promised_share_of_new_images_is_kept():
    """Over many draws of 40 known and 1 new confidence, at least 95 % and not many more."""
    rng = np.random.default_rng(0)
    draws = rng.beta(4, 2, (20_000, 41))
    kept = [row[40] >= keep_threshold(row[:40]) for row in draws]
    assert 0.945 < np.mean(kept) < 0.985


def test_rows_that_were_never_held_out_do_not_count():
    values = np.append(np.linspace(0.01, 0.99, 99), np.nan)
    assert keep_threshold(values) == pytest.approx(0.05)


def test_what_cannot_be_promised_is_refused():
    with pytest.raises(InputError, match="needs values of held-out images; got none"):
        keep_threshold(np.array([np.nan]))
    with pytest.raises(OptionError, match="share"):
        keep_threshold(np.ones(3), 1.5)
