"""`mixmood predict`: classify images with a trained model; torch is not needed."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli.terminal.plan_command import takes
from mixmood.ssl.prediction_plan import PredictionPlan


@takes(PredictionPlan)
def predict(
    images: Annotated[str, typer.Argument(help="Images: a folder, archive, array file, ...")],
    model: Annotated[Path, typer.Option(help="The folder that `mixmood train --out` wrote.")],
    plan: PredictionPlan,
    csv: Annotated[
        Path | None, typer.Option(help="Where to write the classes; stdout if unset.")
    ] = None,
) -> None:
    """Classify images with a model that `mixmood train` wrote.

    Example: mixmood predict --model run/ new-images/ --csv classes.csv
    """
    from mixmood.api.predict import predict_planned
    from mixmood.cli.terminal.bars import progress_bars
    from mixmood.cli.terminal.streams import put, say
    from mixmood.core.files.atomic import check_writable, write_atomic
    from mixmood.core.words import counted

    if csv is not None:
        check_writable(csv)
    with progress_bars(is_quiet=False) as bars:
        predictions = predict_planned(
            model, images, plan, bars, lambda message: say(f"Warning: {message}")
        )
    if csv is None:
        put("-", predictions.to_csv())
        return
    write_atomic(csv, predictions.to_csv())
    n_none = int(predictions.is_none.sum())
    none = f", {n_none} of them none of these classes" if n_none else ""
    n_images = counted(len(predictions.images), "image")
    place = "" if predictions.device == "cpu" else f" on {predictions.device}"
    sys.stdout.write(f"{n_images} classified{place}{none}; written to {csv}\n")
