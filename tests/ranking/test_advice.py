"""The rules of the advice, and what they say of real rankings."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from tests.fixtures.class_features import class_sets, of_class

import mixmood
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.records.ranking import Probe, ShareRecord
from mixmood.data.images.pool import Labels
from mixmood.data.readers.array import FeatureArray
from mixmood.evidence.advice import PoolAdvice, advise


def probe(gain=3.0, p_helps=0.97, is_learnable=True, worth=None):
    interval = (gain - 2, gain + 2)
    return Probe(gain, interval, p_helps, "mixmatch", gain, 1.0, 80.0, is_learnable, 400, worth)


def share(value, low=None, high=None):
    return ShareRecord(value, (value - 0.1 if low is None else low, high or value + 0.1))


@pytest.mark.parametrize(
    ("found", "useful", "copied", "word"),
    [
        (probe(), share(0.9), 0.0, "use"),
        (probe(), share(0.5), 0.0, "use"),
        (probe(), None, 0.0, "use"),
        (probe(gain=0.2), share(0.9), 0.0, "unsure"),  # sure, but not worth a pool
        (probe(p_helps=0.5), share(0.9), 0.0, "unsure"),
        (probe(p_helps=0.5), share(0.5), 0.0, "filter"),
        (probe(-3.0, 0.02), share(0.5), 0.0, "filter"),
        (probe(-3.0, 0.02), share(0.05, 0.0), 0.0, "avoid"),
        (probe(-3.0, 0.02), None, 0.0, "avoid"),
        (probe(0.3, 0.6), share(0.02, 0.0, 0.1), 0.0, "avoid"),
        (probe(), share(0.9), 0.5, "unsure"),
        (replace(probe(), n_pool=29), share(0.9), 0.0, "unsure"),
        (replace(probe(), n_pool=30), share(0.9), 0.0, "use"),
        (probe(is_learnable=False), share(0.9), 0.0, "unsure"),
        (None, share(0.9), 0.0, "unsure"),
        (None, share(0.5), 0.0, "filter"),
        (None, share(0.02, 0.0, 0.1), 0.0, "avoid"),
        (None, None, 0.0, "unsure"),
    ],
)
def test_each_rule(found, useful, copied, word):
    assert advise(found, useful, copied).word == word


def test_a_gain_that_was_measured_on_a_few_images_is_no_advice():
    few = replace(probe(), n_held_out=8)
    advice = advise(few, share(0.9))
    assert advice == PoolAdvice(
        "unsure", "only 8 labelled images can be held out, and 16 are needed", "labels"
    )
    assert advise(replace(probe(), n_held_out=16), share(0.9)).word == "use"


def test_a_task_on_which_the_classifier_is_often_wrong_gets_no_advice():
    """The features hardly know such classes, as with house numbers: clean pools then harm too."""
    hard = advise(replace(probe(), accuracy=45.0), share(0.9))
    assert hard.word == "unsure"
    assert "below 62.5 % even similar images often harm" in hard.reason
    assert advise(replace(probe(), accuracy=62.5), share(0.9)).word == "use"


def test_the_reason_gives_the_numbers():
    """What decides comes first: the gain, or the share."""
    assert advise(probe(), share(0.62, 0.51, 0.73)).reason == (
        "gain +3.0 points (+1.0 to +5.0), P(helps) 0.97; 62 % of it useful (51 to 73)"
    )
    assert advise(probe(-3.0, 0.001), share(0.5)).reason == (
        "50 % of it useful (40 to 60); gain -3.0 points (-5.0 to -1.0), P(helps) < 0.01"
    )


@pytest.mark.parametrize(
    ("found", "useful", "word", "number"),
    [
        (probe(p_helps=0.5484), share(0.9), "unsure", "P(helps) just below 0.55"),
        (probe(p_helps=0.55), share(0.9), "use", "P(helps) 0.55"),
        (probe(p_helps=0.5531), share(0.9), "use", "P(helps) just above 0.55"),
        (probe(0.1, p_helps=0.204), share(0.9), "unsure", "P(helps) just above 0.20"),
        (probe(gain=0.24), share(0.9), "unsure", "gain +0.24 points"),
        (probe(p_helps=0.5), share(0.797), "filter", "just below 80 % of it useful"),
    ],
)
def test_a_rounded_number_does_not_look_like_the_threshold_that_it_misses(
    found, useful, word, number
):
    advice = advise(found, useful)
    assert advice.word == word
    assert number in advice.reason


def test_a_pool_that_is_avoided_for_what_it_holds_says_so_beside_a_gain_above_0():
    advice = advise(probe(0.1, 0.54), share(0.0, 0.0, 0.01))
    assert advice == PoolAdvice(
        "avoid",
        "too little to use: 0 % of it useful (0 to 1); gain +0.1 points (-1.9 to +2.1), "
        "P(helps) 0.54",
        "share",
    )


WIDTH = 48
QUICK = {"draws": 2, "until": None}


def labelled_set(features, codes):
    """Features with classes."""
    names = tuple(f"class {k}" for k in range(codes.max() + 1))
    return FeatureArray(features, "mine", Labels(codes.astype(np.int32), names))


@pytest.fixture(scope="module")
def sets():
    return class_sets(40, 200, (9, 10), WIDTH)


@pytest.fixture(scope="module")
def ranked(sets):
    """The ranking with default options, which several tests look at."""
    features, codes, pools = sets
    return mixmood.rank(labelled_set(features, codes), pools, cache=None, **QUICK)


def test_a_labelled_set_with_classes_is_probed(sets, ranked):
    features, codes, pools = sets
    report = ranked
    same, foreign = (
        next(c for c in report.candidates if c.name == name) for name in ("same", "foreign")
    )
    assert same.probe.algorithm == "pseudo-label"
    assert same.probe.gain > foreign.probe.gain
    assert same.probe.n_pool == 200
    assert same.useful_share.share > foreign.useful_share.share
    assert {same.advice, foreign.advice} <= {"use", "filter", "avoid", "unsure"}
    assert foreign.advice != "use"
    assert report.answer
    assert report.to_json() == mixmood.rank(labelled_set(features, codes), pools, **QUICK).to_json()


def test_the_reading_moves_distances_but_not_the_probe(sets):
    features, codes, pools = sets
    early, full = (
        mixmood.rank(labelled_set(features, codes), pools, until=until) for until in (0.99, None)
    )
    assert [c.probe for c in early.candidates] == [c.probe for c in full.candidates]


def test_permuted_labels_are_never_told_to_use_a_pool(sets):
    features, codes, pools = sets
    for seed in range(3):
        permuted = np.random.default_rng(seed).permutation(codes)
        report = mixmood.rank(labelled_set(features, permuted), pools, **QUICK)
        assert {c.advice for c in report.candidates} <= {"unsure", "avoid"}
        assert report.by == "distance"


def test_pools_are_ordered_by_gain_unless_distance_is_asked_for(sets, ranked):
    features, codes, pools = sets
    by_distance = mixmood.rank(labelled_set(features, codes), pools, **QUICK, by="distance")
    assert [c.rank for c in by_distance.candidates] == [
        c.measures["cosine"].rank for c in by_distance.candidates
    ]
    gains = [candidate.probe.gain for candidate in ranked.candidates]
    assert ranked.by == "gain"
    assert gains == sorted(gains, reverse=True)
    assert sum(candidate.p_best for candidate in ranked.candidates) == pytest.approx(1)
    assert "gain" in ranked.to_text(120)


def test_without_classes_there_is_no_probe_and_a_note_says_how_to_get_one(sets):
    features, _, pools = sets
    report = mixmood.rank(features, pools, **QUICK, by="gain")
    assert report.by == "distance"
    assert all(candidate.probe is None for candidate in report.candidates)
    assert all(candidate.advice != "use" for candidate in report.candidates)
    assert "The probe needs classes: put the labelled images into one folder" in report.notes[-1]
    assert report.union is None
    assert report.answer.startswith("Filter") or "without classes" in report.answer


def test_features_and_their_labels_may_be_given_as_a_pair(sets):
    features, codes, pools = sets
    pair = mixmood.rank((features, codes), pools, **QUICK)
    words = mixmood.rank((features, [f"class {k}" for k in codes]), pools, **QUICK)
    gains = [{pool.name: pool.probe.gain for pool in one.candidates} for one in (pair, words)]
    assert gains[0] == gains[1]
    assert gains[0]["same"] > gains[0]["foreign"]
    assert pair.labelled.classes == {"0": 10, "1": 10, "2": 10, "3": 10}
    with pytest.raises(ShapeError, match="one label per image is needed, got 3 labels for 40"):
        mixmood.rank((features, [0, 1, 1]), pools)


def test_no_probe_measures_no_gain(sets):
    features, codes, pools = sets
    report = mixmood.rank(labelled_set(features, codes), pools, **QUICK, probe=False)
    assert report.candidates[0].probe is None
    assert report.by == "distance"
    assert "probe" not in " ".join(report.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "gian"}, "Unknown order 'gian'. Did you mean 'gain'"),
        ({"probe_algorithm": "mixmach"}, "Did you mean 'mixmatch'"),
        ({"probe_algorithm": "supervised"}, "Unknown probe_algorithm 'supervised'"),
        ({"groups": "(["}, r"groups must be a column of .* or a regular expression for its paths"),
    ],
)
def test_options_that_make_no_sense_are_refused(sets, options, message):
    with pytest.raises(OptionError, match=message):
        mixmood.rank(sets[0], sets[2], **options)


def test_groups_come_from_the_path_and_must_match_every_image(sets, ranked):
    features, codes, pools = sets
    labelled = labelled_set(features, codes)
    every_ten = mixmood.rank(labelled, pools, **QUICK, groups=r"\[(\d)\d?\]")
    assert every_ten.candidates[0].probe is not None
    assert every_ten.candidates[0].probe != ranked.candidates[0].probe
    # The second one matches, but its capture group takes no part in the match.
    for groups in ("patient", r"(patient)|\["):
        with pytest.raises(InputError, match=r"is not a column of mine and is not found in mine\["):
            mixmood.rank(labelled, pools, **QUICK, groups=groups)


def test_groups_may_be_a_column_of_the_list(tmp_path, small_backbone):
    """The column names the same groups as the pattern does: the probe is the same."""
    rng = np.random.default_rng(0)
    lines = ["path,label,patient"]
    for k in range(24):
        shade = 60 + 120 * (k % 2)
        pixels = (shade + rng.normal(0, 30, (16, 16))).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"p{k // 4}-{k}.png")
        lines.append(f"p{k // 4}-{k}.png,{k % 2},{k // 4}")
    (tmp_path / "list.csv").write_text("\n".join(lines))
    pools = {"noise": rng.integers(0, 255, (30, 16, 16), dtype=np.uint8)}
    by_column, by_pattern = (
        mixmood.rank(tmp_path / "list.csv", pools, **QUICK, groups=groups, backbone=small_backbone)
        for groups in ("patient", r"p(\d+)-")
    )
    assert by_column.candidates[0].probe is not None
    assert by_column.candidates[0].probe == by_pattern.candidates[0].probe


def test_reading_fewer_labelled_images_for_distances_does_not_move_the_probe():
    """Rounds of ten draws of 8 need 160 labelled images, the first round 32."""
    rng = np.random.default_rng(0)
    codes = np.arange(180) % 3
    labelled = labelled_set(of_class(rng, codes, WIDTH), codes)
    pools = {
        "same": of_class(rng, rng.integers(0, 3, 90), WIDTH),
        "far": 9 + of_class(rng, codes, WIDTH),
    }
    early, full = (
        mixmood.rank(labelled, pools, draws=10, sample_size=8, until=until) for until in (0.6, None)
    )
    by_name = [{c.name: c.probe for c in report.candidates} for report in (early, full)]
    assert by_name[0] == by_name[1]


def test_a_class_that_is_never_predicted_gets_a_warning_and_a_balanced_accuracy():
    """42 images of one class and 2 of the other: always saying the first is right in 95 %."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [42, 2])
    report = mixmood.rank(
        labelled_set(rng.normal(size=(44, WIDTH)), codes),
        {"a": rng.normal(size=(90, WIDTH))},
        **QUICK,
    )
    accuracy = report.labelled.accuracy
    assert (accuracy.value, accuracy.balanced) == (pytest.approx(42 / 44), 0.5)
    assert accuracy.interval[0] < accuracy.value < accuracy.interval[1]
    assert accuracy.never_predicted == ("class 1",)
    assert "mine: the class class 1 (2 images) is never predicted" in report.warnings[0]


@pytest.mark.usefixtures("all_draws")
def test_equal_classes_that_are_learnt_get_no_warning(sets):
    features, codes, pools = sets
    report = mixmood.rank((features, codes), {"same": pools["same"][:60]}, cache=None, **QUICK)
    accuracy = report.labelled.accuracy
    assert accuracy.never_predicted == ()
    assert accuracy.balanced == pytest.approx(accuracy.value)
    assert 100 * accuracy.value == pytest.approx(report.candidates[0].probe.accuracy, abs=5)
