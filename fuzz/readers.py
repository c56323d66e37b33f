"""Every reader of the product: of pools, then of configurations, records, stores and models."""

import contextlib
import io
import random
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzz import model_seeds, reseal, seeds, stores
from fuzz.mutate import mutated
from fuzz.pool_readers import POOL_READERS
from fuzz.reader import READ, REFUSED, WARNED, Reader, Seed, seeds_named
from fuzz.trees import json_tree, onnx_tree, toml_tree

_STAMP = bytes(20)


def _inside_checkpoint(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    files = reseal.unzipped(data)
    name = rng.choice([*([key for key in files if key.endswith(".pkl")] * 3), *files])
    files[name] = mutated(rng, files[name], [files[name]])
    return reseal.zipped(files, packed=False)


def _read_config(folder: Path, name: str) -> str:
    from mixmood.testbed.cells import runs
    from mixmood.testbed.config import check_names, load_config

    config = load_config(folder / name)
    runs(config)
    check_names(config)
    return READ


def _configs() -> list[Seed]:
    from mixmood.testbed.config import preset_text

    texts = [stores.CONFIG, preset_text("smoke"), preset_text("digits")]
    return [Seed("bed.toml", text.encode()) for text in texts]


def _read_checkpoint(folder: Path, name: str) -> str:
    from mixmood.ssl.train import train

    # A finished run: nothing is trained, all is restored.
    assert train(*model_seeds.task(), **model_seeds.QUICK, out=folder, resume=True).record.epochs
    return READ


def _read_training_record(folder: Path, name: str) -> str:
    from mixmood.ssl.record import TrainingRecord

    text = (folder / name).read_bytes().decode("utf-8", "replace")
    record = TrainingRecord.from_json(text)
    record.summary()
    return READ


def _read_cache(folder: Path, name: str) -> str:
    from mixmood.core.cache import FeatureCache

    # The caller makes an error of every warning, and a damaged cache is to be warned of.
    with warnings.catch_warnings(action="ignore"), FeatureCache(folder) as kept:
        for row in kept.get(seeds.cache_keys()).values():
            assert row.dtype == np.float32
        kept.put({b"new": np.ones(32, np.float32)})
        kept.info()
        kept.clear()
    return WARNED if kept.warnings else READ


def _cache_seeds() -> list[Seed]:
    from mixmood.core.cache import FILE_NAME

    return [Seed(FILE_NAME, data) for data in seeds.cache_files()]


def _index_seeds() -> list[Seed]:
    from mixmood.data.readers.archives import Listing, index_to_bytes

    rows = np.array([(512, 100), (2048, 200), (4096, 300)], [("offset", "i8"), ("size", "i8")])
    index = Listing([b"cat/1.png", b"dog/2.png", b"3.jpg"], rows, {})
    return [Seed("index", index_to_bytes(index, _STAMP))]


def _read_index(folder: Path, name: str) -> str:
    """What a cache kept of an archive of 10,000 bytes."""
    from mixmood.data.images.labels import labels_from_folders
    from mixmood.data.readers.archives import index_from_bytes

    index = index_from_bytes((folder / name).read_bytes(), _STAMP, 10_000)
    if index is None:
        return REFUSED
    assert len(index.names) == len(index.rows)
    offsets, sizes = index.rows["offset"], index.rows["size"]
    assert ((offsets >= 0) & (offsets + sizes <= 10_000)).all()
    labels_from_folders(index.names)
    return READ


def _store_seeds() -> list[Seed]:
    files = stores.store_files()
    mutable = [name for name in files if not name.startswith("runs")]
    mutable += [name for name in files if name.startswith("runs")][:2] * 2
    return [Seed(name, files[name], {k: files[k] for k in files if k != name}) for name in mutable]


def _read_store(folder: Path, name: str) -> str:
    """What `testbed status`, `tables` and `correlate` do."""
    from mixmood.api.testbed import testbed_tables
    from mixmood.cli.testbed import status

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status(str(folder))
        tables = testbed_tables(folder)
        for form in ("text", "json"):
            tables.to_text(form)
        if zlib.crc32((folder / name).read_bytes()) % 4 == 0:
            # Figures take seconds: a quarter of the inputs is drawn.
            tables.write(folder / "out")
        testbed_tables(folder, is_correlated=True).to_text("csv", 3)
    return READ


def _read_backbone(folder: Path, name: str) -> str:
    from mixmood.features.backbones.registry import load_backbone

    backbone = load_backbone(str(folder / name))
    side = backbone.resolution
    if side <= 64:
        backbone.embed(np.zeros((2, side, side, 3), np.uint8))
    assert backbone.fingerprint
    return READ


def _read_classifier(folder: Path, name: str) -> str:
    from mixmood.api.predict import predict

    predict(folder / name, seeds.images()).to_csv()
    return READ


def _read_tables(folder: Path, name: str) -> str:
    from mixmood.testbed.analysis.correlate import agreements, read_accuracies, read_distances

    agreements(read_accuracies(folder / "a.csv"), read_distances(folder / "d.csv"))
    return READ


def _table_seeds() -> list[Seed]:
    cells = [("half", 50), ("half", 100), ("noise", 50), ("noise", 100)]
    accuracies = "task,ood_source,ood_percent,n_labelled,accuracy_mean\n" + "".join(
        f"mnist,{source},{percent},60,0.{percent}{len(source)}\n" for source, percent in cells
    )
    distances = "task,ood_source,ood_percent,measure,distance_mean\n" + "".join(
        f"mnist,{source},{percent},cosine,{percent * len(source)}\n" for source, percent in cells
    )
    files = {"a.csv": accuracies.encode(), "d.csv": distances.encode()}
    (first, a), (second, d) = files.items()
    return [Seed(first, a, {second: d}), Seed(second, d, {first: a})]


def _trained(name: str) -> Callable[[], list[Seed]]:
    return lambda: [Seed(name, model_seeds.trained()[name])]


def _label_seeds() -> list[Seed]:
    head = b"pool,path,index,label\n"
    texts = [head + b"own,own[0],0,b\nown,own[1],1,(none)\n", b"path;label\n'=x;(keep)\n"]
    return [Seed("mixmood-labels.csv", text) for text in texts]


def _read_labels(folder: Path, name: str) -> str:
    from mixmood.data.open import open_pool
    from mixmood.data.readers.given_labels import with_labels

    labelled = open_pool((np.eye(4), np.array(list("aabb"))), "own")
    found = with_labels([folder / name], labelled, {"web": open_pool(np.eye(4), "web")})
    assert found.labelled.labels is not None
    return READ


READERS: dict[str, Reader] = {
    **POOL_READERS,
    "toml": Reader(_configs, _read_config, toml_tree, True),
    "checkpoint": Reader(_trained("checkpoint.pt"), _read_checkpoint, _inside_checkpoint, True),
    "training-record": Reader(_trained("record.json"), _read_training_record, json_tree, True),
    "cache": Reader(_cache_seeds, _read_cache),
    "tar-index": Reader(_index_seeds, _read_index),
    "store": Reader(_store_seeds, _read_store, json_tree),
    "backbone": Reader(seeds_named("x.onnx", model_seeds.backbones), _read_backbone, onnx_tree),
    "classifier": Reader(_trained("model.onnx"), _read_classifier, onnx_tree, True),
    "tables": Reader(_table_seeds, _read_tables),
    "given-labels": Reader(_label_seeds, _read_labels),
}
"""All readers by name."""
