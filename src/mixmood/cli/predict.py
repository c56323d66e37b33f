"""`mixmood predict`: classify images with a trained model; torch is not needed."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mixmood.cli import options
from mixmood.cli.options import takes
from mixmood.cli.terminal import Bars, put
from mixmood.core.text import counted
from mixmood.ssl import run_folder as run_files
from mixmood.ssl.plan import PredictionPlan


@takes(PredictionPlan)
def predict(
    images: Annotated[str, typer.Argument(help="Images: a folder, archive, array file, ...")],
    model: Annotated[Path, typer.Option(help="The folder that `mixmood train --out` wrote.")],
    plan: PredictionPlan,
    csv: Annotated[str, options.file("Where to write the classes; - is stdout.")] = "-",
) -> None:
    """Classify images with a model that `mixmood train` wrote.

    Example: mixmood predict --model run/ new-images/ --csv classes.csv
    """
    from mixmood.api.outputs import check_outputs
    from mixmood.api.predict import predict as classify

    check_outputs((images, model, *(model / name for name in run_files.ALL)), (csv,))
    with Bars() as bars:
        predictions = classify(model, images, plan=plan, listener=bars)
    put(csv, predictions.to_csv())
    if csv == "-":
        return
    n_none, n_images = int(predictions.is_none.sum()), counted(len(predictions.images), "image")
    none = f", {n_none} of them as none of these classes" if n_none else ""
    place = "" if predictions.device == "cpu" else f" on {predictions.device}"
    sys.stdout.write(f"{n_images} classified{place}{none}; written to {csv}\n")
