"""The demonstration, and correlate, as a user types them."""

import json

import pytest
from typer.testing import CliRunner

from mixmood.cli.main import app


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_the_demo_puts_the_same_classes_first_and_noise_last(cold_demo):
    record = json.loads((cold_demo.folder / "demo.json").read_text())
    by_distance = sorted(record["candidates"], key=lambda c: c["measures"]["cosine"]["rank"])
    names = [candidate["name"] for candidate in by_distance]
    assert names[:3] == ["more digits 0-4", "digits 5-9", "photo patches"]
    assert set(names[3:]) == {"gaussian noise", "salt and pepper"}
    assert "more digits 0-4 is the nearest pool" in record["verdict"]
    assert record["labelled"]["n_images"] == 60
    assert set(record["labelled"]["classes"].values()) == {12}
    assert record["candidates"][0]["advice"] == "use"
    assert record["candidates"][0]["probe"]["gain"] > 0
    assert all(candidate["advice"] != "use" for candidate in record["candidates"][1:])
    assert record["union"]["pools"] == ["more digits 0-4"]
    assert cold_demo.stdout.splitlines()[1].startswith("Use more digits 0-4: +")


def test_correlate_gives_table_json_and_csv(paper_tables, tmp_path):
    tables = (paper_tables / "table1_accuracy.csv", paper_tables / "table2_distances.csv")
    result = invoke(
        "correlate", *tables, "--json", tmp_path / "a.json", "--csv", tmp_path / "a.csv"
    )
    assert result.exit_code == 0, result.stderr
    assert "Pearson" in result.stdout
    rows = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert len(rows) == 36
    assert {"task", "n_labelled", "measure", "pearson", "spearman", "regret_points"} <= rows[
        0
    ].keys()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 37


def test_correlate_with_the_tables_the_wrong_way_round_says_so(paper_tables):
    result = invoke(
        "correlate", paper_tables / "table2_distances.csv", paper_tables / "table1_accuracy.csv"
    )
    assert result.exit_code == 1
    assert "Accuracies come first, distances second" in result.stderr


def test_correlate_does_not_write_over_its_tables(tmp_path):
    (tmp_path / "a.csv").write_text("task\n")
    result = invoke("correlate", tmp_path / "a.csv", "b.csv", "--csv", tmp_path / "." / "a.csv")
    assert result.exit_code == 2
    assert "a.csv is one of the inputs. Name another file to write." in result.stderr
    assert (tmp_path / "a.csv").read_text() == "task\n"


def test_a_task_called_like_a_command_of_rich_is_printed_as_it_is(tmp_path):
    (tmp_path / "a.csv").write_text(
        "task,ood_source,ood_percent,n_labelled,accuracy_mean,algorithm\n"
        + "".join(f"[/x],s{i},100,60,0.{i}5,{a}\n" for a in ("[/y]", "mixmatch") for i in (1, 2, 3))
    )
    (tmp_path / "d.csv").write_text(
        "task,ood_source,ood_percent,measure,distance_mean\n"
        + "".join(f"[/x],s{i},100,[bold],{i}\n" for i in (1, 2, 3))
    )
    result = invoke("correlate", tmp_path / "a.csv", tmp_path / "d.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1].split()[:4] == ["[/x]", "[/y]", "60", "[bold]"]


def test_correlate_writes_csv_to_stdout_and_nothing_else(paper_tables):
    tables = (paper_tables / "table1_accuracy.csv", paper_tables / "table2_distances.csv")
    result = invoke("correlate", *tables, "--csv", "-")
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 37
    assert result.stdout.startswith("task,n_labelled,measure,pearson")
