"""A cluster that is not there, does not start or cannot be: each is told."""

import sys
import time
from types import SimpleNamespace

import pytest

from mixmood.core.errors import InputError, MissingExtraError, OptionError
from mixmood.jobs.cluster import RaySpread
from mixmood.jobs.local import Call

CALLS = [Call("nap", time.sleep, 0)]


@pytest.mark.parametrize("address", ["127.0.0.1:9", "auto"])
def test_a_cluster_that_does_not_answer_is_told(address):
    with pytest.raises(OptionError, match=f"No Ray cluster answers at '{address}'"):
        list(RaySpread(address)(CALLS, 0, lambda call: None))


def test_a_ray_that_does_not_start_is_an_error_with_a_way_out(monkeypatch):
    def late(**_):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=late))
    with pytest.raises(InputError, match=r"could not be started: The current node.*less busy"):
        RaySpread().connected(1)


def test_ray_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--backend ray needs.*mixmood\[cluster\]"):
        list(RaySpread()(CALLS, 1, lambda call: None))


def test_a_negative_share_of_a_gpu_is_refused():
    with pytest.raises(OptionError, match="gpus_per_run must be 0 or above; got -1"):
        RaySpread(gpus_per_run=-1)
