"""Which backbone and view a command uses: what was asked for, or what the labelled images tell."""

import hashlib
import json
import zlib

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.api.outputs import carried
from mixmood.cli.main import app
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Recorder
from mixmood.features.backbones import registry, wide_resnet
from mixmood.features.backbones.backbone import Backbone
from mixmood.features.backbones.registry import BACKBONES
from mixmood.ranking.plan import RankingPlan
from mixmood.ssl.plan import TrainingPlan

QUICK = {"draws": 4, "probe": False, "jobs": 1}


class Colours(Backbone):
    """The mean colour of an image, or of none of it: blind."""

    resolution, batch_size, width = 64, 16, 3
    is_batch_dependent = False

    def __init__(self, name, is_blind):
        self.name, self._is_blind = name, is_blind
        self.fingerprint = hashlib.sha256(name.encode()).hexdigest()

    def describe(self):
        return {"name": self.name, "width": 3}

    def embed(self, batch):
        means = batch.mean(axis=(1, 2)).astype(np.float32)
        return means % 7 if self._is_blind else means


@pytest.fixture(autouse=True)
def backbones(monkeypatch):
    monkeypatch.setitem(BACKBONES, "blind", lambda resolution: Colours("blind", True))
    monkeypatch.setitem(BACKBONES, "seeing", lambda resolution: Colours("seeing", False))


@pytest.fixture
def sets(tmp_path):
    rng = np.random.default_rng(0)
    for place, colour in {"labelled/red": (200, 40, 40), "labelled/blue": (40, 40, 200)}.items():
        folder = tmp_path / place
        folder.mkdir(parents=True)
        for number in range(8):
            pixels = np.clip(rng.normal(colour, 20, (8, 8, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    (tmp_path / "pool").mkdir()
    for number in range(12):
        pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "pool" / f"{number}.png")
    return tmp_path


def compared(view):
    return {one["backbone"]: one for one in view["compared"]}


def test_a_ranking_uses_the_backbone_that_classifies_best_and_says_so(sets):
    report = mixmood.rank(
        sets / "labelled", {"pool": sets / "pool"}, backbone="auto:blind,seeing", **QUICK
    )
    assert report.backbone["name"] == report.view["backbone"] == "seeing"
    found = compared(report.view)
    assert found["seeing"]["accuracy"] == 1.0 > found["blind"]["accuracy"]
    assert found["seeing"]["log_likelihood"] > found["blind"]["log_likelihood"]
    assert (report.view["n_images"], report.view["is_chosen"]) == (16, True)
    assert "seeing at 64 px, last has the highest log-likelihood" in report.view["reason"]
    plain = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, backbone="seeing", **QUICK)
    assert report.candidates == plain.candidates


def test_a_filter_and_a_head_use_it_too(sets):
    kept = mixmood.filter(
        sets / "labelled", sets / "pool", backbone="auto:blind,seeing", probe=False
    )
    assert kept.record.view["backbone"] == "seeing"
    lines = Recorder()
    trained = mixmood.train(
        sets / "labelled",
        sets / "pool",
        backbone="auto:blind,seeing",
        out=sets / "run",
        listener=lines,
    )
    assert trained.record.backbone["name"] == "seeing"
    written = json.loads((sets / "run" / "record.json").read_text())
    assert compared(written["view"])["seeing"]["accuracy"] == 1.0
    assert [line for line in lines.notes if line.startswith("seeing at 64 px")]
    assert len(mixmood.predict(sets / "run", sets / "pool").classes) == 12


@pytest.fixture
def noise_backbones(monkeypatch):
    """Four backbones that tell nothing: what they see of an image has nothing to do with it."""

    class Noise(Colours):
        def embed(self, batch):
            seeds = [zlib.crc32(image.tobytes() + self.name.encode()) for image in batch]
            rows = [np.random.default_rng(seed).normal(size=3) for seed in seeds]
            return np.array(rows, np.float32)

    names = [f"noise{number}" for number in range(4)]
    for name in names:
        monkeypatch.setitem(BACKBONES, name, lambda resolution, name=name: Noise(name, False))
    return "auto:" + ",".join(names)


def test_the_accuracy_of_a_head_does_not_profit_from_the_choice(sets, noise_backbones):
    trained = mixmood.train(
        sets / "labelled", algorithm="supervised", backbone=noise_backbones, listener=Recorder()
    )
    best = max(one["accuracy"] for one in trained.record.view["compared"])
    assert trained.record.accuracy.cross_validated < best


def test_the_word_alone_compares_named_backbones_whose_weights_are_here(monkeypatch):
    names, left_out = registry.names_to_compare("auto")
    assert names == ("efficientnet-lite0", "blind", "seeing")
    assert "name it to fetch 132 MB" in left_out["wide-resnet50-2"]
    assert "depend on the other images" in left_out["untrained-wrn"]
    monkeypatch.setattr(wide_resnet, "is_on_this_machine", lambda: True)
    assert "wide-resnet50-2" in registry.names_to_compare("auto")[0]


def test_backbones_that_were_not_compared_are_in_the_record(sets, monkeypatch):
    for name in ("efficientnet-lite0", "blind"):
        monkeypatch.delitem(BACKBONES, name)
    report = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, backbone="auto", **QUICK)
    assert report.backbone["name"] == "seeing"
    assert set(report.view["left_out"]) == {"untrained-wrn", "wide-resnet50-2"}


