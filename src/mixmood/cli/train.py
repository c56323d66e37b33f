"""`mixmood train`: a model from a few labelled images and a pool of unlabelled ones."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixmood.cli.terminal import options as shared
from mixmood.cli.terminal.plan_options import takes_plan
from mixmood.ssl.plan import TrainingPlan

if TYPE_CHECKING:
    from mixmood.ssl.output.record import TrainingRecord


@takes_plan(TrainingPlan)
def train(
    labelled: Annotated[str, typer.Option(help="Labelled images: class folders, a manifest, ...")],
    out: Annotated[Path, typer.Option(help="Folder for the model, its record and checkpoints.")],
    options: dict[str, Any],
    unlabelled: Annotated[
        str | None, typer.Option(help="The pool; not needed for supervised.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Images with classes to test on.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(help="A setting of the algorithm, e.g. gamma=10 or ood_mask=0.7; repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from the checkpoint in --out.")] = False,
    mlflow: Annotated[str | None, typer.Option(help="MLflow tracking URI to log to.")] = None,
) -> None:
    """Train with a pool of unlabelled images, and test.

    Example: mixmood train --labelled labelled/ --unlabelled crawl.zip --out run/
    """
    from mixmood.api.train import train as train_model
    from mixmood.cli.terminal.prompt_end import ends_promptly
    from mixmood.cli.terminal.training_bar import TrainingBar

    with ends_promptly(lambda: _stopped(out)), TrainingBar() as bar:
        try:
            record = train_model(
                labelled,
                unlabelled,
                plan=TrainingPlan(**options, settings=_settings(options["algorithm"], setting)),
                test=test,
                out=out,
                resume=resume,
                mlflow=mlflow,
                progress=bar,
                notify=bar.warn,
                inform=bar.inform,
                on_epoch=bar.show_epoch,
            )
        except KeyboardInterrupt:
            bar.inform(_stopped(out))
            raise typer.Exit(shared.INTERRUPTED) from None
    sys.stdout.write(summary_text(record, out))


def _stopped(out: Path) -> str:
    from mixmood.ssl.output.run_files import CHECKPOINT

    if not (out / CHECKPOINT).exists():
        return "Stopped before the first checkpoint: nothing is kept."
    return f"Stopped. What was learnt is in {out}: the same command with --resume goes on."


def _settings(algorithm: str, words: list[str] | None) -> dict[str, Any]:
    if not words:
        return {}
    from mixmood.ssl.image_training import parsed_settings

    return parsed_settings(algorithm, words)


def summary_text(record: "TrainingRecord", out: Path) -> str:
    """The accuracies of a finished run, the honest ones first."""
    lines = [
        f"test accuracy, last epoch {record.accuracy_last:.4f}",
        f"  median of the last five {record.accuracy_median:.4f}",
    ]
    if record.accuracy_selected is not None:
        lines.append(
            f"  selected on validation  {record.accuracy_selected:.4f}"
            f"  (epoch {record.selected_epoch})"
        )
    lines += [
        f"  best epoch on test data {record.accuracy_best:.4f}  (epoch {record.best_epoch})",
        f"{record.elapsed_s:.1f} s, {record.images_per_s:.0f} images a second; results in {out}",
    ]
    return "\n".join(lines) + "\n"
