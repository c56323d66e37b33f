"""A head from folders of images: what is written, reported and refused; torch is not imported."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mixmood
from mixmood.api.predict import predict
from mixmood.cli.train import summary_text
from mixmood.core.errors import InputError, OptionError, OutputError, ShapeError, TrainingError
from mixmood.core.listener import Recorder
from mixmood.ssl.head import confusion
from mixmood.ssl.record import HeadRecord

# The small network takes images of one size.
pytestmark = pytest.mark.filterwarnings("ignore:The backbone means.onnx cannot be part of model")
PACKAGED = {"resolution": 96, "depth": "last"}
"""One view of the packaged network: `api/test_view_choice` is about its choice."""
SMALL = {}


@pytest.fixture(scope="module", autouse=True)
def small_network(small_backbone):
    """For all tests that do not look at the network: colours tell the photos apart."""
    SMALL["backbone"] = small_backbone


def train(*sets, **options):
    own = {} if {"model", "backbone", "resolution"} & set(options) else SMALL
    return mixmood.train(*sets, **own | options)


@pytest.fixture(scope="module")
def known_photos(tmp_path_factory):
    return tmp_path_factory.mktemp("known")


@pytest.fixture(autouse=True)
def own_cache(known_photos, monkeypatch):
    """All tests train on the same photos: one cache, so that each is embedded once."""
    monkeypatch.setenv("MIXMOOD_CACHE", str(known_photos))


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory):
    """A finished run with a pool and test images, and its folder."""
    out = tmp_path_factory.mktemp("run") / "out"
    sets = {"test": photos / "test", "out": out, "cache": None}
    return out, train(photos / "labelled", photos / "pool", **sets, **PACKAGED)


def test_a_run_writes_record_model_and_page_and_nothing_else(run):
    out, trained = run
    assert {path.name for path in out.iterdir()} == {"record.json", "model.onnx", "report.html"}
    written = json.loads((out / "record.json").read_text())
    assert written["model"] == "head"
    assert written["algorithm"] in ("supervised", "pseudo-label")
    assert set(written["accuracy"]) >= {"cross_validated", "interval", "test"}
    low, high = written["accuracy"]["interval"]
    assert low <= written["accuracy"]["cross_validated"] <= high
    assert HeadRecord.from_json((out / "record.json").read_text()) == trained.record


def test_the_accuracy_is_that_of_all_labelled_images_held_out(run):
    record = run[1].record
    assert record.n_labelled == 24
    assert record.accuracy.cross_validated > 0.95
    assert record.accuracy.test > 0.95
    assert np.sum(record.confusion) == pytest.approx(24)
    assert record.n_pool == 30


def test_the_file_answers_as_the_head_in_memory_does_in_plain_onnxruntime(run, photos):
    """`run` checks it as well before the file is kept; here nothing of mixmood takes part."""
    import onnxruntime

    out, _ = run
    session = onnxruntime.InferenceSession(
        (out / "model.onnx").read_bytes(), providers=["CPUExecutionProvider"]
    )
    (given,) = session.get_inputs()
    assert (given.name, given.type) == ("images", "tensor(uint8)")
    ours = predict(out, photos / "test")
    files = [photos / "test" / name for name in ours.images]
    pixels = np.stack(
        [np.asarray(Image.open(f).resize((96, 96), Image.Resampling.BILINEAR)) for f in files]
    )
    found = session.run(["probabilities"], {"images": pixels})[0]
    assert np.allclose(found, ours.probabilities, atol=1e-5)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    names = [ours.class_names[code] for code in found.argmax(axis=1)]
    assert np.mean([f.parent.name == name for f, name in zip(files, names, strict=True)]) > 0.9


def test_a_model_in_memory_classifies_as_the_one_in_the_folder(run, photos):
    out, trained = run
    ours, theirs = trained.predict(photos / "test"), predict(out, photos / "test")
    assert np.array_equal(ours.probabilities, theirs.probabilities)
    assert repr(trained).startswith("<TrainedModel: head, ")
    assert len(repr(trained)) < 120
    assert "cross-validated" in trained._repr_html_()


def test_the_same_seed_gives_the_same_bytes(photos):
    sets = photos / "labelled", photos / "pool"
    ours, theirs = (train(*sets, seed=3, **PACKAGED) for _ in range(2))
    assert ours.model == theirs.model
    assert ours.record.accuracy == theirs.record.accuracy


def test_neither_torch_nor_onnx_nor_scikit_learn_is_needed(photos, tmp_path):
    code = (
        "import sys\n"
        "for name in ('torch', 'onnx', 'mlflow', 'sklearn'): sys.modules[name] = None\n"
        "from mixmood.cli.main import app\n"
        "sys.argv[1:] = sys.argv[1:]\n"
        "app(standalone_mode=False)\n"
        "assert sys.modules['torch'] is None\n"
    )
    words = ["train", "--labelled", photos / "labelled", "--unlabelled", photos / "pool"]
    words += ["--out", tmp_path / "run", "--cache", "none", "--resolution", 64, "--depth", "last"]
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5  # accuracy, reason, two of the pool, time and files
    assert "cross-validated" in done.stdout.splitlines()[0]


def test_a_promise_about_the_labelled_images_and_strange_ones_refused(run, photos, tmp_path):
    out, trained = run
    assert trained.record.threshold is not None
    known = predict(out, photos / "test")
    assert known.is_none.mean() <= 0.35  # 12 images; 5 % of many
    rng = np.random.default_rng(0)
    for number in range(6):
        noise = rng.integers(0, 2, (40, 40, 3), dtype=np.uint8) * 255
        Image.fromarray(noise).save(tmp_path / f"{number}.png")
    strange = predict(out, tmp_path)
    assert strange.is_none.mean() > 0.8
    header, first = strange.to_csv().splitlines()[:2]
    assert header.endswith(",typicality,none_of_these")
    assert first.endswith(",1")


@pytest.mark.parametrize("algorithm", ["supervised", "mixmatch", "pseudo-label", "propagation"])
def test_every_algorithm_can_be_asked_for(photos, algorithm):
    record = train(photos / "labelled", photos / "pool", algorithm=algorithm).record
    assert record.algorithm == algorithm
    assert record.n_unlabelled == (0 if algorithm == "supervised" else 30)
    assert record.accuracy.cross_validated > 0.9


def test_without_a_pool_the_head_is_supervised_and_says_so(photos):
    record = train(photos / "labelled").record
    assert (record.algorithm, record.n_pool, record.pool_shares) == ("supervised", 0, None)
    assert record.reason == "No pool was given: the supervised head is used."


def test_a_large_pool_is_sampled_and_that_is_said(photos, told):
    record = train(
        photos / "labelled", photos / "pool", pool_limit=7, algorithm="mixmatch", listener=told
    ).record
    assert record.n_pool == 30
    assert (
        "pool: a random sample of 7 of its 30 images is used; --pool-limit changes that."
        in told.warnings
    )
    assert record.warnings == tuple(told.warnings)


def test_images_that_are_labelled_or_tested_are_left_out_of_the_pools(photos, tmp_path, told):
    """A test image that trains would make the accuracy too good, and it is known by content."""
    mixed = tmp_path / "mixed"
    for name in ("labelled", "test", "pool"):
        shutil.copytree(photos / name, mixed / name)
    n_test = len(list((photos / "test").rglob("*.png")))
    record = train(
        photos / "labelled", mixed, test=photos / "test", algorithm="propagation", listener=told
    ).record
    words = f"mixed: {24 + n_test} of {54 + n_test} images tried are copies of labelled or test"
    assert any(words in text for text in told.warnings)
    assert record.n_unlabelled == 30


@pytest.mark.parametrize("algorithm", ["auto", "mixmatch"])
def test_a_pool_of_labelled_images_alone_is_set_aside(photos, algorithm):
    words = "'labelled': all of its 24 readable images are labelled or test images"
    with pytest.raises(InputError, match=f"No pool can be used. {words}"):
        train(photos / "labelled", photos / "labelled", algorithm=algorithm)


def test_images_that_two_pools_share_count_once(photos, told):
    """The same pool under two names, or a folder and one inside it."""
    pools = {"a": photos / "pool", "b": photos / "pool"}
    record = train(photos / "labelled", pools, algorithm="propagation", listener=told).record
    assert [pool.n_used for pool in record.pools] == [30, 0]
    assert record.pools[1].reason.startswith("its images are in other pools")
    assert "b: 30 images are also in a, and counted once." in told.warnings


def test_a_pool_that_shares_images_with_several_has_one_warning(photos, tmp_path, told):
    """With fifty pools that overlap there would be hundreds."""
    images = sorted((photos / "pool").rglob("*.png"))
    for name, own in (("a", images[:9]), ("b", images[9:20]), ("c", images[8:10] + images[20:])):
        (tmp_path / name).mkdir()
        for path in own:
            shutil.copy(path, tmp_path / name)
    pools = {name: tmp_path / name for name in "abc"}
    train(photos / "labelled", pools, algorithm="propagation", listener=told)
    assert [text for text in told.warnings if "counted once" in text] == [
        "c: 2 images are also in a and b, and counted once."
    ]


def test_the_same_pool_twice_is_refused_before_images_are_read(photos, monkeypatch):
    monkeypatch.setattr("mixmood.api.train.sets_in_view", None)
    with pytest.raises(OptionError, match="The pool 'pool' is given twice. Give it once"):
        train(photos / "labelled", [str(photos / "pool")] * 2)
    with pytest.raises(InputError, match="Cannot open the pool"):
        train(photos / "labelled", [str(photos / "pool"), str(photos / "none")])


def test_fifty_pools_are_decided_and_named_in_few_lines(world):
    labelled, codes = world.useful(40)
    pools = {f"far {k}": world.foreign(30) for k in range(49)} | {"more": world.useful(200)[0]}
    record = train((labelled, codes), pools).record
    assert len(record.pools) == 50
    lines = summary_text(record, Path("run")).splitlines()
    assert len(lines) <= 6
    assert any(line.startswith("not used: ") and " and 4" in line for line in lines)


def test_test_images_that_are_labelled_too_are_reported(photos, told, tmp_path):
    test = shutil.copytree(photos / "labelled", tmp_path / "a;b")
    train(photos / "labelled", test=test, listener=told)
    expected = "a;b: 24 images are also among the labelled images: their accuracy is too good."
    assert expected in told.warnings


def test_groups_by_a_pattern_on_the_path_stay_in_one_fold(photos):
    record = train(photos / "labelled", groups=r"-p(\d)-").record
    assert record.n_groups == 4
    with pytest.raises(InputError, match="groups 'patient' is not a column .* is not found in"):
        train(photos / "labelled", groups="patient")
    with pytest.raises(OptionError, match=r"groups must be a column .* got '\(' "):
        train(photos / "labelled", groups="(")


def test_groups_by_a_column_of_the_table(photos, tmp_path):
    shutil.copytree(photos / "labelled", tmp_path / "images")
    lines = ["path,label,Patient"]
    for number, file in enumerate(sorted((tmp_path / "images").rglob("*.png"))):
        lines.append(f"{file.relative_to(tmp_path)},{file.parent.name},{number % 6}")
    (tmp_path / "list.csv").write_text("\n".join(lines))
    assert train(tmp_path / "list.csv", groups="patient").record.n_groups == 6


def test_features_are_taken_as_they_are(photos):
    features, pool = (mixmood.embed(photos / name, resolution=64) for name in ("labelled", "pool"))
    assert features.shape == (24, 1280 + 2688), "without labels, the largest depth"
    assert train(features, pool).record.n_labelled == 24, "embedded images know their classes"
    with pytest.raises(InputError, match="has no classes"):
        train(np.asarray(features), pool)


def test_a_pool_of_other_features_is_refused(photos):
    with pytest.raises(InputError, match="No pool can be used.*features cannot be mixed with"):
        train(photos / "labelled", np.ones((5, 7), np.float32), algorithm="propagation")


def test_a_pool_that_is_not_finite_is_refused(photos):
    pool = np.full((5, 1280), np.nan, np.float32)
    with pytest.raises(InputError, match=r"NaN|not finite|finite"):
        train(photos / "labelled", pool, algorithm="propagation")


def test_one_class_only_is_refused(tmp_path, make_photos):
    make_photos(tmp_path, ("red",), 4, 0)
    with pytest.raises(InputError, match="does not have two classes"):
        train(tmp_path)
    files = [file.relative_to(tmp_path) for file in sorted(tmp_path.rglob("*.png"))]
    (tmp_path / "list.csv").write_text("path,label\n" + "".join(f"{f},red\n" for f in files))
    with pytest.raises(TrainingError, match=r"2 classes are needed to train; got 1 \(red\)"):
        train(tmp_path / "list.csv")


def test_a_class_with_one_image_trains_and_is_named(tmp_path, make_photos, told):
    make_photos(tmp_path, ("red", "blue"), 6, 0)
    make_photos(tmp_path, ("striped",), 1, 1)
    record = train(tmp_path, listener=told).record
    assert any(
        "only one image, whose accuracy cannot be estimated: striped." in t for t in told.warnings
    )
    assert record.class_counts == (6, 6, 1)
    assert np.sum(record.confusion) == pytest.approx(12)


def test_one_image_of_every_class_trains_untested(tmp_path, make_photos, told):
    record = train(make_photos(tmp_path, ("red", "blue"), 1, 0), listener=told).record
    assert record.accuracy.cross_validated is None
    assert record.threshold is None


def test_images_without_classes_are_refused(photos):
    with pytest.raises(InputError, match="The labelled set pool has no classes. Give them"):
        train(photos / "pool")


def test_a_list_with_blank_labels_is_refused_and_says_how_many(photos, tmp_path):
    shutil.copytree(photos / "labelled", tmp_path / "labelled")
    files = sorted((tmp_path / "labelled").rglob("*.png"))
    lines = [f"{f.relative_to(tmp_path)},{f.parent.name if n else ''}" for n, f in enumerate(files)]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *lines]))
    with pytest.raises(InputError, match="1 of its 24 labels are blank: fill them in, or drop"):
        train(tmp_path / "list.csv")


def test_a_pool_without_a_readable_image_is_refused(photos, tmp_path, told):
    (tmp_path / "a.png").write_bytes(b"broken")
    with pytest.raises(InputError, match="No pool can be used.*has no readable image among 1"):
        train(photos / "labelled", tmp_path, listener=told)


def test_an_unreadable_class_is_left_out_and_named(tmp_path, make_photos, told):
    make_photos(tmp_path, ("red", "blue"), 4, 0)
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "a.png").write_bytes(b"broken")
    record = train(tmp_path, listener=told).record
    assert record.class_names == ("blue", "red")
    assert any(
        "Classes without a readable image are left out: gone." in text for text in told.warnings
    )


def test_nothing_is_written_when_training_fails(photos, tmp_path):
    with pytest.raises(InputError):
        train(photos / "pool", out=tmp_path / "run")
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize("name", ["checkpoint.pt", "model.pt"])
def test_a_head_does_not_overwrite_the_run_of_a_network(photos, tmp_path, name):
    """As when --model is forgotten beside --resume."""
    (tmp_path / name).write_bytes(b"network")
    with pytest.raises(OutputError, match="holds the run of a network, which a head would overw"):
        train(photos / "labelled", out=tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_holds_a_run_is_not_overwritten(run, photos):
    out, _ = run
    with pytest.raises(OutputError, match="holds a run already. Train it again with --resume"):
        train(photos / "labelled", out=out)


@pytest.fixture
def labelled(rng):
    """Twelve rows of features of two classes."""
    return rng.normal(size=(12, 4)), np.array(["cat", "dog"] * 6)


def test_images_beside_labelled_features_are_refused(labelled):
    images = np.zeros((3, 8, 8), np.uint8)
    message = "array holds images, but the labelled set holds features. Give both as images"
    with pytest.raises(InputError, match="No pool can be used.*features cannot be mixed with"):
        train(labelled, images)
    with pytest.raises(ShapeError, match=message):
        train(labelled, test=(images, np.array(["cat", "dog", "cat"])))


def test_test_images_of_unknown_classes_are_refused(labelled, rng):
    test = rng.normal(size=(3, 4)), np.array(["cat", "owl", "emu"])
    message = r"classes that no labelled image has: emu and owl\. Label images of these classes"
    with pytest.raises(TrainingError, match=message):
        train(labelled, test=test)


class Listing:
    """A data set whose list of classes is longer than the classes that its images have."""

    classes = ("cat", "dog", "owl")

    def __init__(self, targets):
        self.targets = targets

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return np.full((8, 8, 3), 20 * index, np.uint8)


@pytest.mark.parametrize("model", ["head", "wrn-tiny"])
def test_a_class_that_no_test_image_has_need_not_be_labelled(model):
    """A part of a data set keeps its whole list of classes."""
    options = {"listener": Recorder()}
    options |= {} if model == "head" else {"updates": 1, "epochs": 1, "batch_size": 4}
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    labelled = [(image, ("dog", "cat")[place % 2]) for place, image in enumerate(images)]
    trained = train(
        labelled,
        test=Listing([1, 0, 0]),
        model=model,
        algorithm="supervised",
        **options,
    )
    assert trained.record.n_test == 3
    message = "classes that no labelled image has: owl"
    with pytest.raises(TrainingError, match=message):
        train(labelled, test=Listing([1, 2, 0]), model=model, algorithm="supervised", **options)


@pytest.mark.parametrize("model", ["head", "wrn-tiny"])
def test_a_class_called_minus_one_gives_a_warning(model):
    """In scikit-learn, and in `mixmood.heads`, -1 is no class."""
    options = {"listener": Recorder()}
    options |= {} if model == "head" else {"updates": 1, "epochs": 1, "batch_size": 4}
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    told = Recorder()
    labelled = images, np.arange(12) % 3 - 1
    train(labelled, model=model, algorithm="supervised", **options | {"listener": told})
    assert "The label -1 is a class like the others. Put images without a class into the pool." in (
        told.warnings
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "fixmatch"}, "fixmatch trains networks. Give --model wrn-thin, or one of"),
        ({"algorithm": "mixmatsch"}, "Unknown algorithm 'mixmatsch'. Did you mean 'mixmatch'"),
        ({"algorithm": "propagation"}, "propagation needs unlabelled images; got none"),
        ({"epochs": 3}, "epochs is an option of --model wrn-thin; the model is 'head'"),
        ({"settings": {"gamma": 1.0}}, "settings is an option of --model wrn-thin"),
        ({"model": "wrn-tiny", "pool_limit": 3}, "pool_limit is an option of --model head"),
        ({"pool_limit": 0}, "pool_limit must be at least 1"),
        ({"backbone": "resnet"}, "Unknown backbone 'resnet'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(photos, options, message):
    with pytest.raises(OptionError, match=message):
        train(photos / "labelled", **options)


def test_a_confusion_table_counts_every_repeat_by_its_share_and_leaves_out_who_was_never_tested():
    nothing = [np.nan, np.nan]
    logits = np.array([[[1, 0], [1, 0], nothing], [[1, 0], [0, 1], nothing]])
    assert confusion(logits, np.array([0, 1, 1]), 2) == ((1.0, 0.0), (0.5, 0.5))
    assert confusion(logits, np.array([0, 1, 1]), 1000) is None


def test_train_uses_what_rank_advises_with_the_same_numbers(rng, world):
    """One answer: the same pools, gains and advice in both commands, and the rest left out."""
    labelled, codes = world.useful(60)
    pools = {
        "more": world.useful(300)[0],
        "again": world.useful(200)[0],
        "foreign": world.foreign(300),
    }
    ranked = mixmood.rank((labelled, codes), pools, seed=3, draws=2)
    record = train((labelled, codes), pools, seed=3).record
    told = {pool.name: pool for pool in ranked.candidates}
    assert {pool.name for pool in record.pools} == set(pools)
    for pool in record.pools:
        probe = told[pool.name].probe
        assert (pool.advice, pool.gain, pool.interval, pool.p_helps) == (
            told[pool.name].advice, probe.gain, probe.interval, probe.p_helps,
        )  # fmt: skip
    used = {pool.name for pool in record.pools if pool.n_used}
    assert used == set(ranked.union.pools if ranked.union else ())
    assert record.reason.startswith(ranked.answer)
    assert record.algorithm == ("pseudo-label" if used else "supervised")
    assert "foreign" not in used


def test_a_pool_that_cannot_be_used_is_set_aside_and_named(photos, tmp_path, told):
    (tmp_path / "a.png").write_bytes(b"broken")
    pools = [str(photos / "pool"), str(tmp_path)]
    record = train(photos / "labelled", pools, listener=told).record
    assert [pool.name for pool in record.pools] == ["pool"]
    assert any("is set aside: it has no readable image among 1" in text for text in told.warnings)


def test_with_a_named_algorithm_all_pools_are_used(photos, told):
    pools = {"a": photos / "pool", "b": photos / "test", "c": photos / "labelled"}
    record = train(photos / "labelled", pools, algorithm="mixmatch", listener=told).record
    n_test = len(list((photos / "test").rglob("*.png")))
    assert [(pool.name, pool.n_used, pool.advice) for pool in record.pools] == [
        ("a", 30, None), ("b", n_test, None),
    ]  # fmt: skip
    assert any("c is set aside: all of its 24 readable" in text for text in told.warnings)