def test_with_features_there_is_nothing_to_choose():
    rng = np.random.default_rng(0)
    report = mixmood.rank(
        rng.normal(size=(20, 4)), {"pool": rng.normal(size=(40, 4))}, backbone="auto", **QUICK
    )
    assert report.view is None


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        ("auto:", "written auto:NAME,NAME; got 'auto:'"),
        ("auto:seeing,", "written auto:NAME,NAME; got 'auto:seeing,'"),
        ("auto:seeing,nothing", "Unknown backbone 'nothing'"),
        ("auto:untrained-wrn", "cannot compare untrained-wrn: an image's features depend on its"),
    ],
)
def test_a_list_that_cannot_be_compared_is_refused(sets, backbone, message):
    with pytest.raises(OptionError, match=message):
        mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, backbone=backbone, **QUICK)


def test_without_classes_all_ways_to_give_them_are_named(sets):
    with pytest.raises(InputError, match=r"labelled set pool has no classes. Give them .*labels"):
        mixmood.rank(sets / "pool", {"pool": sets / "pool"}, backbone="auto:blind,seeing", **QUICK)


def single_images(sets):
    """A list of twelve images of twelve classes."""
    images = sorted((sets / "pool").iterdir())
    rows = "".join(f"pool/{path.name},c{number}\n" for number, path in enumerate(images))
    (sets / "list.csv").write_text("path,label\n" + rows)
    return sets / "list.csv"


def test_classes_of_one_image_each_cannot_be_compared_on(sets):
    backbone = "auto:blind,seeing"
    with pytest.raises(InputError, match="--backbone auto compares by cross-validation. Cross-"):
        mixmood.rank(single_images(sets), {"p": sets / "pool"}, backbone=backbone, **QUICK)


def test_images_that_cannot_be_read_are_an_error(sets):
    for path in (sets / "labelled").rglob("*.png"):
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="labelled has no readable image"):
        mixmood.rank(sets / "labelled", {"p": sets / "pool"}, backbone="auto:blind,seeing", **QUICK)


def test_where_there_are_no_labelled_images_a_backbone_must_be_named(sets):
    with pytest.raises(OptionError, match="auto chooses a backbone by labelled images, which rank"):
        mixmood.embed(sets / "pool", backbone="auto")


def test_more_labelled_images_than_needed_are_sampled(sets, monkeypatch):
    monkeypatch.setattr("mixmood.api.view_choice.MOST_JUDGED", 10)
    options = {"backbone": "auto:blind,seeing", "groups": r"\d"}
    report = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, **options, **QUICK)
    assert report.view["n_images"] == 10


AUTO = {"resolution": "auto", "depth": "auto"}


