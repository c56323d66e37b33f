"""What `make test` installs has one version each, the one in constraints.txt."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parent.parent.parent / "constraints.txt"


def pinned():
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", line) for line in lines)
    return {canonicalize_name(line.split("==")[0]) for line in lines}


def needed(name, extras):
    """The packages that a package needs, directly or not, as installed here."""
    found, waiting = set(), [(name, frozenset(extras))]
    while waiting:
        package, asked = waiting.pop()
        if (package, asked) in found:
            continue
        found.add((package, asked))
        for text in requires(package) or []:
            one = Requirement(text)
            marker = one.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in asked or {""}):
                waiting.append((canonicalize_name(one.name), frozenset(one.extras)))
    return {package for package, _ in found} - {name}


def test_every_package_that_is_installed_for_the_tests_is_pinned():
    try:
        packages = needed("mixmood", {"dev"})
    except PackageNotFoundError as error:
        pytest.skip(f"the extra dev is not installed: {error}")
    assert len(packages) > 100
    assert packages - pinned() == set()
