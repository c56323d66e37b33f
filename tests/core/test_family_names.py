"""Help texts name every member of a family, though none is imported for them."""

import subprocess
import sys

import pytest

from mixmood.core.family_names import DEFAULT_BACKBONE, DEFAULT_MEASURE, DEFAULT_SCORE, member_names
from mixmood.features.backbones.registry import BACKBONES
from mixmood.heads.registry import HEADS
from mixmood.measures.registry import MEASURES
from mixmood.scores.registry import SCORES


@pytest.mark.parametrize(
    ("module", "name", "registry"),
    [
        ("features.backbones.registry", "BACKBONES", BACKBONES),
        ("heads.registry", "HEADS", HEADS),
        ("measures.registry", "MEASURES", MEASURES),
        ("scores.registry", "SCORES", SCORES),
    ],
)
def test_the_names_read_in_the_source_are_the_keys_of_the_registry(module, name, registry):
    # Tests that exchange a member put it back at the end: the order says nothing here.
    assert sorted(member_names(module, name)) == sorted(registry)


def test_an_unknown_registry_is_refused():
    with pytest.raises(LookupError, match="heads.registry has no dictionary TAILS"):
        member_names("heads.registry", "TAILS")


def test_the_defaults_are_members():
    assert DEFAULT_BACKBONE in BACKBONES
    assert DEFAULT_MEASURE in MEASURES
    assert DEFAULT_SCORE in SCORES


def test_plans_are_declared_without_numpy():
    code = (
        "import sys, mixmood.ranking.plan, mixmood.selection.plan, mixmood.ssl.plan;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
