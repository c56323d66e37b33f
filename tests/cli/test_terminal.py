"""A command says how far it is and how long it will take, also where stderr is no terminal."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from mixmood.cli.main import app
from mixmood.cli.terminal import INTERRUPTED, Bars, Pace, speed_of
from mixmood.cli.train import epoch_line
from mixmood.core.listener import PROBE
from mixmood.ssl.record import EpochRecord


def test_after_the_first_seconds_the_time_left_is_said_and_then_now_and_then():
    pace = Pace("training", 100, now_s=0.0)
    lines = {second: pace.advance(1, float(second)) for second in range(1, 61)}
    said = {second: line for second, line in lines.items() if line}
    assert list(said) == [5, 35]
    assert said[5] == "training: 5 of 100, about 95 s left".replace("95 s", "1 min 35 s")
    assert said[35] == "training: 35 of 100, about 1 min 5 s left"


def test_updates_of_a_run_that_goes_on_do_not_count_as_quick():
    pace = Pace("training", 100, now_s=0.0)
    pace.advance(90, 0.0)
    assert pace.advance(1, 6.0) == "training: 91 of 100, about 54 s left"


def test_a_slow_first_update_is_enough_for_an_estimate():
    pace = Pace("training", 61, now_s=0.0)
    assert pace.advance(1, 60.0) == "training: 1 of 61, about 60 min 0 s left"


def test_lines_within_an_epoch_appear_where_no_bar_can(capsys):
    seconds = iter(range(0, 1000, 10))
    with Bars(has_lines=True, clock=lambda: float(next(seconds))) as bar:
        bar.start("training", 20)
        for _ in range(12):
            bar.advance("training")
        bar.finish("training")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "training: 1 of 20, about 3 min 10 s left"
    assert len(lines) == 4


def test_an_epoch_without_a_confident_guess_says_so():
    epoch = EpochRecord(1, 3, 1e-3, 0.5, 0.5, 0.0, None, (0.5, 0.5), 0.75, None, 9.0, 0.0)
    line = epoch_line(epoch)
    assert "no guess has reached the threshold yet: the pool is not used" in line
    assert "unlabelled" not in line
    used = EpochRecord(1, 3, 1e-3, 0.5, 0.5, 0.1, None, (0.5, 0.5), 0.75, None, 9.0, 0.25)
    assert "unlabelled 0.1000  confident guesses 25 %" in epoch_line(used)


def test_the_speed_of_the_probe_is_counted_in_pools_and_that_of_reading_in_images():
    clock = [0.0]
    display = Progress(console=Console(file=io.StringIO()), get_time=lambda: clock[0])
    bars = Bars()
    bars._display = display
    for task, steps in (("web", 160), (PROBE, 1)):
        bars.start(task, 1000)
        bars.advance(task, steps)
        clock[0] += 4.0
        bars.advance(task, steps)
    assert [speed_of(task).split("  ")[0] for task in display.tasks] == [
        "40 images/s",
        "0.25 pools/s",
    ]


@pytest.mark.parametrize(
    ("words", "variable", "is_uncached"),
    [
        (["--cache", "none"], "", True),
        (["--cache=none"], "", True),
        (["a", "--cache", "there"], "none", False),
        (["a", "none"], "", False),
        (["a"], "none", True),
    ],
)
def test_ctrl_c_promises_to_continue_only_from_a_cache(words, variable, is_uncached, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setenv("MIXMOOD_CACHE", variable)
    monkeypatch.setattr("mixmood.api.rank.rank", interrupted)
    result = CliRunner().invoke(app, ["rank", "labelled", "pool", *words])
    assert result.exit_code == INTERRUPTED
    assert "Interrupted." in result.stderr
    assert ("continues from its cache" in result.stderr) != is_uncached
