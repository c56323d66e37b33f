from dataclasses import replace

import pytest
from fuzz.tiny_bed import TINY

from mixmood.core.errors import InputError, OptionError
from mixmood.testbed.cells import CellFilter, Run, cells, runs
from mixmood.testbed.config import load_config, parse_config, preset_text
from mixmood.testbed.plan import PRESETS

SMALLEST = 'name = "x"\n[grid.tasks]\ndigits = ["gaussian"]\n'


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_its_command_and_can_be_read(name):
    assert f"mixmood testbed run {name} --store" in preset_text(name).split("\n\n")[0]
    assert load_config(name).name == name


def test_the_paper_s_grid_has_90_mismatch_cells_and_their_baselines():
    found = cells(load_config("paper"))
    assert sum(cell.percent > 0 for cell in found) == 90
    assert sum(cell.is_supervised for cell in found) == 18
    assert len(found) == 117
    assert len(runs(load_config("paper"))) == 1170


def test_the_paper_s_preset_has_the_paper_s_values():
    config = load_config("paper")
    assert (config.split.n_unlabelled, config.split.test_share, config.split.n_classes) == (
        3000,
        0.25,
        5,
    )
    training = config.training
    assert (training.epochs, training.batch_size, training.learning_rate) == (50, 16, 2e-4)
    assert training.settings["mixmatch"]["ramp_updates"] == 3000


def test_the_paper_s_cells_are_those_of_its_tables():
    from mixmood.testbed.analysis.tables import paper_table

    ours = {
        (cell.task, cell.source, cell.percent, cell.n_labelled)
        for cell in cells(load_config("paper"))
        if not cell.is_supervised
    }
    theirs = {key for key in paper_table("table1_accuracy") if key[1] != "supervised"}
    assert ours == theirs


def test_the_small_preset_keeps_the_paper_s_protocol():
    small, paper = load_config("paper-small"), load_config("paper")
    assert small.grid.tasks == paper.grid.tasks
    n_updates = small.training.epochs * 63
    assert small.training.learning_rate * n_updates == pytest.approx(2e-4 * 9400, rel=0.03)


def test_runs_come_seed_by_seed():
    seeds = [run.seed for run in runs(load_config("smoke"))]
    assert seeds == sorted(seeds)


def test_a_selection_takes_cells_by_any_key():
    config = load_config("paper")
    only = CellFilter.parse(["task=mnist,percent=50", "n_labelled=60,n_labelled=100"])
    found = {run.cell for run in runs(config, only, seeds=1)}
    assert len(found) == 10
    assert {(cell.task, cell.percent) for cell in found} == {("mnist", 50.0)}


def test_a_run_is_what_was_written():
    run = Run("digits", "none", 0.0, 20, "mixmatch", "fixed-total", seed=3)
    assert Run(**run.to_dict()) == run
    frozen = replace(run, regime="frozen")
    assert Run(**frozen.to_dict()) == frozen


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALLEST + "[training]\nepoch = 3\n", "Unknown key of f 'epoch'. Did you mean 'epochs'"),
        ("nam = 1\n" + SMALLEST, "Unknown key of f 'nam'. Did you mean 'name'"),
        (SMALLEST + "[grid\n", "no valid TOML"),
        ('name = "x"\n', "f: grid: Field required"),
        (
            'name = "x"\n[grid]\npercents = [50, 120]\n[grid.tasks]\nmnist = ["svhn"]',
            r"grid\.percents\.1: Input should be less than or equal to 100; got 120",
        ),
        (SMALLEST.replace("x", "../x"), "f: name: String should match pattern"),
        (SMALLEST + '[split]\nbalanced = "yes"\n', "split.balanced: .* got 'yes'"),
        (
            SMALLEST.replace("grid.tasks", "grid.task"),
            "Unknown key of f 'task'. Did you mean 'task",
        ),
        (SMALLEST.replace("[grid.", "[grid]\nn_labelled = []\n[grid."), r"n_labelled: List should"),
        (
            SMALLEST + "[training]\nepochs = -1\n",
            r"^f: training: epochs must be at least 1; got -1\.$",
        ),
    ],
)
def test_a_file_with_a_mistake_is_refused(text, message):
    with pytest.raises((OptionError, InputError), match=message):
        parse_config(text, "f")


