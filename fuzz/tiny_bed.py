"""Test beds that take seconds, for tests, fuzzing and kills."""

TINY = """
name = "tiny"

[grid]
percents = [100]
n_labelled = [10]
seeds = 2
baselines = ["none", "supervised-epochs"]

[grid.tasks]
digits = ["other_half", "gaussian"]

[split]
n_unlabelled = 16
n_validation = 10
test_share = 0.1

[training]
model = "wrn-tiny:groups=1,first_filters=8"
epochs = 2
learning_rate = 0.002
augment = "none"

[distances]
measures = ["cosine"]
resolution = 64
sample_size = 5
draws = 2
"""

_FROZEN_GRID = '[grid]\nregimes = ["frozen"]\nalgorithms = ["mixmatch", "pseudo-label"]\n'
FROZEN = TINY.replace("[grid]\n", _FROZEN_GRID) + "\n[frozen]\nresolution = 64\n"
"""The same with heads on frozen features, which need no torch."""