def test_the_same_labelled_set_has_the_same_view_in_every_command(sets):
    ranked = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, **AUTO, **QUICK)
    assert len(ranked.view["compared"]) == 9
    kept = mixmood.filter(
        sets / "labelled", sets / "pool", probe=False, save=sets / "f.npz", seed=3, **AUTO
    )
    trained = mixmood.train(sets / "labelled", out=sets / "run", seed=5, **AUTO)
    assert ranked.view == kept.record.view == trained.record.view
    again = mixmood.filter(None, sets / "pool", load=sets / "f.npz")
    assert np.array_equal(again.scores, kept.scores), "a saved filter keeps its view"
    assert f"{ranked.view['resolution']} px" in ranked.to_text()
    wide = mixmood.embed(sets / "pool", view=ranked.view)
    assert wide.shape[1] == trained.record.backbone["width"]
    assert f"{ranked.view['resolution']} px" in (sets / "run" / "report.html").read_text()


@pytest.mark.parametrize("depth", ["last", "middle", "both"])
def test_a_model_file_takes_images_in_any_view(sets, depth):
    options = {"resolution": 64, "depth": depth, "listener": Recorder()}
    trained = mixmood.train(sets / "labelled", out=sets / "run", **options)
    assert (trained.record.takes, trained.record.view["depth"]) == ("images", depth)
    found = mixmood.predict(sets / "run", sets / "labelled")
    assert (
        np.mean([name in place for name, place in zip(found.classes, found.images, strict=True)])
        == 1
    )


def test_distances_are_those_of_the_last_layer_at_any_depth(sets):
    options = {"resolution": 64, "probe": False, "draws": 4}
    pools = {"pool": sets / "pool"}
    last, middle, both = (
        mixmood.rank(sets / "labelled", pools, depth=depth, **options)
        for depth in ("last", "middle", "both")
    )
    assert last.candidates[0].distance == middle.candidates[0].distance
    assert last.candidates[0].distance == both.candidates[0].distance


def test_without_classes_or_with_one_image_a_class_the_largest_view_is_used(sets):
    for labelled in (sets / "pool", single_images(sets)):
        report = mixmood.rank(labelled, {"p": sets / "labelled"}, **AUTO, **QUICK)
        assert (report.view["resolution"], report.view["depth"]) == (224, "both")
        assert "the largest view" in report.view["reason"]
        assert not report.view["is_chosen"]
        assert report.view["reason"] in report.to_text(verbose=True)
    assert mixmood.embed(sets / "pool", **AUTO).shape == (12, 3968)
    assert mixmood.embed(sets / "pool", resolution=64, depth="middle").shape == (12, 2688)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 100}, "multiple of 32 and at least 64, such as 96, 160, 224; got 100"),
        ({"resolution": "large"}, "number of pixels, or auto; got 'large'"),
        ({"depth": "midle"}, "Unknown depth 'midle'. Did you mean 'middle'"),
        ({"depth": "middle", "backbone": "untrained-wrn"}, "offers the depth last only"),
    ],
)
def test_views_that_there_are_not_are_refused(sets, options, message):
    with pytest.raises(OptionError, match=message):
        mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, **options, **QUICK)


def test_a_number_on_the_command_line_is_a_number(sets):
    words = ["train", "--labelled", str(sets / "labelled"), "--out", str(sets / "run")]
    done = CliRunner().invoke(app, [*words, "--resolution", "64", "--depth", "last"])
    assert done.exit_code == 0, done.output
    assert "64 px, last" in done.stdout.splitlines()[0]


def test_the_next_command_names_the_view_that_was_asked_for(sets):
    plan = RankingPlan(resolution=64, depth="both", seed=3)
    assert carried(plan, TrainingPlan) == ["--resolution", "64", "--depth", "both", "--seed", "3"]
    words = ["filter", str(sets / "labelled"), str(sets / "pool"), "--out", str(sets / "kept.csv")]
    done = CliRunner().invoke(app, [*words, "--resolution", "64", "--depth", "both", "--no-probe"])
    assert done.exit_code == 0, done.output
    assert "--resolution 64 --depth both" in done.stdout.splitlines()[-1]
    assert "64 px, both" in done.stdout.splitlines()[0]
