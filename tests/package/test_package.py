"""What is published says the same everywhere: versions, Pythons, files, commands."""

import re
import runpy
import tomllib
from pathlib import Path

import yaml

import mixmood

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())


def commands():
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


def test_citation_and_changelog_are_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == mixmood.__version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == mixmood.__version__


def test_the_pythons_that_are_declared_are_those_that_the_workflow_runs():
    declared = [
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r":: 3\.\d+$", line)
    ]
    assert declared == WORKFLOW["jobs"]["package"]["strategy"]["matrix"]["python"]
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"


def test_the_workflow_runs_commands_that_a_person_types():
    targets = re.findall(r"^([a-z][\w -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {f"make {word}" for line in targets for word in line.split()}
    assert {"make test", "make docs", "make dist"} == set(commands()) <= known


def test_the_sdist_has_all_that_its_tests_and_commands_need():
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert {"src", "tests", "conftest.py", "constraints.txt", "Makefile"} <= included
    assert all((ROOT / name).exists() for name in included)


def test_the_stub_shows_the_options_as_the_plans_declare_them():
    text = runpy.run_path(str(ROOT / "scripts" / "write_stub.py"))["stub"]()
    is_current = (ROOT / "src" / "mixmood" / "__init__.pyi").read_text() == text
    assert is_current, "Write it anew: .venv/bin/python scripts/write_stub.py"


def test_a_type_checker_sees_right_and_wrong_calls_of_a_user():
    assert "tests/package/user_sample.py" in PROJECT["tool"]["mypy"]["files"]


def test_the_package_says_that_it_is_typed():
    assert (Path(mixmood.__file__).parent / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]
