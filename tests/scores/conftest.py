import numpy as np
import pytest


class World:
    """Three classes far from the origin, and foreign images in another direction."""

    width = 24

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.offset = self.rng.normal(size=self.width) * 3
        self.means = self.rng.normal(size=(3, self.width))
        self.foreign_mean = self.rng.normal(size=self.width) * 1.5

    def useful(self, n):
        codes = np.arange(n) % 3
        noise = self.rng.normal(size=(n, self.width)) * 0.6
        return self.offset + self.means[codes] + noise, codes

    def foreign(self, n):
        noise = self.rng.normal(size=(n, self.width)) * 0.6
        return self.offset + self.foreign_mean + noise


@pytest.fixture
def world():
    return World()


@pytest.fixture
def worlds():
    """Ten worlds: one draw of 40 labelled images says little."""
    return [World(seed) for seed in range(10)]
