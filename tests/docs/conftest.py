"""The folder that the examples of the documentation run in, and how its commands are run."""

import hashlib
import re
import shlex
import shutil
import sys
import zipfile
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.fixtures.few_draws import ALL, repeats
from typer.testing import CliRunner

from mixmood.data.sets import digits
from mixmood.evidence import gain, labelled, view

SHORTER = {
    "demo": ["--draws", "4", "--no-probe"],
    "rank": ["--draws", "4", "--no-probe"],
    "filter": ["--no-probe"],
    "train": ["--epochs", "1", "--updates", "4"],  # of networks; a head takes no time
    "testbed run": ["--seeds", "1", "--jobs", "1"],
}
ONE_VIEW = ["--resolution", "96", "--depth", "last"]
"""For commands that choose the view of images; not for those that say it, or read features."""
"""What commands get in addition, and the last word counts: an example is to run, not to learn."""


def save(images, folder):
    folder.mkdir(parents=True)
    for number, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / f"{number}.png")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """labelled/, test/, scans/, crawl.zip and so on: eight-pixel digits under the names in use."""
    root = tmp_path_factory.mktemp("prepared")
    images, classes = digits()
    # They come writer by writer: labelled and other images would be of different hands.
    order = np.random.default_rng(0).permutation(len(images))
    images, classes = images[order], classes[order]
    for digit in range(5):
        own = images[classes == digit]
        save(own[:8], root / "labelled" / str(digit))
        save(own[8:12], root / "test" / str(digit))
    is_known = classes < 5
    save(images[is_known][300:360], root / "scans")
    save(images[is_known][400:406], root / "new-images")
    # Half of what a crawl brings is of other classes.
    save([*images[is_known][500:530], *images[~is_known][:30]], root / "crawl")
    with zipfile.ZipFile(root / "crawl.zip", "w") as archive:
        for path in sorted((root / "crawl").iterdir()):
            archive.write(path, path.name)
    for table in ("table1_accuracy.csv", "table2_distances.csv"):
        text = files("mixmood.testbed").joinpath("paper", table).read_text()
        (root / table).write_text(text)
    np.save(root / "labelled-features.npy", np.random.default_rng(0).normal(size=(60, 8)))
    np.save(root / "web-features.npy", np.random.default_rng(1).normal(0.3, size=(200, 8)))
    return root


@pytest.fixture(scope="session")
def shared_cache(once, cold_demo):
    def fill(folder):
        shutil.copytree(cold_demo.folder / "cache", folder, dirs_exist_ok=True)

    return once("pages-cache", fill)


@pytest.fixture
def own_cache(shared_cache, monkeypatch):
    """One cache for all pages: most of them read the same few images."""
    monkeypatch.setenv("MIXMOOD_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def fitted_views():
    """What was computed to choose a view, by a digest of all that it is computed from."""
    return {}


def digests(*parts):
    return tuple(hashlib.sha256(np.ascontiguousarray(part)).digest() for part in parts)


@pytest.fixture(autouse=True)
def views_fitted_once(fitted_views, monkeypatch):
    """Most examples choose a view for the same labelled images: each choice is computed once."""
    fit, make = view.fit_in_parts, view.head_problem

    def make_once(*parts, **named):
        if len(parts) > 3:  # with a pool: the problem of a training
            return make(*parts, **named)
        features, codes, n_classes = parts
        key = (n_classes, *named, *digests(features, codes, *named.values()))
        if key not in fitted_views:
            fitted_views[key] = make(*parts, **named)
        return fitted_views[key]

    def fit_once(head, problem, rows, seed=0):
        own = problem.labelled
        key = (type(head), seed, *digests(own.rows, own.codes, own.weights, rows))
        if key not in fitted_views:
            fitted_views[key] = fit(head, problem, rows, seed)
        first, logits = fitted_views[key]
        return first, logits.copy()

    monkeypatch.setattr(view, "head_problem", make_once)
    monkeypatch.setattr(view, "fit_in_parts", fit_once)


@pytest.fixture(autouse=True)
def pools_judged_once(fitted_views, monkeypatch):
    """Commands of a page judge the same pools: share and effect of each are computed once."""
    judge, effect = labelled.judged_part, labelled.LabelledEvidence.effect

    def digests_of(one):
        return digests(
            *(part for part in (one.features, one.codes, one.groups) if part is not None)
        )

    def made_once(make, *key):
        known = (*key, gain.N_FOLDS)  # it differs where a page says what is printed
        if known not in fitted_views:
            fitted_views[known] = make()
        return fitted_views[known]

    def judged_part(features, codes, pool, seed):
        own = digests(features, *(() if codes is None else (codes,)), pool)
        return made_once(lambda: judge(features, codes, pool, seed), "judged", own, seed)

    def effect_once(evidence, part, algorithm):
        own = (digests_of(evidence), evidence.seed, digests(part.features, part.useful), algorithm)
        return made_once(lambda: effect(evidence, part, algorithm), "effect", own)

    monkeypatch.setattr(labelled, "judged_part", judged_part)
    monkeypatch.setattr(labelled.LabelledEvidence, "effect", effect_once)


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    """A fresh copy of the prepared folder, to stand in."""
    shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def smoke_store(once, shared_cache):
    """The folder of the test bed `smoke`, made by its command once for all pages."""

    def fill(folder):
        from mixmood.cli.main import app

        words = ["testbed", "run", "smoke", "--store", str(folder / "store")]
        quick = [*SHORTER["testbed run"], "--cache", str(shared_cache)]
        result = CliRunner().invoke(app, [*words, *quick])
        assert result.exit_code == 0, result.output

    return once("smoke", fill) / "store"


@pytest.fixture
def run_command(monkeypatch, request):
    """Runs a line that starts with `mixmood` and returns what it printed.

    The demonstration was run by `cold_demo`, and the runs of the test bed `smoke` by `smoke_store`:
    the command finds their records. A database of MLflow is not made, but found empty.
    """

    def run(line, is_shortened=True):
        from mixmood.cli.main import app

        if line.strip() == "mixmood demo":
            return request.getfixturevalue("cold_demo").stdout
        if smoke := re.match(r"mixmood testbed run smoke --store (\S+)", line):
            shutil.copytree(request.getfixturevalue("smoke_store"), smoke[1])
        database = re.search(r"--mlflow sqlite:///(\S+)", line)
        if database and not Path(database[1]).exists():
            request.getfixturevalue("mlflow_database")(database[1])
        words = shlex.split(line, comments=True)[1:]
        for command, options in SHORTER.items() if is_shortened else ():
            is_head = command == "train" and not re.search("--model (?!head)", line)
            if not line.startswith(f"mixmood {command} "):
                continue
            words += [] if is_head else options
            has_view = re.search("--(resolution|depth|backbone|view|filter|model)|features", line)
            words += ONE_VIEW if command in ("rank", "filter", "train") and not has_view else []
        monkeypatch.setattr(sys, "argv", ["mixmood", *words])
        with nullcontext() if is_shortened else repeats(ALL):
            result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        return result.stdout

    return run
