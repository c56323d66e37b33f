"""Sets that cannot be ranked: set aside with a reason, or refused."""

import numpy as np
import pytest
from tests.ranking.made_sets import features, folder_of, noise

import mixmood
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.ranking.distance import score
from mixmood.ranking.plan import RankingPlan


def test_a_pool_with_too_few_readable_images_is_set_aside(tmp_path, rng, small_backbone):
    folder_of(tmp_path / "labelled", noise(rng, 16))
    pool = folder_of(tmp_path / "pool", noise(rng, 3))
    for i in range(20):
        (pool / f"broken-{i}.png").write_bytes(b"")
    pools = {"pool": pool, "good": folder_of(tmp_path / "good", noise(rng, 9))}
    quick = {"draws": 2, "backbone": small_backbone}
    report = mixmood.rank(tmp_path / "labelled", pools, **quick)
    assert [candidate.name for candidate in report.candidates] == ["good"]
    (aside,) = report.set_aside
    assert (aside.name, aside.reason) == (
        "pool",
        "it holds only 3 readable images, and the sample size is 8. Use a sample size of at most "
        "3, or a larger pool.",
    )
    assert "! set aside, pool: it holds only 3 readable images" in report.to_text()
    with pytest.raises(InputError, match="With strict, every pool must be ranked. Could not rank"):
        mixmood.rank(tmp_path / "labelled", pools, **quick, strict=True)
    with pytest.raises(InputError, match="No pool can be ranked. 'pool': it holds only 3 readable"):
        mixmood.rank(tmp_path / "labelled", {"pool": pool}, **quick)


def test_a_pool_that_cannot_be_opened_is_set_aside_but_a_missing_path_is_an_error(sets, tmp_path):
    labelled, pools = sets
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and then nothing")
    nan = np.full((50, 16), np.nan)
    report = mixmood.rank(labelled, [pools["near"], str(tmp_path / "broken.zip"), nan])
    assert [one.name for one in report.set_aside] == [str(tmp_path / "broken.zip"), "pool 3"]
    with pytest.raises(InputError, match="No such file"):
        mixmood.rank(labelled, {"near": pools["near"], "gone": tmp_path / "gone"})


def test_a_labelled_set_with_too_few_readable_images_is_refused(tmp_path, rng, small_backbone):
    labelled = folder_of(tmp_path / "labelled", noise(rng, 5))
    for i in range(20):
        (labelled / f"broken-{i}.png").write_bytes(b"")
    pools = {"noise": "noise:gaussian?count=40"}
    with pytest.raises(InputError, match="at least 8 labelled images; got 5"):
        mixmood.rank(labelled, pools, draws=2, backbone=small_backbone)


def test_features_cannot_be_mixed_with_images(sets):
    labelled, _ = sets
    with pytest.raises(InputError, match="labelled set holds features, the pool images"):
        mixmood.rank(labelled, {"noise": "noise:gaussian?count=80"})


def test_features_of_different_width_are_refused(sets, rng):
    labelled, _ = sets
    with pytest.raises(InputError, match="'wide': .* labelled set has 16 and the pool has 17"):
        mixmood.rank(labelled, {"wide": features(rng, 100, width=17)})
    with pytest.raises(ShapeError, match="'wide' cannot be compared: all sets must have the same"):
        score(labelled, {"wide": features(rng, 100, width=17)}, RankingPlan(sample_size=30))


def test_two_candidates_of_one_name_are_refused(tmp_path, rng):
    for parent in ("a", "b"):
        folder_of(tmp_path / parent / "scans", noise(rng, 9))
    with pytest.raises(OptionError, match="Two pools are called 'scans'. Name them"):
        mixmood.rank(noise(rng, 9), [tmp_path / "a" / "scans", tmp_path / "b" / "scans"])


def test_no_candidate_at_all_is_refused(sets):
    with pytest.raises(OptionError, match="at least one candidate pool; got none"):
        mixmood.rank(sets[0], [])


def test_a_sample_larger_than_the_pool_is_refused(sets, rng):
    with pytest.raises(InputError, match="'tiny': it holds only 12 .* the sample size is 30"):
        mixmood.rank(sets[0], {"tiny": features(rng, 12)})
    with pytest.raises(OptionError, match="'features_b' cannot be compared: it holds only 12"):
        mixmood.dissimilarity(sets[0], features(rng, 12))


def test_features_and_images_cannot_be_mixed_under_one_name(rng, tmp_path):
    for name, content in (("features", features(rng, 20)), ("images", noise(rng, 20))):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "set.npy", content)
    paths = [tmp_path / name / "set.npy" for name in ("features", "images")]
    for labelled, pool in (paths, paths[::-1]):
        with pytest.raises(InputError, match="features cannot be mixed with images"):
            mixmood.rank(labelled, [pool])


def test_a_ranking_by_no_measure_is_refused(sets):
    with pytest.raises(OptionError, match="measures must name at least one measure; got none"):
        mixmood.rank(*sets, measures=[])
