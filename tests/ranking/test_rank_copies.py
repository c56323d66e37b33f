"""Images of a pool that are labelled, near copies of labelled ones, or repeated."""

import numpy as np
import pytest

import mixmood


def test_copies_of_labelled_images_are_left_out_and_told(sets):
    labelled, pools = sets
    copies = np.concatenate([pools["near"], labelled])
    report = mixmood.rank(labelled, {"near": copies, "mid": pools["mid"]}, until=None)
    near, mid = report.candidates
    assert (near.name, near.n_images, near.n_read) == ("near", 260, 200)
    assert near.warnings == (
        "60 of 260 images tried are copies of labelled ones and were left out.",
    )
    assert mid.warnings == ()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_copies_are_found_where_features_are_other_floats(kind, sets):
    labelled, pools = sets
    single = labelled.astype(np.float32)
    copies = np.concatenate([pools["near"].astype(np.float32), single]).astype(kind)
    report = mixmood.rank(single.astype(np.float64), {"near": copies}, until=None, draws=2)
    assert report.candidates[0].n_read == len(pools["near"])


def test_a_pool_of_nothing_but_labelled_images_is_set_aside(sets):
    labelled, pools = sets
    report = mixmood.rank(labelled, {"same": labelled, "near": pools["near"]})
    assert report.best == "near"
    assert report.set_aside[0].reason == (
        "of the images tried, all that can be read are copies of labelled ones. Give another pool, "
        "or leave this one out."
    )


def test_repeated_images_in_a_pool_are_counted(sets):
    labelled, pools = sets
    sixfold = np.tile(pools["near"][:50], (6, 1))
    report = mixmood.rank(labelled, {"sixfold": sixfold, "mid": pools["mid"]}, until=None)
    repeated, mid = report.candidates
    assert (repeated.n_read, repeated.n_distinct) == (300, 50)
    assert "only 50 of the 300 images read are distinct (17 %)" in repeated.warnings[0]
    assert (mid.n_distinct, mid.warnings) == (mid.n_read, ())
    assert report.labelled.n_distinct == 60


def test_near_copies_are_told(sets):
    labelled, pools = sets
    report = mixmood.rank(
        labelled, {"blurred": labelled + 0.01, "near": pools["near"]}, measures="l2"
    )
    near, blurred = report.candidates
    assert (near.name, near.warnings) == ("near", ())
    assert blurred.measures["l2"].signed < 0
    assert blurred.warnings == (
        "100 % of it are near copies of labelled images, such as other sizes or encodings of them: "
        "they teach nothing new.",
    )
    assert blurred.advice == "unsure"


def test_a_pool_nearer_than_chance_allows_is_told_where_nothing_is_a_copy(sets, rng):
    labelled, pools = sets
    moved = labelled + rng.normal(0, 0.25, size=labelled.shape).astype(np.float32)
    report = mixmood.rank(labelled, {"moved": moved, "near": pools["near"]}, measures="l2")
    by_name = {one.name: one for one in report.candidates}
    assert by_name["near"].warnings == ()
    assert (
        "nearer to the labelled ones than those are to each other" in by_name["moved"].warnings[0]
    )
