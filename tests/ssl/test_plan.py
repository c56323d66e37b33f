"""One plan: what the command line, Python, the test bed and the trainer are asked for."""

import inspect

import pytest
import typer.main

from mixmood.api.train import train
from mixmood.cli.main import app
from mixmood.core.errors import OptionError
from mixmood.core.options import option_texts, plan_from
from mixmood.ssl.plan import Recipe, TrainingPlan, TrainingRunPlan
from mixmood.testbed.config import TrainingSection, load_config


def test_the_command_line_has_an_option_for_every_field_of_the_plan():
    command = typer.main.get_command(app).commands["train"]
    options = {parameter.name: parameter for parameter in command.params}
    for name, text in option_texts(TrainingRunPlan).items():
        default = options[name].default  # a list for an option that is repeatable
        default = tuple(default) if isinstance(default, list) else default
        assert default == getattr(TrainingRunPlan(), name)
        assert options[name].required == (name == "out")
        assert options[name].help == text.help


def test_python_takes_every_field_of_the_plan_by_name():
    parameters = inspect.signature(train).parameters
    for name, text in option_texts(TrainingRunPlan).items():
        assert parameters[name].default == getattr(TrainingRunPlan(), name)
        assert f"{name}: {text.help}" in " ".join(train.__doc__.split())
    assert parameters["settings"].default == {}


def test_a_plan_of_how_to_train_is_one_of_a_run_that_nothing_is_written_of():
    run = plan_from(TrainingRunPlan, {}, TrainingPlan(model="wrn-tiny", epochs=3))
    assert (run.epochs, run.folder, run.test, run.cache) == (3, None, None, "default")


def test_the_test_bed_has_the_fields_and_defaults_of_the_recipe():
    section = TrainingSection().model_dump()
    assert section.pop("settings") == {}
    assert Recipe(**section) == Recipe()


def test_a_section_of_the_test_bed_becomes_a_plan_with_the_papers_class_weights():
    section = load_config("paper").training
    plan = section.plan("mixmatch", seed=3, updates=7)
    assert (plan.model, plan.seed, plan.updates) == ("wrn", 3, 7)
    assert plan.settings["balanced"] == "both"
    assert TrainingSection().plan("mixmatch").settings == {"balanced": "both"}
    assert plan.settings["ramp_updates"] == 3000
    changed = TrainingSection(settings={"fixmatch": {"balanced": "none"}})
    assert changed.plan("fixmatch").settings["balanced"] == "none"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"threads": 0}, "threads must be at least 1; got 0"),
        ({"updates": "many"}, "updates must be a whole number; got 'many'"),
        ({"image_size": 3}, "image size must be at least 4 pixels; got 3"),
        ({"test_share": 1.0}, "test share must lie between 0 and 1; got 1"),
        ({"validation_share": 0.0}, "validation share must lie between 0 and 1; got 0"),
    ],
)
def test_a_plan_that_no_run_can_have_is_refused(values, message):
    with pytest.raises(OptionError, match=message):
        TrainingPlan(**values)
