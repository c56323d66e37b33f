"""Records made by hand, and a test bed that runs in seconds."""

import json

import pytest
from fuzz.tiny_bed import TINY

from mixmood.testbed.config import parse_config
from mixmood.testbed.store import Store


@pytest.fixture
def tiny():
    return parse_config(TINY, "tiny")


@pytest.fixture
def tiny_file(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def make_record():
    """Makes a record of a run with accuracies and distances told."""

    def make(
        task="digits",
        source="gaussian",
        percent=100.0,
        n_labelled=10,
        seed=0,
        accuracy=0.5,
        distances=None,
        algorithm="mixmatch",
        p_value=0.0025,
    ):
        run = {
            "task": task,
            "source": source,
            "percent": float(percent),
            "n_labelled": n_labelled,
            "algorithm": algorithm,
            "contamination": "fixed-total",
            "seed": seed,
        }
        epoch = {
            "epoch": 1,
            "test_accuracy": accuracy,
            "validation_accuracy": accuracy,
            "loss": 1.0,
            "loss_labelled": 1.0,
            "loss_unlabelled": None,
            "pseudo_label_shares": None,
        }
        found = distances or {"cosine": 1.0}
        measured = {
            name: {
                "distance": value,
                "spread": 0.1,
                "signed": value,
                "p_wilcoxon": 0.1,
                "p_permutation": p_value,
            }
            for name, value in found.items()
        }
        return {
            "schema": 1,
            "mixmood": "0.1.0",
            "versions": {"numpy": "2"},
            "key": f"{abs(hash(json.dumps(run))):020x}"[:20],
            "run": run,
            "data": "d",
            "classes": ["0", "1"],
            "training": {"epochs": [epoch]},
            "accuracy": dict.fromkeys(("best", "last", "median", "validation"), accuracy),
            "distances": None if algorithm.startswith("supervised") else measured,
            "times": {"total_s": 1.0},
        }

    return make


@pytest.fixture
def store(tmp_path, tiny):
    return Store.make(tmp_path / "store", tiny)
