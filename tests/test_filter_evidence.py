"""The rows of the filter's evidence outlive a kill, and scenes are what they claim to be."""

from itertools import product

import numpy as np
import pytest
from benchmarks.filter.material import OTHER, scene
from benchmarks.filter.rows_file import RowsFile

from mixmood.features.backbones.view import RESOLUTIONS


@pytest.mark.parametrize("n_lost", [1, 2, 3, 9])
def test_a_row_that_was_cut_short_is_computed_again(n_lost, tmp_path):
    path = tmp_path / "rows.csv"
    file = RowsFile(path, ("task", "seed"), ("share", "width"))
    file.add(task="a, b", seed=0, share=0.5, width=1)
    file.add(task="a, b", seed=1, share=0.6, width=27)
    path.write_bytes(path.read_bytes()[:-n_lost])
    again = RowsFile(path, ("task", "seed"), ("share", "width"))
    assert again.holds(task="a, b", seed=0)
    assert not again.holds(task="a, b", seed=1)
    assert [row["width"] for row in again.rows] == ["1"]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 120)
    for name in ("mnist", "svhn"):
        rows = rng.random((1200, 3), np.float32)
        for side, block in product(RESOLUTIONS, ("last", "middle")):
            np.save(tmp_path / f"{name}-{side}-{block}.npy", rows)
        np.save(tmp_path / f"{name}.labels.npy", labels)
    return tmp_path


@pytest.mark.parametrize("part", ["development", "report"])
@pytest.mark.parametrize("source", [OTHER, "svhn"])
def test_a_scene_holds_the_asked_share_and_no_image_twice(part, source, folder):
    drawn = scene(folder, part, "mnist", source, 0.25, seed=3, in_old_view=True)
    assert (~drawn.is_useful).mean() == pytest.approx(0.25, abs=0.01)
    rows = np.concatenate([drawn.labelled, drawn.pool, drawn.test])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert len(np.unique(drawn.labels)) == len(np.unique(drawn.test_labels))


def test_development_never_sees_the_classes_of_report_tasks(folder):
    mnist, labels = np.load(folder / "mnist-96-last.npy"), np.load(folder / "mnist.labels.npy")
    report_rows = {row.tobytes() for row in mnist[labels >= 5]}
    for source in (OTHER, "svhn"):
        for seed in range(5):
            drawn = scene(folder, "development", "mnist", source, 0.5, seed, in_old_view=True)
            rows = np.concatenate([drawn.labelled, drawn.pool, drawn.test])
            assert not report_rows & {row.tobytes() for row in rows}
