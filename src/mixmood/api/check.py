"""`mixmood.check`: what looks wrong in a labelled set."""

from html import escape
from pathlib import Path
from typing import Any

from mixmood.api.outputs import PicturedReport, pictures_of
from mixmood.api.view_choice import open_labelled, reading, sets_in_view
from mixmood.core.errors import InputError
from mixmood.core.files import data_frame, written
from mixmood.core.listener import Listener
from mixmood.core.options import with_options
from mixmood.core.records.check import Finding, LabelCheck
from mixmood.core.records.labelling import MOST_IMAGES, LabelImage, LabelTask
from mixmood.core.text import counted
from mixmood.data.images.labels import needed_labels
from mixmood.data.images.pool import FeatureSource, Pool, scaled, thumbnails
from mixmood.report.check import check_csv, check_page, check_rows, check_text
from mixmood.report.label import label_page
from mixmood.selection.check import label_check
from mixmood.selection.plan import CheckPlan

MOST_PICTURES = 200  # findings that the page shows
PICTURE_SIDE = 160  # pixels: large enough to see a wrong label


class CheckReport(PicturedReport, LabelCheck):
    """A checked labelled set with methods that show it as text, CSV, JSON or HTML."""

    def __repr__(self) -> str:
        """How many images are flagged by which checks."""
        found = ", ".join(f"{one.name} {one.n_flagged}" for one in self.checks if one.n_flagged)
        return f"<CheckReport: {self.n_flagged} of {self.n_images} images flagged; {found or '-'}>"

    def _repr_html_(self) -> str:
        """The text of the command line, for notebooks."""
        return f"<pre>{escape(self.to_text())}</pre>"

    def to_text(self) -> str:
        """The sentences and the table that the command prints."""
        return check_text(self)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Every image, the worst first; also written to `path`, if one is given."""
        return written(check_csv(self), path)

    def to_dataframe(self) -> Any:
        """The rows of `to_csv` as a table of pandas."""
        return data_frame(check_rows(self))

    def to_html(self, path: str | Path | None = None, *, command: str | None = None) -> str:
        """One self-contained page with pictures; also written to `path`, if one is given."""
        return written(check_page(self, self._pictures(), command), path)

    def to_review(self, path: str | Path | None = None) -> str:
        """A page to correct the labels of flagged images, which saves mixmood-labels.csv."""
        pool: Pool | None = self._sets
        if pool is None:
            raise InputError(f"{self!r} was loaded: it has no pictures. Check the set again.")
        worst = self._worst(MOST_IMAGES)
        guesses = (((one.suggested, one.score),) if one.suggested else () for one in worst)
        images = tuple(
            LabelImage(self.labelled, one.path, one.index, guess, one.label, one.why)
            for one, guess in zip(worst, guesses, strict=True)
        )
        title = f"Which class has each of {counted(len(images), 'flagged image')}?"
        task = LabelTask(title, "The most doubtful first", tuple(self.classes), images)
        return written(label_page(task, pictures_of(images, {self.labelled: pool})), path)

    def _worst(self, most: int) -> list[Finding]:
        """The first finding of each of the worst images."""
        first: dict[int, Finding] = {}
        for one in self.findings:
            first.setdefault(one.index, one)
        return list(first.values())[:most]

    def _pictures(self) -> dict[int, str | None]:
        if self._sets is None or isinstance(self._sets, FeatureSource):
            return {}
        rows = [one.index for one in self._worst(MOST_PICTURES)]
        return dict(zip(rows, thumbnails(self._sets, rows, PICTURE_SIDE), strict=True))


@with_options(CheckPlan)
def check(labelled: Any, *, plan: CheckPlan, listener: Listener | None = None) -> CheckReport:
    """Which labels look wrong, which images do not belong, and which classes are confused.

    Args:
        labelled: The labelled images, in any of the ways that `rank` takes.
    """
    with reading(plan, listener) as reader:
        base, test = open_labelled(labelled, plan, reader), None
        needed_labels(base)
        if plan.against is not None:
            other = open_labelled(plan.against, plan, reader, "test set")
        sets = sets_in_view(base, {}, plan, reader)
        sample = sets.extractor.read(sets.labelled).not_empty()
        if plan.against is not None:
            test = sets.extractor.read(scaled(other, sets.pixel_range)).not_empty()
        reader.listener.start("checks", None)
        backbone, notes = sets.extractor.backbone, sets.given.notes
        record = label_check(sample, test, plan, backbone, sets.view_entry, notes)
        reader.listener.finish("checks")
    return CheckReport.of(record, sets.labelled)
