"""The progress bars of commands that read images."""

import io

from rich.console import Console
from rich.progress import Progress as RichProgress

from mixmood.cli.terminal.bars import Bars, rate_of
from mixmood.core.listener import PROBE


def test_the_speed_of_the_probe_is_counted_in_pools_and_that_of_reading_in_images():
    clock = [0.0]
    display = RichProgress(console=Console(file=io.StringIO()), get_time=lambda: clock[0])
    bars = Bars(display)
    for task, steps in (("web", 160), (PROBE, 1)):
        bars.start(task, 1000)
        bars.advance(task, steps)
        clock[0] += 4.0
        bars.advance(task, steps)
    assert [rate_of(task) for task in display.tasks] == ["40 images/s", "0.25 pools/s"]
