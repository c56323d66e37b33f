import numpy as np
import pytest

from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.evidence.accuracy import (
    all_logits,
    keep_threshold,
    nested_plan,
    never_predicted_warning,
    right_by_image,
)
from mixmood.heads import HEADS
from mixmood.heads.problem import directions, head_problem
from mixmood.numerics.folds import repeated_folds


def clouds(n=24, m=40, d=10, k=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    centres = 2 * rng.normal(size=(k, d))
    pool = centres[rng.integers(0, k, m)] + rng.normal(size=(m, d))
    return centres[codes] + rng.normal(size=(n, d)), codes, pool


def all_heads():
    return dict(HEADS)


def logits_of(features, codes, pool, folds, heads=None):
    plan, rng = nested_plan(folds), np.random.default_rng(7)
    problem = head_problem(features, codes, 3, pool, plan.weights)
    _, logits = all_logits(heads or all_heads(), problem, directions(features), rng)
    return {name: plan.out_of_fold(one) for name, one in logits.items()}


def test_every_row_is_predicted_in_every_repeat_by_every_head():
    features, codes, pool = clouds()
    folds = repeated_folds(codes, 4, 2, np.random.default_rng(0))
    for logits in logits_of(features, codes, pool, folds).values():
        assert logits.shape == (2, 24, 3)
        assert np.isfinite(logits).all()
        assert right_by_image(logits, codes).mean() > 0.7


@pytest.mark.parametrize("name", HEADS)
def test_the_label_of_a_held_out_row_is_not_used(name):
    """Its class is changed; what is predicted for it must not move."""
    features, codes, pool = clouds()
    folds = np.arange(24)[None] % 4
    problem = head_problem(features, codes, 3, pool, (folds != 0).astype(float))
    wrong = np.where(folds[0] == 0, (codes + 1) % 3, codes)
    spoiled = head_problem(features, wrong, 3, pool, (folds != 0).astype(float))
    # The same penalty: the folds that choose it depend on the codes.
    head = HEADS[name]
    if name == "supervised":
        penalties = np.array([0.1])
        pair = [p.labelled.heads_at(penalties) for p in (problem, spoiled)]
    else:
        pair = [head.fit(p, np.random.default_rng(0)) for p in (problem, spoiled)]
    assert pair[0].weights == pytest.approx(pair[1].weights, abs=5e-3)


def test_folds_in_parts_are_the_folds_at_once(monkeypatch):
    features, codes, pool = clouds()
    folds = repeated_folds(codes, 3, 2, np.random.default_rng(0))
    at_once = logits_of(features, codes, pool, folds)
    monkeypatch.setattr("mixmood.evidence.accuracy.LARGEST", 1)
    in_parts = logits_of(features, codes, pool, folds)
    for name, logits in at_once.items():
        assert in_parts[name] == pytest.approx(logits, abs=2e-2)


def test_a_head_does_not_depend_on_the_heads_beside_it():
    features, codes, pool = clouds()
    folds = repeated_folds(codes, 3, 1, np.random.default_rng(0))
    alone = {"mixmatch": HEADS["mixmatch"]}
    together = logits_of(features, codes, pool, folds)["mixmatch"]
    assert (
        logits_of(features, codes, pool, folds, alone)["mixmatch"].tobytes() == together.tobytes()
    )


def test_rows_that_are_never_held_out_are_nan():
    features, codes, pool = clouds()
    codes = codes % 2
    codes[0] = 2
    folds = repeated_folds(codes, 3, 2, np.random.default_rng(0))
    supervised = {"supervised": HEADS["supervised"]}
    right = right_by_image(logits_of(features, codes, pool, folds, supervised)["supervised"], codes)
    assert np.isnan(right[0])
    assert np.isfinite(right[1:]).all()


def test_folds_of_other_rows_are_refused():
    features, codes, pool = clouds()
    with pytest.raises(ShapeError, match=r"weights must be \(B, 24\); got \(\d+, 23\)"):
        logits_of(features, codes, pool, np.zeros((1, 23), int))


def test_the_promised_share_of_new_images_is_kept():
    """Over many draws of 40 known and 1 new confidence, at least 95 % and not many more."""
    rng = np.random.default_rng(0)
    draws = rng.beta(4, 2, (20_000, 41))
    kept = [row[40] >= keep_threshold(row[:40]) for row in draws]
    assert 0.945 < np.mean(kept) < 0.985


def test_rows_that_were_never_held_out_do_not_count():
    values = np.append(np.linspace(0.01, 0.99, 99), np.nan)
    assert keep_threshold(values) == pytest.approx(0.05)


def test_what_cannot_be_promised_is_refused():
    with pytest.raises(InputError, match="needs values of held-out images; got none"):
        keep_threshold(np.array([np.nan]))
    with pytest.raises(OptionError, match="share"):
        keep_threshold(np.ones(3), 1.5)


def test_a_warning_names_the_first_of_many_classes_that_are_never_predicted():
    """With 200 classes of three images it had 165 names."""
    names = [f"class {number}" for number in range(165)]
    warning = never_predicted_warning(names, dict.fromkeys(names, 3))
    assert "class 3, class 4 and 160 more (495 images) are never predicted" in warning
    assert "class 5" not in warning
