"""Outputs of a filter that would change one of its inputs."""

from pathlib import Path

import pytest

from mixmood.api.joined.filter_inputs import check_paths
from mixmood.core.errors import OptionError
from mixmood.selection.plan import FilterPlan


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("path,kind\nscans/a.png,cat\n")
    Path("scans").mkdir()
    return Path("table.csv")


@pytest.mark.parametrize("options", ["?label=kind", "?label=kind&frames=each", "?frames=each"])
def test_an_input_with_options_behind_its_path_is_never_the_output(table, options):
    with pytest.raises(OptionError, match=r"table.csv is one of the inputs\. Name another file"):
        check_paths("scans", f"table.csv{options}", table, FilterPlan())
    with pytest.raises(OptionError, match=r"table.csv is one of the inputs\. Name another file"):
        check_paths(f"table.csv{options}", "scans", table, FilterPlan())


def test_no_folder_is_made_in_an_input_with_options_behind_its_path(table):
    plan = FilterPlan(copy="scans/kept")
    with pytest.raises(OptionError, match="scans/kept lies inside one of the inputs and would"):
        check_paths(table, "scans?frames=each", None, plan)


def test_the_home_of_an_unknown_user_is_no_error_of_its_own(table):
    """Opening it says that it is not there."""
    check_paths("scans", "~nobody-of-this-name/pool", Path("kept.csv"), FilterPlan())


def test_a_damaged_list_is_reported_when_it_is_opened(table):
    table.write_text("path,pool,index,keep\na.png,scans,0,x\n")
    check_paths("scans", table, Path("kept.csv"), FilterPlan())


def test_resume_needs_the_list_whose_scan_it_continues(table):
    with pytest.raises(OptionError, match="resume continues the scan of a list, .*: give out"):
        check_paths("scans", table, None, FilterPlan(resume=True))