def test_an_unknown_preset_is_refused():
    with pytest.raises(OptionError, match=r"Unknown preset 'papr'. Did you mean 'paper'.*\.toml"):
        load_config("papr")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="Cannot read the test bed .*No such file"):
        load_config(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["task"], "--only takes KEY=VALUE, such as task=mnist; got 'task'"),
        (["tsk=mnist"], "Unknown key of --only 'tsk'. Did you mean 'task'"),
    ],
)
def test_a_filter_of_cells_with_a_mistake_is_refused(words, message):
    with pytest.raises(OptionError, match=message):
        CellFilter.parse(words)


def test_words_of_a_filter_of_cells_may_have_spaces_between_them():
    spaced = CellFilter.parse(["task=digits, source=gaussian "])
    assert spaced == CellFilter.parse(["task=digits,source=gaussian"])


def test_a_grid_without_any_cell_is_refused_without_a_word_about_only():
    empty = parse_config('name = "x"\n[grid]\nbaselines = []\n[grid.tasks]\ndigits = []', "f")
    with pytest.raises(OptionError, match="'x' has no cells: give sources or baselines"):
        runs(empty)


def test_a_selection_that_leaves_nothing_is_refused():
    with pytest.raises(
        OptionError, match="No cell of 'smoke' is left by --only. Unknown task 'mni"
    ):
        runs(load_config("smoke"), CellFilter.parse(["task=mnist"]))
    with pytest.raises(OptionError, match="Unknown source 'gausian'. Did you mean 'gaussian'"):
        runs(load_config("smoke"), CellFilter.parse(["source=gausian"]))
    with pytest.raises(OptionError, match="is left by --only. Select less strictly"):
        runs(load_config("smoke"), CellFilter.parse(["source=none,percent=100"]))
    with pytest.raises(OptionError, match="seeds must be at least 1; got 0"):
        runs(load_config("smoke"), seeds=0)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000])
def test_toml_that_its_own_reader_stumbles_over_is_refused(text):
    with pytest.raises(InputError, match="bed is no valid TOML: "):
        parse_config(text, "bed")


def test_a_grid_of_more_runs_than_anyone_can_make_is_refused_before_it_is_listed():
    text = preset_text("smoke").replace("seeds = ", "seeds = 1_000_000_000 # ")
    with pytest.raises(OptionError, match=r"grid: .*has about \d+ runs, more than 1000000"):
        parse_config(text, "bed")


def test_numbers_must_be_finite():
    text = 'name = "x"\ngrid.tasks.digits = ["gaussian"]\ntraining.learning_rate = inf\n'
    with pytest.raises(OptionError, match="training.learning_rate: Input should be a finite"):
        parse_config(text, "bed")


def test_a_message_shows_the_start_of_a_long_value():
    text = f'name = "{"x" * 9000}"\ngrid.tasks.digits = ["gaussian"]'
    with pytest.raises(OptionError, match="bed: name: String should match") as told:
        parse_config(text, "bed")
    assert len(str(told.value)) < 400


def test_a_grid_without_a_way_of_contamination_is_refused():
    text = 'name = "x"\ngrid.contamination = []\ngrid.tasks.digits = ["gaussian"]'
    with pytest.raises(OptionError, match="grid.contamination: List should have at least 1 item"):
        parse_config(text, "bed")


def test_seeds_count_from_the_first_one():
    text = TINY.replace("seeds = 2", "seeds = 2\nfirst_seed = 11")
    assert {run.seed for run in runs(parse_config(text, "x"))} == {11, 12}


def test_the_authors_code_differs_from_the_text_in_the_settings_that_its_preset_explains():
    text, code = (load_config(name).protocol("scratch") for name in ("paper", "paper-code"))
    differing = {
        f"{section}.{key}"
        for section, values in code.items()
        for key, value in values.items()
        if text[section][key] != value
    }
    assert differing == {
        "split.noise", "split.rgb", "training.model", "training.augment", "training.settings",
        "distances.backbone",
    }  # fmt: skip
    ours, theirs = (one["training"]["settings"] for one in (text, code))
    assert theirs["mixmatch"] == ours["mixmatch"] | {
        "temperature": 0.25, "hard_targets": True, "weighted_mean": True,
        "squared_pool_weights": True,
    }  # fmt: skip
    assert theirs["supervised"] == {"weighted_mean": True}
