"""`--mlflow URI`: logs a ranking, a filter or a head as a run of MLflow."""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.core.mlflow_log import EXPERIMENT, MetricRow, MlflowLog
from mixmood.core.version import __version__
from mixmood.features.backbones.backbone import GIVEN_FEATURES
from mixmood.ssl import run_folder as run_files

if TYPE_CHECKING:
    from mixmood.api.filter import Kept
    from mixmood.api.rank import RankReport
    from mixmood.ssl.record import HeadRecord

MOST_LIST_BYTES = 64 * 2**20  # a larger list of a filter is not uploaded


def mlflow_log(uri: str | None) -> MlflowLog | None:
    """The log at `uri`; None if `uri` is None. It is opened before any image is read."""
    return None if uri is None else MlflowLog(uri, EXPERIMENT)


def log_ranking(log: MlflowLog, report: "RankReport") -> str:
    """Log a ranking: its options, a few numbers of each pool, record and page. The run's id."""
    own = report.labelled
    params = _fields(report, "measure", "by", "sample_size", "draws", "seed", "best")
    params |= {"labelled": own.name, "n_labelled": own.n_images}
    params["backbone"] = report.backbone["name"]
    writes = (report.to_json, report.to_csv, report.to_html)
    writers = dict(zip(("ranking.json", "ranking.csv", "ranking.html"), writes, strict=True))
    found = _ranking_metrics(report)
    return _logged(log, "rank", f"rank {own.name}", params, found, writers, verdict=report.verdict)


def log_filter(log: MlflowLog, kept: "Kept", out: Path | None) -> str:
    """Log a filtered pool: its options, its counts, record, page and list. The run's id."""
    record = kept.record
    params = _fields(record, "labelled", "pool", "keep", "score", "seed")
    params["backbone"] = record.backbone["name"]
    metrics = _fields(record, "n_images", "n_kept", "n_unreadable", "threshold")
    metrics["useful_share"] = record.useful_share.share
    is_small = out is not None and out.is_file() and out.stat().st_size <= MOST_LIST_BYTES
    files = [out] if out is not None and is_small else []
    writers = {"filter.json": kept.to_json, "filter.html": kept.to_html}
    name = f"filter {record.pool}"
    return _logged(log, "filter", name, params, metrics.items(), writers, files)


def log_head(log: MlflowLog, record: "HeadRecord", folder: Path | None) -> str:
    """Log a trained head: its options, its accuracies and its files. The run's id."""
    names = () if folder is None else (run_files.RECORD, run_files.REPORT, run_files.MODEL)
    files = [Path(folder or "", name) for name in names]
    params = {"model": "head"} | _fields(record, "algorithm", "asked", "seed")
    params["backbone"] = (record.backbone or GIVEN_FEATURES)["name"]
    params["n_classes"] = len(record.class_names)
    metrics = {
        "accuracy_cross_validated": record.accuracy.cross_validated,
        "accuracy_test": record.accuracy.test,
        **_fields(record, "n_labelled", "n_unlabelled"),
        **{f"gain/{pool.name}": pool.gain for pool in record.pools},
        **{f"n_used/{pool.name}": pool.n_used for pool in record.pools},
    }
    return _logged(log, "train", "train head", params, metrics.items(), {}, files)


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _logged(
    log: MlflowLog,
    kind: str,
    name: str,
    params: dict[str, Any],
    metrics: Iterable[tuple[str, Any]],
    writers: Mapping[str, Callable[[Path], Any]],
    files: Sequence[Path] = (),
    **tags: str,
) -> str:
    """Log a run with files to write, by their names, and files that are there."""
    every = {"mixmood.version": __version__, "mixmood.kind": kind}
    every |= {f"mixmood.{tag}": value for tag, value in tags.items()}
    with tempfile.TemporaryDirectory(prefix="mixmood-mlflow-") as folder:
        for file, write in writers.items():
            write(Path(folder, file))
        files = [*(Path(folder, file) for file in writers), *files]
        return log.log(params, _rows(metrics), name=name, tags=every, files=files)


def _ranking_metrics(report: "RankReport") -> Iterator[tuple[str, Any]]:
    for one in report.candidates:
        yield f"rank/{one.name}", one.rank
        yield f"p_best/{one.name}", one.p_best
        for measure, found in one.measures.items():
            yield f"{measure}/{one.name}", found.distance
            yield f"{measure}_p_permutation/{one.name}", found.p_permutation
        if one.useful_share is not None:
            yield f"useful_share/{one.name}", one.useful_share.share
        if one.probe is not None:
            yield f"gain/{one.name}", one.probe.gain
            yield f"p_helps/{one.name}", one.probe.p_helps


def _rows(metrics: Iterable[tuple[str, Any]]) -> list[MetricRow]:
    """Metrics with names that MLflow accepts; if two names become equal, one gets a number."""
    found: dict[str, float] = {}
    for name, value in metrics:
        if value is not None:
            word, number = metric_name(name), 2
            while word in found:
                word, number = f"{metric_name(name)}_{number}", number + 1
            found[word] = float(value)
    return [(name, value, 0, 0) for name, value in found.items()]


def metric_name(text: str) -> str:
    """The text with the characters replaced that MLflow does not accept in names of metrics.

    >>> metric_name("gain/web (new)")
    'gain/web _new_'
    """
    return re.sub(r"[^\w\-. /]", "_", text, flags=re.ASCII)[:200]
