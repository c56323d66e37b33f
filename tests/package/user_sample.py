"""A program of a user: mypy checks it with the package, see `files` in pyproject.toml."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import mixmood
from mixmood.heads import MixMatchClassifier


def nearest(labelled: Path, pools: dict[str, str]) -> tuple[str, float]:
    """The best pool and its distance."""
    report: mixmood.RankReport = mixmood.rank(labelled, pools, measures=["cosine", "js"], seed=1)
    first = report.candidates[0]
    low, high = first.measures["cosine"].interval
    gain = None if first.probe is None else first.probe.gain
    report.to_html(labelled / "report.html")
    words: list[str | None] = [report.best, report.verdict, first.advice]
    return str(words[0]), first.distance + high - low + (gain or 0.0)


def useful(labelled: Path, crawl: Path) -> Sequence[str]:
    """The kept images of a pool."""
    kept: mixmood.Kept = mixmood.filter(labelled, crawl, keep=0.5, out="kept.csv")
    scores: NDArray[np.float64] = kept.scores
    share: float = kept.useful_share.share + scores.mean()
    return kept.paths[: kept.record.n_kept] if share > 0 else []


def trained(labelled: Path, crawl: Path, new: Path) -> list[str]:
    """The classes of new images."""
    model = mixmood.train(labelled, crawl, out="run")
    model.predict(new, jobs=2).to_csv()
    return mixmood.predict("run", new).classes


def labels(labelled: Path, crawl: Path) -> list[str]:
    """The images to look at, and those to label next."""
    report: mixmood.CheckReport = mixmood.check(labelled, groups="patient(\\d+)")
    images: mixmood.NextImages = mixmood.next(labelled, [crawl], count=5, labels=["labels.csv"])
    return [*(one.path for one in report.findings), *images.paths]


def features(folder: Path) -> float:
    """A distance between two halves of a set."""
    rows: NDArray[np.float32] = mixmood.embed(folder)
    half = len(rows) // 2
    found = mixmood.dissimilarity(rows[:half], rows[half:], measure="cosine", seed=0)
    plain: float = mixmood.measures.MEASURES["cosine"](rows[:half], rows[half:])
    return found.distance + plain


def mistakes(folder: Path) -> None:
    """Calls that a type checker refuses; one that it accepted would have an unused comment."""
    mixmood.rank(folder, [folder], drws=3)  # type: ignore[call-arg]
    mixmood.rank(folder, [folder], draws="3")  # type: ignore[arg-type]
    mixmood.filter(folder, folder, keep=None)  # type: ignore[arg-type]
    mixmood.embed(folder, device=1)  # type: ignore[arg-type]
    mixmood.train(folder, epochs="many")  # type: ignore[arg-type]
    mixmood.predict("run", folder, jobs="all")  # type: ignore[arg-type]
    mixmood.train(folder).predict(folder, devise="cpu")  # type: ignore[call-arg]
    mixmood.check(folder, groups=3)  # type: ignore[arg-type]
    mixmood.next(folder, folder, count="all")  # type: ignore[arg-type]
    mixmood.run_testbed("smoke", folder, retry_failed=0.5)  # type: ignore[arg-type]
    mixmood.testbed_tables(folder, selecton="best")  # type: ignore[call-arg]


def classes(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The classes of rows of which some are labelled."""
    return np.asarray(MixMatchClassifier().fit(rows, labels).predict(rows), np.int64)
