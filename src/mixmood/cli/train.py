"""`mixmood train`: a model from a few labelled images and pools of unlabelled ones."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mixmood.cli.options import takes
from mixmood.cli.terminal import INTERRUPTED, Bars, say
from mixmood.core.errors import OptionError
from mixmood.core.interrupt import ends_at_once
from mixmood.core.text import counted, first_names, in_percent
from mixmood.ssl.plan import TrainingRunPlan
from mixmood.ssl.run_folder import CHECKPOINT

if TYPE_CHECKING:
    from mixmood.ssl.record import EpochRecord, HeadRecord, TrainingRecord


@takes(TrainingRunPlan)
def train(
    sets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LABELLED [POOL...]",
            help="The labelled images (class folders, a list, ...), then any number of pools: "
            "PATH or NAME=PATH.",
            show_default=False,
        ),
    ] = None,
    *,
    labelled: Annotated[
        str | None, typer.Option(help="The labelled images, if not the first word.")
    ] = None,
    unlabelled: Annotated[
        list[str] | None, typer.Option(help="A pool; repeatable, beside those that are words.")
    ] = None,
    plan: TrainingRunPlan,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting of a network's algorithm, e.g. gamma=10 or ood_mask=0.7; repeatable."
        ),
    ] = None,
) -> None:
    """Train a classifier on labelled images and the pools that help, and estimate its accuracy.

    Of the pools, those are used that `mixmood rank` would advise; the others are left out, and
    the reason is given. With --algorithm, all pools are used.

    Example: mixmood train labelled/ crawl.zip clinic=scans/ --out run/
    """
    words = [*(sets or [])]
    if labelled is None:
        if not words:
            raise OptionError("Give the labelled images: mixmood train LABELLED POOL... --out DIR.")
        labelled = words.pop(0)
    pools = [*words, *(unlabelled or [])]
    with ends_at_once():  # there is nothing to save yet
        from mixmood.api.train import train as train_model
        from mixmood.ssl.image_training import load_torch, parsed_settings

        if not plan.is_head:
            load_torch()
    if setting:
        plan = replace(plan, settings=parsed_settings(plan, setting))
    out = Path(plan.out or "")
    with Bars(has_lines=True) as bars:

        def show_epoch(epoch: "EpochRecord") -> None:
            (bars.show_beside if bars.is_drawn else say)(epoch_line(epoch))

        try:
            trained = train_model(
                labelled, pools or None, plan=plan, listener=bars, on_epoch=show_epoch
            )
        except KeyboardInterrupt:
            from mixmood.core.cache import cache_directory

            kept = "only features in the cache are" if cache_directory(plan.cache) else "nothing is"
            how = f"Stopped before the first checkpoint: {kept} kept."
            if (out / CHECKPOINT).exists():
                again = "continue with the same command and --resume."
                how = f"Stopped. The checkpoint is in {out}: {again}"
            say(how)
            raise typer.Exit(INTERRUPTED) from None
    sys.stdout.write(summary_text(trained.record, out))


def summary_text(record: "HeadRecord | TrainingRecord", out: Path) -> str:
    """The summary of a finished run on stdout."""
    from mixmood.ssl.record import HeadRecord

    if isinstance(record, HeadRecord):
        return "\n".join(_head_lines(record, out)) + "\n"
    return "\n".join(_network_lines(record, out)) + "\n"


def _head_lines(record: "HeadRecord", out: Path) -> list[str]:
    """Accuracy, algorithm, images, pools not used, when predict answers "none of these", files."""
    from mixmood.report.text import in_view

    accuracy, n_classes = record.accuracy_words, len(record.class_names)
    if record.accuracy.test is not None:
        accuracy += f"; {record.accuracy.test:.3f} on {counted(record.n_test, 'test image')}"
    if record.view is not None:
        accuracy += f"; seen at {in_view(record.view)}"
    trained = f"trained on {record.n_labelled} labelled images of {n_classes} classes"
    if used := [f"{pool.name} ({pool.n_used:,})" for pool in record.pools if pool.n_used]:
        of_all = f"{record.n_unlabelled:,} of {counted(record.n_pool, 'pool image')}"
        trained += f" and {of_all}: {first_names(used)}"
    refused = 'predict never answers "none of these": there are too few labelled images or groups'
    if record.threshold is not None:
        refused = (
            'predict answers "none of these" for an image that is less typical than 95 % of the '
            "labelled images"
        )
    files = f"model.onnx, record.json and report.html in {out}"
    reason, seconds = f"{record.algorithm}: {record.reason}", f"{record.elapsed_s:.1f} s; {files}"
    return [accuracy, reason, trained, *_left_out(record), refused, seconds]


def _left_out(record: "HeadRecord") -> list[str]:
    """One line: the pools that were not used, by the advice for them."""
    left, parts = [pool for pool in record.pools if not pool.n_used], []
    for advice in dict.fromkeys(pool.advice for pool in left):
        own = [pool for pool in left if pool.advice == advice]
        why = own[0].reason if len(own) == 1 else NOT_USED.get(advice or "", own[0].reason)
        # A pool may be advised, and have no image that another pool does not have.
        word = f"{advice}: " if advice and advice != "use" else ""
        parts.append(f"{first_names([pool.name for pool in own])} ({word}{why})")
    return [f"not used: {'; '.join(parts)}"] if parts else []


NOT_USED = {
    "avoid": "hardly anything useful, or expected to harm",
    "filter": "a part is useful, but is not sure to help",
    "unsure": "not sure to help",
}
"""Why several pools of the same advice are not used."""


def _network_lines(record: "TrainingRecord", out: Path) -> list[str]:
    """The accuracies of a network, unbiased ones first."""
    selected = []
    if (chosen := record.accuracy_selected) is not None:
        selected = [f"  selected on validation  {chosen:.4f}  (epoch {record.selected_epoch})"]
    return [
        f"test accuracy, last epoch {record.accuracy_last:.4f}",
        f"  median of the last five {record.accuracy_median:.4f}",
        *selected,
        f"  best epoch on test data {record.accuracy_best:.4f}  (epoch {record.best_epoch})",
        f"{record.elapsed_s:.1f} s, {record.images_per_s:.0f} images a second; results in {out}",
    ]


def epoch_line(epoch: "EpochRecord") -> str:
    """An epoch in one line."""
    words = [f"epoch {epoch.epoch}", f"loss {epoch.loss:.4f}"]
    if epoch.share_sure == 0:
        words.append("no guess has reached the threshold yet: the pool is not used")
    elif epoch.loss_unlabelled is not None:
        words.append(f"unlabelled {epoch.loss_unlabelled:.4f}")
    if epoch.share_sure:
        words.append(f"confident guesses {in_percent(epoch.share_sure)}")
    if epoch.share_dropped is not None:
        words.append(f"dropped {in_percent(epoch.share_dropped)}")
    words.append(f"test {epoch.test_accuracy:.3f}")
    if epoch.validation_accuracy is not None:
        words.append(f"validation {epoch.validation_accuracy:.3f}")
    return "  ".join(words)
