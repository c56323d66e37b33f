"""Options that do not fit a head."""

import pytest

from mixmood.api.train import train
from mixmood.core.errors import OptionError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "fixmatch"}, "fixmatch trains networks. Give --model wrn-thin, or one of"),
        ({"algorithm": "mixmatsch"}, "Unknown algorithm 'mixmatsch'. Did you mean 'mixmatch'"),
        ({"algorithm": "propagation"}, "propagation needs unlabelled images; got none"),
        ({"epochs": 3}, "epochs is an option of --model wrn-thin; the model is 'head'"),
        ({"settings": {"gamma": 1.0}}, "settings is an option of --model wrn-thin"),
        ({"model": "wrn-tiny", "pool_limit": 3}, "pool_limit is an option of --model head"),
        ({"pool_limit": 0}, "pool_limit must be at least 1"),
        ({"backbone": "resnet"}, "Unknown backbone 'resnet'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(photos, options, message):
    with pytest.raises(OptionError, match=message):
        train(photos / "labelled", **options)
