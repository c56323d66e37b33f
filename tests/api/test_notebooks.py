"""Results in Python: as tables, as figures, from files; and results that are inputs again."""

import pickle

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.core.errors import InputError
from mixmood.core.records.filtering import Filtering

WIDTH, N_CLASSES = 12, 3


def of_class(rng, codes):
    return np.abs(rng.normal(size=(len(codes), WIDTH))) + 2.5 * np.eye(WIDTH)[codes]


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    codes = np.arange(45) % N_CLASSES
    pools = {
        "same": of_class(rng, rng.integers(0, N_CLASSES, 120)),
        "far": 4 + of_class(rng, np.full(120, 9)),
    }
    return (of_class(rng, codes), codes), pools


@pytest.fixture(scope="module")
def report(sets):
    return mixmood.rank(*sets, measures=("cosine", "l2"), draws=2, until=None)


@pytest.fixture(scope="module")
def kept(sets):
    labelled, pools = sets
    mixed = np.concatenate([pools["same"][:60], pools["far"][:60]])
    return mixmood.filter(labelled, mixed, keep="0.5")


@pytest.fixture
def folder(tmp_path):
    """Two classes of small images, and a file that is no image."""
    for name, shade in (("dark", 40), ("light", 200)):
        (tmp_path / name).mkdir()
        for k in range(3):
            pixels = np.full((16, 16, 3), shade + k, np.uint8)
            pixels[:4] = 0
            Image.fromarray(pixels).save(tmp_path / name / f"{k}.png")
    (tmp_path / "dark" / "broken.png").write_bytes(b"no image")
    return tmp_path


def test_a_ranking_as_a_table_has_the_rows_of_its_csv(report):
    table = report.to_dataframe()
    assert len(table) == 4
    assert list(table.columns) == report.to_csv().splitlines()[0].split(",")
    assert set(table["name"]) == {"same", "far"}
    assert table["gain"].max() == max(pool.probe.gain for pool in report.candidates)


def test_a_filter_as_a_table_has_a_row_for_each_image(kept):
    table = kept.to_dataframe()
    assert len(table) == kept.record.n_images == 120
    assert table["keep"].sum() == kept.record.n_kept
    assert table.loc[table["keep"], "path"].tolist() == kept.paths
    assert set(table.loc[~table["keep"], "reason"]) <= set(kept.record.reasons)
    assert set(table["predicted_class"]) <= {"0", "1", "2"}


def test_predictions_as_a_table(sets, tmp_path):
    labelled, pools = sets
    mixmood.train(labelled, algorithm="supervised", out=tmp_path / "run")
    found = mixmood.predict(tmp_path / "run", pools["same"])
    table = found.to_dataframe()
    assert table["class"].tolist() == found.classes
    assert table[["p_0", "p_1", "p_2"]].to_numpy() == pytest.approx(found.probabilities)
    assert (table["typicality"] < found.threshold).tolist() == table["none_of_these"].tolist()


@pytest.mark.parametrize("by", ["gain", "distance"])
def test_a_ranking_draws_itself(report, sets, by):
    drawn = report if by == "gain" else mixmood.rank(*sets, draws=2, until=None, probe=False, by=by)
    axes = drawn.plot()
    assert next(word.get_text() for word in axes.get_yticklabels()) == drawn.best
    assert by in axes.get_xlabel()
    assert drawn.plot(axes) is axes


def test_every_record_can_be_loaded(report, kept, sets, tmp_path):
    report.to_json(tmp_path / "rank.json")
    again = mixmood.load(tmp_path / "rank.json")
    assert again == report
    assert again.to_text(verbose=True) == report.to_text(verbose=True)
    assert again.to_json() == report.to_json()
    kept.to_json(tmp_path / "kept.json")
    assert isinstance(mixmood.load(tmp_path / "kept.json"), Filtering)
    assert mixmood.load(tmp_path / "kept.json") == kept.record
    model = mixmood.train(sets[0], algorithm="supervised", out=tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "run" / "record.json"):
        assert mixmood.load(path).to_json() == model.record.to_json()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "Cannot load .*: No such file"),
        ("no json", "Cannot load .*: Expecting value"),
        ("[]", "it is not a record of mixmood"),
        ('{"a": 1}', "it is not a record of mixmood"),
        ('{"candidates": []}', "Cannot load "),
    ],
)
def test_what_is_no_record_is_refused(text, why, tmp_path):
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=why):
        mixmood.load(tmp_path / "a.json")


def test_the_rows_of_correlate_can_be_loaded(tmp_path):
    from mixmood.report.testbed.export import agreement_json
    from mixmood.testbed.analysis.correlate import Agreement

    rows = [Agreement("a task", 60, "cosine", -0.9, None, 1.5, 12)]
    (tmp_path / "a.json").write_text(agreement_json(rows))
    assert mixmood.load(tmp_path / "a.json") == rows


def test_a_filter_is_given_where_images_are(kept, sets):
    labelled, _ = sets
    report = mixmood.rank(labelled, {"kept": kept}, draws=2, until=None, probe=False)
    assert report.candidates[0].n_images == kept.record.n_kept
    assert mixmood.rank(labelled, kept, draws=2, until=None, probe=False).best == kept.record.pool
    assert mixmood.embed(kept).paths == kept.paths
    nothing = mixmood.filter(labelled, sets[1]["far"], threshold=9e9, probe=False)
    with pytest.raises(InputError, match="keeps no image. Filter again with a larger keep"):
        mixmood.embed(nothing)


def test_features_know_their_images(folder, small_backbone):
    with pytest.warns(RuntimeWarning, match="could not be read"):
        found = mixmood.embed(folder, backbone=small_backbone, cache=None)
    assert found.shape == (6, 48)
    assert found.labels == [path.partition("/")[0] for path in found.paths]
    assert sorted(found.labels) == ["dark"] * 3 + ["light"] * 3
    assert found.unreadable == ("dark/broken.png",)
    # The rows are those of the paths, whatever the order of the pool.
    for path, row in zip(found.paths, found, strict=True):
        own = mixmood.embed(folder / path, view=found.image_view, cache=None)
        assert np.array_equal(own[0], row)


def test_rows_of_features_keep_their_images_and_computed_arrays_do_not(folder, small_backbone):
    (folder / "dark" / "broken.png").unlink()
    found = mixmood.embed(folder, backbone=small_backbone, cache=None)
    is_dark = np.array(found.labels) == "dark"
    assert set(found[is_dark].labels) == {"dark"}
    assert found[1:3].paths == found.paths[1:3]
    assert found[[2, 0]].paths == [found.paths[2], found.paths[0]]
    assert found[::-1].image_view == found.image_view
    for other in (found + 1, found.T, np.sort(found, axis=0), found[:, :2], found[0]):
        assert getattr(other, "paths", None) is None
    same = pickle.loads(pickle.dumps(found))
    assert (same.paths, same.labels) == (found.paths, found.labels)
    assert np.array_equal(same, found)


def test_features_with_their_classes_are_a_labelled_set(folder, small_backbone):
    (folder / "dark" / "broken.png").unlink()
    found = mixmood.embed(folder, backbone=small_backbone, cache=None)
    more, pool = found[np.repeat(np.arange(6), 4)], np.random.default_rng(0).normal(size=(40, 48))
    report = mixmood.rank(more, {"a": pool}, draws=2, probe=False)
    assert report.labelled.classes == {"dark": 12, "light": 12}
