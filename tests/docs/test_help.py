"""Help teaches by an example that works, and the page of the commands says what help says."""

import importlib.util
import re
from pathlib import Path

import pytest
import typer

from mixmood.cli.main import app

ROOT = Path(__file__).parent.parent.parent
NEEDS_NETWORK = {"data get"}


def page_maker():
    path = ROOT / "scripts" / "write_cli_page.py"
    spec = importlib.util.spec_from_file_location("write_cli_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HELPS = page_maker().all_helps(typer.main.get_command(app))


def example_of(text):
    """The line after `Example:`, however it was wrapped."""
    found = re.search(r"Example: (mixmood .+?)\n\s*\n", text, re.DOTALL)
    return None if found is None else " ".join(found[1].split())


def leaves():
    return [name for name, text in HELPS.items() if "Commands:" not in text]


@pytest.mark.parametrize("name", leaves())
def test_a_commands_help_shows_an_example_of_that_command(name):
    example = example_of(HELPS[name] + "\n\n")
    assert example is not None
    assert example.startswith(f"mixmood {name}")


def test_the_programs_help_shows_an_example():
    assert example_of(HELPS[""]) is not None


@pytest.mark.slow
@pytest.mark.usefixtures("folder", "own_cache")
def test_all_examples_of_the_help_work(run_command):
    """In one folder and in this order: what `train` writes, `predict` reads."""
    for name in ["", *leaves()]:
        if name not in NEEDS_NETWORK:
            run_command(example_of(HELPS[name] + "\n\n"))


def test_the_page_of_the_commands_is_what_help_says():
    page = (ROOT / "docs" / "cli.md").read_text()
    assert page == page_maker().page(), "Write it anew: .venv/bin/python scripts/write_cli_page.py"
