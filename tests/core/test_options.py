"""Options are declared once, in a plan, and checked there."""

import inspect
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from mixmood.core import options as declared
from mixmood.core.errors import OptionError
from mixmood.core.options import check_kinds, option, option_texts, plan_from, with_options
from mixmood.evidence.gain import POINTS
from mixmood.features.backbones.registry import BACKBONES
from mixmood.heads.registry import HEADS
from mixmood.measures.registry import MEASURES
from mixmood.scores.registry import SCORES
from mixmood.ssl.algorithms.registry import ALGORITHMS


@dataclass(frozen=True, kw_only=True)
class Plan:
    size: int = option(3, "How large.")
    share: float | None = option(None, "How much.")
    name: str = option("x", "Its name.")
    is_quick: bool = option(False, "Whether to hurry.")
    folder: str | Path | None = option(None, "Where.")
    more: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        check_kinds(self)


@with_options(Plan)
def work(what, *, plan, times=1):
    """Do it.

    Args:
        what: The thing.
        times: How often.
    """
    return what, plan, times


def test_options_given_by_name_become_the_plan():
    assert work("a", size=5, times=2) == ("a", Plan(size=5), 2)
    assert work("a", plan=Plan(share=0.5), size=4) == ("a", Plan(size=4, share=0.5), 1)
    assert work("a") == ("a", Plan(), 1)


def test_an_unknown_option_is_refused_with_the_nearest_known_one():
    with pytest.raises(OptionError, match="Unknown option 'sise'. Did you mean 'size'"):
        work("a", sise=3)


def test_the_signature_and_the_docstring_list_the_options():
    parameters = inspect.signature(work).parameters
    assert list(parameters) == ["what", "times", "plan", *vars(Plan())]
    assert parameters["size"].default == 3
    assert parameters["more"].default == {}
    assert "size: How large." in work.__doc__
    assert list(option_texts(Plan)) == ["size", "share", "name", "is_quick", "folder"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": "3"}, "size must be a whole number; got '3'"),
        ({"size": True}, "size must be a whole number; got True"),
        ({"size": 2.5}, "size must be a whole number; got 2.5"),
        ({"share": "much"}, "share must be a number; got 'much'"),
        ({"name": 7}, "name must be a word; got 7"),
        ({"is_quick": 1}, "is_quick must be a bool; got 1"),
        ({"folder": True}, "folder must be a path; got True"),
    ],
)
def test_a_value_of_another_kind_is_refused(values, message):
    with pytest.raises(OptionError, match=message):
        Plan(**values)


def test_whole_numbers_are_numbers_and_nothing_may_be_left_out():
    assert Plan(share=1).share == 1
    assert Plan(share=None).share is None
    assert Plan(folder="x").folder == "x"
    assert Plan(folder=Path("x")).folder == Path("x")


def test_numbers_of_numpy_become_numbers_of_python():
    """A record with a number of NumPy could not be written as JSON."""
    plan = plan_from(
        Plan, {"size": np.int64(5), "share": np.float32(0.5), "is_quick": np.bool_(True)}
    )
    assert plan == Plan(size=5, share=0.5, is_quick=True)
    assert [type(v) for v in (plan.size, plan.share, plan.is_quick)] == [int, float, bool]


def test_a_path_becomes_text_where_a_word_is_wanted():
    assert plan_from(Plan, {"name": Path("net.onnx")}).name == "net.onnx"
    assert plan_from(Plan, {"folder": Path("run")}).folder == Path("run")


@pytest.mark.parametrize(
    ("names", "registry"),
    [
        (declared.BACKBONE_NAMES, BACKBONES),
        (declared.HEAD_ALGORITHMS, HEADS),
        (declared.MEASURE_NAMES, MEASURES),
        (declared.NETWORK_ALGORITHMS, ALGORITHMS),
        (declared.PROBE_ALGORITHMS, POINTS),
        (declared.SCORE_NAMES, SCORES),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else None,
)
def test_help_texts_name_every_member_of_a_family(names, registry):
    # Tests that exchange a member put it back at the end: the order says nothing here.
    assert sorted(names) == sorted(registry)


def test_the_defaults_are_members():
    assert declared.DEFAULT_BACKBONE in BACKBONES
    assert declared.DEFAULT_MEASURE in MEASURES
    assert declared.DEFAULT_SCORE in SCORES


def test_plans_are_declared_without_numpy():
    code = (
        "import sys, mixmood.ranking.plan, mixmood.selection.plan, mixmood.ssl.plan;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
