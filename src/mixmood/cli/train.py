"""`mixmood train`: a model from a few labelled images and a pool of unlabelled ones."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.terminal import options

if TYPE_CHECKING:
    from mixmood.ssl.output.record import TrainingRecord


def train(
    labelled: Annotated[str, typer.Option(help="Labelled images: class folders, a manifest, ...")],
    out: Annotated[Path, typer.Option(help="Folder for the model, its record and checkpoints.")],
    unlabelled: Annotated[
        str | None, typer.Option(help="The pool; not needed for supervised.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Images with classes to test on.")] = None,
    test_share: Annotated[
        float | None,
        typer.Option(help="Without --test: share of each class to set aside (0.25)."),
    ] = None,
    validation_share: Annotated[
        float | None, typer.Option(help="Share of each class to select the epoch by.")
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(help="supervised, mixmatch, pseudo-label, fixmatch or mean-teacher."),
    ] = "mixmatch",
    setting: Annotated[
        list[str] | None,
        typer.Option(help="A setting of the algorithm, e.g. gamma=10 or ood_mask=0.7; repeatable."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="wrn-tiny, wrn-small, wrn-thin, wrn (the paper's), or wrn:blocks=2,..."),
    ] = "wrn",
    image_size: Annotated[
        int | None, typer.Option(help="Side in pixels; that of the first labelled image if unset.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the pool.")] = 50,
    updates: Annotated[
        int | None, typer.Option(help="Updates in all, in place of passes; tested --epochs times.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(help="Labelled images per update, and as many unlabelled ones.")
    ] = 16,
    learning_rate: Annotated[float, typer.Option(help="Peak of the one-cycle policy.")] = 2e-4,
    weight_decay: Annotated[float, typer.Option(help="Decoupled weight decay.")] = 1e-4,
    augment: Annotated[str, typer.Option(help="paper, flips, flip-crop, crop or none.")] = "paper",
    ema: Annotated[
        float, typer.Option(help="Decay of averaged weights to test; 0 for none.")
    ] = 0.0,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Decides everything random.")] = 0,
    resume: Annotated[bool, typer.Option(help="Go on from the checkpoint in --out.")] = False,
    mlflow: Annotated[str | None, typer.Option(help="MLflow tracking URI to log to.")] = None,
) -> None:
    """Train with a pool of unlabelled images, and test.

    Example: mixmood train --labelled labelled/ --unlabelled crawl.zip --out run/
    """
    from mixmood.cli.terminal.training_bar import TrainingBar
    from mixmood.ssl.job import train_job

    with TrainingBar() as bar:
        try:
            record = train_job(
                labelled,
                unlabelled,
                test=test,
                test_share=test_share,
                validation_share=validation_share,
                algorithm=algorithm,
                settings=_settings(algorithm, setting or []),
                model=model,
                image_size=image_size,
                epochs=epochs,
                updates=updates,
                batch_size=batch_size,
                learning_rate=learning_rate,
                weight_decay=weight_decay,
                augment=augment,
                ema=ema,
                device=device,
                seed=seed,
                out=out,
                resume=resume,
                mlflow=mlflow,
                progress=bar,
                notify=bar.warn,
                on_epoch=bar.tell_epoch,
            )
        except KeyboardInterrupt:
            bar.warn(_stopped(out))
            raise typer.Exit(options.INTERRUPTED) from None
    sys.stdout.write(summary_text(record, out))


def _stopped(out: Path) -> str:
    from mixmood.ssl.output.run_files import CHECKPOINT

    if not (out / CHECKPOINT).exists():
        return "Stopped before the first checkpoint: nothing is kept."
    return f"Stopped. What was learnt is in {out}: the same command with --resume goes on."


def _settings(algorithm: str, words: list[str]) -> dict[str, float | int | bool | str | None]:
    if not words:
        return {}
    from mixmood.ssl.job import parsed_settings

    return parsed_settings(algorithm, words)


def summary_text(record: "TrainingRecord", out: Path) -> str:
    """What a finished run says: every reading of its accuracy, the honest ones first."""
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
