"""`--backbone auto` in rank, filter and train: figures in the record, one line, clear refusals."""

import hashlib
import json
import zlib

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import mixmood
from mixmood.cli.main import app
from mixmood.core.errors import InputError, OptionError
from mixmood.core.listener import Recorder
from mixmood.features.backbones import registry, wide_resnet
from mixmood.features.backbones.backbone import OneView
from mixmood.features.backbones.registry import BACKBONES

QUICK = {"draws": 4, "probe": False, "jobs": 1}


class Colours(OneView):
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


def figures_of(backbone):
    return {one["name"]: one["accuracy"] for one in backbone["choice"]["candidates"]}


def test_a_ranking_uses_the_backbone_that_classifies_best_and_says_so(sets):
    report = mixmood.rank(
        sets / "labelled", {"pool": sets / "pool"}, backbone="auto:blind,seeing", **QUICK
    )
    assert report.backbone["name"] == "seeing"
    figures = figures_of(report.backbone)
    assert figures["seeing"] == 1.0 > figures["blind"]
    assert report.backbone["choice"]["n_images"] == 16
    assert report.backbone["choice"]["accuracy_after_choice"] == 1.0
    (line,) = [note for note in report.notes if note.startswith("Backbone seeing, by the cross-")]
    assert "on 16 labelled images: blind 0." in line
    assert "seeing 1.000 (0.7" in line
    plain = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, backbone="seeing", **QUICK)
    assert report.candidates == plain.candidates


def test_a_filter_and_a_head_use_it_too(sets):
    kept = mixmood.filter(
        sets / "labelled", sets / "pool", backbone="auto:blind,seeing", out=sets / "kept.csv"
    )
    assert kept.record.backbone["name"] == "seeing"
    assert figures_of(kept.record.backbone)["seeing"] == 1.0
    assert any("Backbone seeing" in warning for warning in kept.record.warnings)
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
    assert figures_of(written["backbone"])["seeing"] == 1.0
    assert [line for line in lines.notes if line.startswith("Backbone seeing")]
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


def test_the_accuracy_of_a_head_is_lower_by_what_the_choice_made_it_too_good(sets, noise_backbones):
    """The figure of the same head whose backbone was named stays as it was."""
    words = ["train", "--labelled", str(sets / "labelled"), "--algorithm", "supervised"]
    words += ["--backbone", noise_backbones, "--out", str(sets / "run")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    written = json.loads((sets / "run" / "record.json").read_text())
    found, choice = written["accuracy"], written["backbone"]["choice"]
    optimism = max(one["accuracy"] for one in choice["candidates"])
    optimism -= choice["accuracy_after_choice"]
    assert found["choice_optimism"] == pytest.approx(optimism)
    assert optimism > 0.05
    name = written["backbone"]["name"]
    options = {"algorithm": "supervised", "backbone": name, "listener": Recorder()}
    plain = mixmood.train(sets / "labelled", **options).record.accuracy
    assert plain.choice_optimism is None
    assert found["cross_validated"] == pytest.approx(plain.cross_validated - optimism)
    low, high = plain.interval
    assert found["interval"] == pytest.approx([low - optimism, high])
    line = f"cross-validated, less {100 * optimism:.1f} points for the choice of backbone"
    assert line in done.stdout
    page = (sets / "run" / "report.html").read_text()
    assert f"{100 * optimism:.1f} points subtracted from the accuracy for the choice" in page


def test_where_the_optimism_cannot_be_known_a_warning_says_so(sets):
    for path in sorted((sets / "labelled").rglob("*.png")):
        if int(path.stem) > (path.parent.name == "red"):
            path.unlink()
    heard = Recorder()
    trained = mixmood.train(
        sets / "labelled",
        algorithm="supervised",
        backbone="auto:blind,seeing",
        listener=heard,
    )
    assert trained.record.accuracy.choice_optimism is None
    (message,) = [one for one in trained.record.warnings if "too high" in one]
    assert message in heard.warnings
    assert message.startswith("The backbone was chosen on the same few images, so the accuracy may")


def test_the_command_prints_one_line_about_it(sets):
    words = ["rank", str(sets / "labelled"), str(sets / "pool"), "--backbone", "auto:blind,seeing"]
    done = CliRunner().invoke(app, [*words, "--no-probe", "--draws", "4", "-q"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("Backbone seeing, by the cross-validated accuracy") == 1


def test_the_word_alone_compares_named_backbones_whose_weights_are_here(monkeypatch):
    names, left_out = registry.names_to_compare("auto")
    assert names == ("efficientnet-lite0", "blind", "seeing")
    assert "name it to fetch 132 MB" in left_out["wide-resnet50-2"]
    assert "depend on the other images" in left_out["untrained-wrn"]
    monkeypatch.setattr(wide_resnet, "is_on_this_machine", lambda: True)
    assert "wide-resnet50-2" in registry.names_to_compare("auto")[0]


def test_a_single_backbone_is_used_with_a_hint_to_name_others(sets, monkeypatch):
    for name in ("efficientnet-lite0", "blind"):
        monkeypatch.delitem(BACKBONES, name)
    report = mixmood.rank(sets / "labelled", {"pool": sets / "pool"}, backbone="auto", **QUICK)
    assert report.backbone["name"] == "seeing"
    assert "No other backbone was compared (untrained-wrn: an image's features" in report.notes[-1]
    assert report.notes[-1].endswith("name others as auto:NAME,NAME.")


def test_with_features_there_is_nothing_to_choose():
    rng = np.random.default_rng(0)
    report = mixmood.rank(
        rng.normal(size=(20, 4)), {"pool": rng.normal(size=(40, 4))}, backbone="auto", **QUICK
    )
    assert "choice" not in report.backbone


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
        mixmood.rank(sets / "pool", {"pool": sets / "pool"}, backbone="auto:seeing", **QUICK)


def test_classes_of_one_image_each_cannot_be_compared_on(sets):
    images = sorted((sets / "pool").iterdir())
    rows = "".join(f"pool/{path.name},c{number}\n" for number, path in enumerate(images))
    (sets / "list.csv").write_text("path,label\n" + rows)
    with pytest.raises(InputError, match="--backbone auto compares by cross-validation. Cross-"):
        mixmood.rank(sets / "list.csv", {"p": sets / "pool"}, backbone="auto:seeing", **QUICK)


def test_images_that_cannot_be_read_are_an_error(sets):
    for path in (sets / "labelled").rglob("*.png"):
        path.write_bytes(b"broken")
    with pytest.raises(InputError, match="labelled has no readable image"):
        mixmood.rank(sets / "labelled", {"p": sets / "pool"}, backbone="auto:seeing", **QUICK)


def test_where_there_are_no_labelled_images_a_backbone_must_be_named(sets):
    with pytest.raises(OptionError, match="auto chooses a backbone by labelled images, which rank"):
        mixmood.embed(sets / "pool", backbone="auto")


def test_more_labelled_images_than_needed_are_sampled(sets, monkeypatch):
    monkeypatch.setattr("mixmood.api.backbone_choice.MOST_LABELLED", 10)
    report = mixmood.rank(
        sets / "labelled", {"pool": sets / "pool"}, backbone="auto:seeing", groups=r"\d", **QUICK
    )
    assert report.backbone["choice"]["n_images"] == 10
