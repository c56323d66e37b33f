"""The files of a test bed's store and of its configuration, as seeds."""

import json
from typing import Any

from fuzz.tiny_bed import TINY

SETTINGS = """[training.settings.mixmatch]
gamma = 10.0

"""
CONFIG = TINY.replace("[100]", "[50, 100]").replace("[distances]", f"{SETTINGS}[distances]")

DRIVER = {"n_runs": 8, "n_jobs": 1, "n_done": 3, "running": ["digits gaussian 100.0"], "host": "h"}


def store_files() -> dict[str, bytes]:
    """A store of four finished runs and a failed one, by path."""
    from mixmood.testbed.config import parse_config
    from mixmood.testbed.run import SCHEMA

    config = parse_config(CONFIG, "tiny").model_dump(mode="json")
    files: dict[str, Any] = {"store.json": {"schema": SCHEMA, "config": config}}
    cells = [("other_half", 50.0), ("other_half", 100.0), ("gaussian", 50.0), ("gaussian", 100.0)]
    for place, (source, percent) in enumerate(cells):
        record = _record(f"{place:020x}", source, percent)
        files[f"runs/{record['key']}.json"] = record
    failed = _head(f"{9:020x}", "gaussian", 100.0, 1)
    error = {"kind": "InputError", "message": "no data"}
    files[f"failed/{failed['key']}.json"] = failed | {"error": error, "times": {"total_s": 0.0}}
    files["driver.json"] = DRIVER
    return {name: json.dumps(content, indent=1).encode() for name, content in files.items()}


def _head(key: str, source: str, percent: float, seed: int) -> dict[str, Any]:
    run = {"task": "digits", "source": source, "percent": percent, "n_labelled": 10}
    run |= {"algorithm": "mixmatch", "contamination": "fixed-total", "seed": seed}
    about = {"schema": 1, "mixmood": "0.1.0", "versions": {"numpy": "2"}, "data": "d"}
    return about | {"key": key, "run": run}


def _record(key: str, source: str, percent: float) -> dict[str, Any]:
    epoch = {"epoch": 1, "test_accuracy": 0.5, "pseudo_label_shares": [0.25, 0.75]}
    names = ("distance", "spread", "signed", "p_wilcoxon", "p_permutation")
    return _head(key, source, percent, 0) | {
        "classes": ["0", "1"],
        "training": {"epochs": [epoch]},
        "accuracy": {"best": 0.6, "last": 0.5, "median": 0.5, "validation": None},
        "distances": {"cosine": dict.fromkeys(names, 0.1 + percent / 1000)},
        "times": {"total_s": 1.0},
    }
