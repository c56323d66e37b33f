"""Every option in one place, for the command line and for Python."""

import inspect
from dataclasses import fields

import pytest
import typer

import mixmood
from mixmood.cli.main import app
from mixmood.core.errors import OptionError
from mixmood.ranking.plan import RankingPlan


def test_python_and_the_command_line_offer_the_fields_of_the_plan():
    names = {field.name for field in fields(RankingPlan)}
    parameters = inspect.signature(mixmood.rank).parameters
    assert set(parameters) == {"labelled", "candidates", "plan", "listener"} | names
    assert parameters["draws"].default == 30
    command = typer.main.get_command(app).commands["rank"]
    assert names <= {option.name for option in command.params}
    assert "draws: Number of draws (C)." in mixmood.rank.__doc__


def test_an_unknown_option_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Unknown option 'measure'. Did you mean 'measures'"):
        mixmood.rank([], {}, measure="l2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ()}, "at least one measure; got none"),
        ({"measures": None}, "at least one measure; got none"),
        ({"measures": ("cosin",)}, "Did you mean 'cosine'"),
        ({"sample_size": 0}, "sample_size must be at least 1; got 0"),
        ({"draws": 1}, "draws must be at least 2, to have a spread; got 1"),
        ({"until": 0.5}, "until must be over 0.5"),
        ({"until": "none"}, "until must be a number; got 'none'"),
        ({"jobs": 0}, "jobs must be at least 1; got 0"),
        ({"draws": 4.5}, "draws must be a whole number; got 4.5"),
        ({"seed": None}, "seed must be a whole number; got None"),
        ({"cache": True}, "cache must be a path; got True"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        RankingPlan(**options)


def test_one_measure_may_be_given_as_a_word():
    assert RankingPlan(measures="l2").measures == ("l2",)
    assert RankingPlan(measures=["all"]).measure == "cosine"
