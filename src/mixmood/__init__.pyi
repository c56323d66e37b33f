"""Public names of mixmood and their types, written by scripts/write_stub.py."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixmood import measures as measures
from mixmood.api.check import CheckReport as CheckReport
from mixmood.api.embed import Embedding as Embedding
from mixmood.api.filter import Kept as Kept
from mixmood.api.load import load as load
from mixmood.api.next import NextImages as NextImages
from mixmood.api.predict import PredictReport as PredictReport
from mixmood.api.rank import RankReport as RankReport
from mixmood.api.testbed import TestbedTables as TestbedTables
from mixmood.api.testbed import correlate as correlate
from mixmood.api.testbed import testbed_status as testbed_status
from mixmood.api.train import TrainedModel as TrainedModel
from mixmood.core.cache import cache_info as cache_info
from mixmood.core.cache import clear_cache as clear_cache
from mixmood.core.listener import Listener
from mixmood.data.sets import data_sets as data_sets
from mixmood.data.sets import get_data_set as get_data_set
from mixmood.features.plan import ExtractionPlan
from mixmood.ranking.distance import dissimilarity as dissimilarity
from mixmood.ranking.plan import RankingPlan
from mixmood.selection.plan import CheckPlan, FilterPlan, NextPlan
from mixmood.ssl.plan import PredictionPlan, TrainingRunPlan
from mixmood.ssl.record import EpochRecord
from mixmood.testbed.driver import Status
from mixmood.testbed.plan import TablesPlan, TestbedPlan
from mixmood.testbed.record import FailedRun, RunRecord

__version__: str

def check(
    labelled: Any,
    *,
    listener: Listener | None = None,
    plan: CheckPlan | None = None,
    against: Any = None,
    groups: str | None = None,
    labels: Sequence[str] = (),
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> CheckReport:
    """Which labels look wrong, which images do not belong, and which classes are confused.

    Args:
        labelled: The labelled images, in any of the ways that `rank` takes.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        against: Test images: copies and near copies of them among the labelled ones are found.
        groups: Labelled images of one group are held out together. A column of the table, or a
            pattern for the path, such as 'patient(\\d+)'.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def demo(
    *,
    listener: Listener | None = None,
    plan: RankingPlan | None = None,
    measures: Sequence[str] = ("cosine",),
    sample_size: int = 80,
    draws: int = 30,
    until: float | None = 0.99,
    probe: bool = True,
    probe_algorithm: str = "pseudo-label",
    by: str = "gain",
    groups: str | None = None,
    labels: Sequence[str] = (),
    paper: bool = False,
    strict: bool = False,
    mlflow: str | None = None,
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> RankReport:
    """The ranking of the embedded pools: digits, photos and noise against sixty digits.

    Args:
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        measures: l1, l2, js, cosine, frechet, kernel, energy, sliced-wasserstein, classifier,
            typicality or all; several may be given, the first one ranks.
        sample_size: Images in a draw (tau).
        draws: Number of draws (C).
        until: Stop reading once one pool is the nearest with this probability; none reads all
            images.
        probe: Measure the gain of each pool; needs classes.
        probe_algorithm: The head that is trained with each pool: pseudo-label, propagation or
            mixmatch.
        by: Order the pools by gain or by distance; without a probe, by distance.
        groups: Labelled images of one group are held out together. A column of the table, or a
            pattern for the path, such as 'patient(\\d+)'.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        paper: Compute distances as the paper's code does: the two labelled samples may overlap,
            and values outside the range of the first sample are dropped.
        strict: Fail if a pool cannot be ranked, instead of setting it aside.
        mlflow: Log the result to MLflow as well.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def embed(
    images: Any,
    *,
    view: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    plan: ExtractionPlan | None = None,
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> Embedding:
    """Features of the readable images of a pool, in its order, shape (n, d).

    The array knows which image each row is; see `Embedding`. Unreadable images have no row; a
    warning names them. Of a pool of features the features are returned, as float32.

    Args:
        images: Anything that `rank` takes as a pool.
        view: The entry `view` of a record: the features are those of that command. It replaces
            backbone, resolution and depth.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def filter(
    labelled: Any,
    pool: Any,
    *,
    out: str | Path | None = None,
    listener: Listener | None = None,
    plan: FilterPlan | None = None,
    keep: str | float = "auto",
    threshold: float | None = None,
    typical: float | None = None,
    score: str = "combined",
    balance: bool = False,
    diverse: float = 0.0,
    probe: bool = True,
    groups: str | None = None,
    labels: Sequence[str] = (),
    link: str | Path | None = None,
    copy: str | Path | None = None,
    save: str | Path | None = None,
    load: str | Path | None = None,
    backend: str = "local",
    resume: bool = False,
    mlflow: str | None = None,
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> Kept:
    """Which images of a pool are like the labelled ones, with a score for each.

    Args:
        labelled: The labelled images; None with `load`.
        pool: The pool to filter.
        out: A .csv, .parquet or .txt list to write; it is a pool for `rank`, `filter`, `train`.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        keep: auto keeps the estimated useful part, 0.3 the best 30 %, 500 the best 500 images.
        threshold: Keep images that score at least this; instead of --keep.
        typical: Keep images that are as typical as this share of the labelled images, such as
            0.95; instead of --keep.
        score: knn, prototypes, subspace, classifier or combined.
        balance: Keep as many images of each class.
        diverse: Above 0, up to 1: keep the half of the images that differ most.
        probe: Measure what the whole pool and the kept part would gain; needs classes.
        groups: Labelled images of one group are held out together. A column of the table, or a
            pattern for the path, such as 'patient(\\d+)'.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        link: Make a folder of hard links to the kept images.
        copy: Make a folder of copies of the kept images.
        save: Save the fitted filter, for other pools.
        load: Use a filter that --save wrote; LABELLED is then -.
        backend: local, or ray for a cluster.
        resume: Continue a scan that was interrupted.
        mlflow: Log the result to MLflow as well.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def next(
    labelled: Any,
    pools: Any,
    *,
    out: str | Path | None = None,
    listener: Listener | None = None,
    plan: NextPlan | None = None,
    count: int = 20,
    groups: str | None = None,
    labels: Sequence[str] = (),
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> NextImages:
    """Which images of the pools to label next, and what their labels are worth.

    Args:
        labelled: The labelled images, of two classes or more.
        pools: One pool, or a list or dictionary of pools.
        out: A .csv, .parquet or .txt list to write; it is a pool for the other commands.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        count: How many images to propose.
        groups: Labelled images of one group are held out together. A column of the table, or a
            pattern for the path, such as 'patient(\\d+)'.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def predict(
    model: str | Path | bytes,
    images: Any,
    *,
    listener: Listener | None = None,
    plan: PredictionPlan | None = None,
    jobs: int | None = None,
    device: str = "auto",
) -> PredictReport:
    """The class of every readable image of a pool.

    Args:
        model: The folder of a finished run, its `model.onnx`, or the bytes of that file.
        images: Anything that `rank` takes as a pool of images.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        jobs: Threads.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
    """

def rank(
    labelled: Any,
    candidates: Mapping[str, Any] | Sequence[Any],
    *,
    listener: Listener | None = None,
    plan: RankingPlan | None = None,
    measures: Sequence[str] = ("cosine",),
    sample_size: int = 80,
    draws: int = 30,
    until: float | None = 0.99,
    probe: bool = True,
    probe_algorithm: str = "pseudo-label",
    by: str = "gain",
    groups: str | None = None,
    labels: Sequence[str] = (),
    paper: bool = False,
    strict: bool = False,
    mlflow: str | None = None,
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    device: str = "auto",
    frames: str = "middle",
    seed: int = 0,
    jobs: int | None = None,
    cache: str | Path | None = "default",
) -> RankReport:
    """Which pool of unlabelled images is nearest to the labelled set, and how sure that is.

    Args:
        labelled: The labelled images: a path, an array, a data set (see `mixmood rank --help`).
        candidates: The pools: a dictionary from names to pools, or a list. A pool is given in the
            same ways as the labelled images.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        measures: l1, l2, js, cosine, frechet, kernel, energy, sliced-wasserstein, classifier,
            typicality or all; several may be given, the first one ranks.
        sample_size: Images in a draw (tau).
        draws: Number of draws (C).
        until: Stop reading once one pool is the nearest with this probability; none reads all
            images.
        probe: Measure the gain of each pool; needs classes.
        probe_algorithm: The head that is trained with each pool: pseudo-label, propagation or
            mixmatch.
        by: Order the pools by gain or by distance; without a probe, by distance.
        groups: Labelled images of one group are held out together. A column of the table, or a
            pattern for the path, such as 'patient(\\d+)'.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        paper: Compute distances as the paper's code does: the two labelled samples may overlap,
            and values outside the range of the first sample are dropped.
        strict: Fail if a pool cannot be ranked, instead of setting it aside.
        mlflow: Log the result to MLflow as well.
        backbone: efficientnet-lite0, wide-resnet50-2, untrained-wrn, FILE.onnx, hf:NAME or hf:DIR;
            auto:NAME,NAME,... is the one whose classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        device: Where the backbone computes: auto, cpu, cuda, directml or coreml; for hf: models
            auto, cpu, cuda or mps.
        frames: Frames that are read of a DICOM file: middle for the middle one, or each for all of
            them.
        seed: Decides every random choice.
        jobs: Threads.
        cache: Where features are kept between runs.
    """

def report_testbed(
    store: str | Path,
    path: str | Path | None = None,
    *,
    command: str | None = None,
    plan: TablesPlan | None = None,
    selection: str = "last",
    arm: str = "A",
    beside_paper: bool = False,
    only: Sequence[str] = (),
) -> str:
    """One self-contained page of a test bed; also written to `path`, if one is given.

    Args:
        store: The folder of the test bed's records.
        path: Where to write the page.
        command: The command that made the page; the page shows it.
        plan: The options as one object; options that are given by name replace its fields.
        selection: Which epoch counts: last, median, validation, or best as the paper.
        arm: How networks from scratch were tested: A; B: test images standardised as the pool; C:
            guesses move batch-norm; D: both, as the authors' code.
        beside_paper: Add the paper's values and the differences.
        only: Only these cells: task=mnist,n_labelled=60.
    """

def run_testbed(
    testbed: str | Path,
    store: str | Path,
    *,
    watch: Callable[[Status, RunRecord | FailedRun | None], None] = ...,
    listener: Listener | None = None,
    plan: TestbedPlan | None = None,
    jobs: int | None = None,
    backend: str = "local",
    ray_address: str | None = None,
    gpus_per_run: float = 0.0,
    seeds: int | None = None,
    retry_failed: bool = False,
    mlflow: str | None = None,
    cache: str = "default",
    only: Sequence[str] = (),
) -> Status:
    """Run a test bed; runs whose records are in the store are not repeated. Returns the status.

    It can be stopped at any moment and called again: every finished run is kept.

    Args:
        testbed: The name of a preset, or a TOML file.
        store: The folder of the records; it is made if it does not exist.
        watch: Called after every change with the status, and with the record of the run that just
            finished, if one did.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        jobs: Number of parallel runs.
        backend: local or ray.
        ray_address: A running cluster; otherwise one is started here.
        gpus_per_run: GPUs for each run: 0.25 puts four runs on a GPU.
        seeds: Runs of each cell.
        retry_failed: Repeat the runs that ended with an error.
        mlflow: Log to MLflow; 'default' is a SQLite file in the store.
        cache: Folder of the feature cache, or none.
        only: Only these cells: task=mnist,n_labelled=60.
    """

def testbed_tables(
    store: str | Path,
    *,
    is_correlated: bool = False,
    plan: TablesPlan | None = None,
    selection: str = "last",
    arm: str = "A",
    beside_paper: bool = False,
    only: Sequence[str] = (),
) -> TestbedTables:
    """Accuracies, distances, and how well distances predict accuracies, for all cells of a store.

    Args:
        store: The folder of the test bed's records.
        is_correlated: Refuse a store with too few cells for a correlation.
        plan: The options as one object; options that are given by name replace its fields.
        selection: Which epoch counts: last, median, validation, or best as the paper.
        arm: How networks from scratch were tested: A; B: test images standardised as the pool; C:
            guesses move batch-norm; D: both, as the authors' code.
        beside_paper: Add the paper's values and the differences.
        only: Only these cells: task=mnist,n_labelled=60.
    """

def train(
    labelled: Any,
    unlabelled: Any = None,
    *,
    memory_limit_bytes: int = 2147483648,
    listener: Listener | None = None,
    on_epoch: Callable[[EpochRecord], None] = ...,
    plan: TrainingRunPlan | None = None,
    out: str | Path | None = None,
    test: Any = None,
    labels: Sequence[str] = (),
    cache: str | Path | None = "default",
    resume: bool = False,
    mlflow: str | None = None,
    model: Any = "head",
    epochs: int | None = None,
    learning_rate: float | None = None,
    augment: Any = None,
    algorithm: Any = "auto",
    backbone: str = "efficientnet-lite0",
    resolution: int | str = "auto",
    depth: str = "auto",
    groups: str | None = None,
    pool_limit: int = 3000,
    settings: Mapping[str, float | int | bool | str | None] = ...,
    image_size: int | None = None,
    test_share: float | None = None,
    validation_share: float | None = None,
    updates: int | None = None,
    device: str = "cpu",
    precision: str = "auto",
    threads: int | None = None,
    seed: int = 0,
    batch_size: int = 16,
    weight_decay: float = 0.0001,
    ema: float = 0.0,
) -> TrainedModel:
    """A model trained on a few labelled images and pools of unlabelled ones, and its record.

    Of several pools a head uses those that `rank` advises, and says why.

    The sets are given in the same ways as pools for `rank`; the classes come from class folders,
    tables or annotations. With `out`, the folder receives `record.json` and `model.onnx`; for a
    head also `report.html`; for a network also `model.pt`, `metrics.jsonl`, `curves.png` and a
    checkpoint, from which `resume` continues.

    Args:
        labelled: Images with classes.
        unlabelled: The pools: a dictionary from names to pools, a list of paths, or one pool; not
            needed for `supervised`. A network takes one.
        memory_limit_bytes: For networks: larger sets are read from disk during training.
        on_epoch: Called with each finished epoch of a network.
        listener: Gets progress, warnings and notes; see `mixmood.core.listener`.
        plan: The options as one object; options that are given by name replace its fields.
        out: Folder for the model, its record and its page.
        test: Images with classes to test on.
        labels: Labels that the page to label on has saved: corrections of labelled images, and
            labels for images of the pools. May be given several times; the last one counts.
        cache: Where features are kept between runs.
        resume: Go on from the checkpoint in --out (networks), or train again (head).
        mlflow: Log the result to MLflow as well.
        model: head (a classifier on the features of the backbone), efficientnet-lite0 (the
            backbone fine-tuned; torch; on CPUs the head is as good and takes seconds), or a
            network from scratch (torch): wrn-thin, wrn-small, wrn-tiny, wrn (the paper's),
            wrn:blocks=2,...
        epochs: Passes over the pool (over the labelled images for supervised).
        learning_rate: Peak of the one-cycle policy.
        augment: paper, flips, dihedral, flip-crop, crop or none.
        algorithm: supervised, mixmatch, pseudo-label; propagation (head); fixmatch, freematch,
            mean-teacher (networks); auto: pseudo-label with the pools that rank advises, else
            supervised (head); freematch (efficientnet-lite0); mixmatch (networks from scratch).
        backbone: Backbone whose features a head classifies: efficientnet-lite0, wide-resnet50-2,
            untrained-wrn, FILE.onnx, hf:NAME or hf:DIR; auto:NAME,NAME,... is the one whose
            classifier does best on the labelled images.
        resolution: Pixels a side that the backbone sees, such as 96, 160 or 224; auto: the
            labelled images decide.
        depth: Which layers of the backbone are used: last, middle or both; auto: the labelled
            images decide.
        groups: Images of one group stay in one fold: a column of the table, or a pattern on the
            path such as 'patient(\\d+)'.
        pool_limit: Use at most this many pool images for a head, shared among the pools in
            proportion to their useful images, at least 200 of each.
        image_size: Side of the square images in pixels.
        test_share: Without test images: share of each class to set aside.
        validation_share: Share of each class to set aside for selecting the epoch.
        updates: Total number of updates, instead of passes; tested after each of `epochs` equal
            parts.
        device: Networks: cpu, cuda, cuda:1 or mps. Backbone of a head: auto, cpu, cuda, directml,
            coreml; of hf: models cuda or mps.
        precision: auto, float32 or bfloat16; auto is bfloat16 on GPUs that support it.
        threads: Threads to compute with.
        seed: Decides everything random.
        batch_size: Labelled images per update, and as many unlabelled ones.
        weight_decay: Decoupled weight decay.
        ema: Decay of a moving average of the weights, which is tested instead; 0 for none.
    """
