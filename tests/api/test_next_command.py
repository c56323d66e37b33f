"""What a ranking says to type next works as printed."""

import json
import shlex
from dataclasses import fields, replace

import numpy as np
import pytest
from tests.fixtures.class_features import of_class
from typer.testing import CliRunner

from mixmood.api.rank import rank, with_command
from mixmood.cli.main import app
from mixmood.core.records.ranking import Probe, Ranking, Union
from mixmood.ranking.plan import RankingPlan

WIDTH, N_CLASSES = 48, 4


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A labelled set with classes and three pools, as files in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    codes = np.arange(60) % N_CLASSES
    np.savez("mine.npz", features=of_class(rng, codes, WIDTH), labels=codes)
    own, foreign = (
        of_class(rng, rng.integers(0, N_CLASSES, 200), WIDTH),
        of_class(rng, np.full(200, 9), WIDTH),
    )
    np.save("more of the same.npy", own)
    np.save("foreign.npy", foreign + 4)
    np.save("mixed.npy", rng.permutation(np.concatenate([own[:80], foreign[:120] + 4])))
    return tmp_path


def plain(report):
    """The record without what a report remembers of the images."""
    return Ranking(**{one.name: getattr(report, one.name) for one in fields(Ranking)})


def typed(*words):
    return CliRunner().invoke(app, list(words), catch_exceptions=False)


def next_words(*candidates, options=()):
    """The words after `mixmood` that a ranking says to type next."""
    shown = typed(
        "rank", "mine.npz", *candidates, "--draws", "2", "--until", "none", "--json", "-", *options
    )
    assert shown.exit_code == 0, shown.output
    command = json.loads(shown.stdout)["next"]
    program, *words = shlex.split(command)
    assert program == "mixmood"
    return words


@pytest.mark.parametrize(
    ("candidates", "verb", "options"),
    [
        (["more of the same.npy", "foreign.npy"], "train", []),
        (["foreign.npy"], "train", ["--seed", "3"]),
        (["mixed.npy"], None, []),
    ],
)
def test_what_is_printed_can_be_typed(places, candidates, verb, options):
    words = next_words(*candidates, options=options)
    assert verb is None or words[0] == verb
    assert ("--seed" in words) == bool(options)
    again = typed(*words)
    assert again.exit_code == 0, again.output


def use(*names):
    """The advice to use these pools."""
    return Union(names, Probe(3.0, (1.0, 5.0), 0.99, "mixmatch", 3.0, 1.0, 80.0, True, 400))


def test_the_command_trains_with_the_pools_that_were_advised(places):
    record = rank("mine.npz", {"web": "foreign.npy"}, draws=2, until=None, probe=False)
    given = {"web": "foreign.npy", "x": "more of the same.npy"}

    def command(*names):
        plan = RankingPlan(seed=2)
        return with_command(replace(plain(record), union=use(*names)), "mine.npz", given, plan).next

    assert command("web") == "mixmood train mine.npz foreign.npy --out run-web --seed 2"
    assert command("x", "web") == (
        "mixmood train mine.npz 'more of the same.npy' foreign.npy --out run-x-web --seed 2"
    )


def test_the_pool_that_needs_a_filter_is_filtered(places):
    """The advice is put in, so that the test does not depend on where it changes."""
    record = rank("mine.npz", {"mixed pool": "mixed.npy"}, draws=2, until=None, probe=False)
    (candidate,) = record.candidates
    record = replace(plain(record), candidates=(replace(candidate, advice="filter"),))
    found = with_command(record, "mine.npz", {"mixed pool": "mixed.npy"}, RankingPlan(seed=5))
    assert found.next == "mixmood filter mine.npz mixed.npy --out kept-mixed-pool.csv --seed 5"
    assert typed(*shlex.split(found.next)[1:]).exit_code == 0


def test_the_answer_and_the_command_name_the_same_pool_to_filter(places):
    """The answer takes the highest gain; the pools of the record may stand by distance."""
    record = rank(
        "mine.npz", {"a": "mixed.npy", "b": "foreign.npy"}, draws=2, until=None, probe=False
    )
    near, far = record.candidates
    pools = tuple(
        replace(pool, advice="filter", probe=replace(use().probe, gain=gain))
        for pool, gain in ((near, -2.0), (far, -1.0))
    )
    found = with_command(
        replace(plain(record), candidates=pools), "mine.npz", {"a": "a.npy", "b": "b.npy"},
        RankingPlan(),
    )  # fmt: skip
    assert found.next == f"mixmood filter mine.npz {far.name}.npy --out kept-{far.name}.csv"


def test_the_command_trains_the_head_whose_gain_was_measured(places):
    record = rank("mine.npz", {"web": "foreign.npy"}, draws=2, until=None, probe=False)
    given, plan = {"web": "foreign.npy"}, RankingPlan(probe_algorithm="mixmatch")
    found = with_command(replace(plain(record), union=use("web")), "mine.npz", given, plan)
    assert found.next == ("mixmood train mine.npz foreign.npy --out run-web --algorithm mixmatch")
    without = with_command(plain(record), "mine.npz", given, plan)
    assert without.next == "mixmood train mine.npz --out run-supervised"


def test_there_is_nothing_to_type_where_nothing_can_be_trained(places):
    """Without classes no command trains; arrays have no name that could be typed."""
    rng = np.random.default_rng(1)
    np.save("unlabelled.npy", rng.normal(size=(60, WIDTH)))
    without = rank("unlabelled.npy", ["foreign.npy"], draws=2, until=None)
    assert without.next is None or without.next.startswith("mixmood filter")
    record = rank("mine.npz", {"a": rng.normal(size=(90, WIDTH))}, draws=2, until=None, probe=False)
    arrays = replace(plain(record), union=use("a"), next=None)
    assert with_command(arrays, "mine.npz", {"a": np.ones(3)}, RankingPlan()).next is None


def test_frames_are_written_into_the_paths_of_train_which_has_no_option_for_them(places):
    record = rank("mine.npz", ["foreign.npy"], draws=2, until=None, probe=False)
    record = replace(plain(record), next=None)
    words = shlex.split(with_command(record, "mine.npz", {}, RankingPlan(frames="each")).next)
    assert words[1:3] == ["train", "mine.npz?frames=each"]
    assert "--frames" not in words


def test_a_backbone_and_groups_are_carried_over(places):
    record = rank("mine.npz", ["foreign.npy"], draws=2, until=None, probe=False)
    plan = RankingPlan(backbone="untrained-wrn", resolution=64, groups=r"\[(\d)\d?\]")
    command = with_command(replace(plain(record), next=None), "mine.npz", {}, plan).next
    assert shlex.split(command) == [
        "mixmood", "train", "mine.npz", "--out", "run-supervised", "--backbone", "untrained-wrn",
        "--resolution", "64", "--groups", r"\[(\d)\d?\]",
    ]  # fmt: skip
