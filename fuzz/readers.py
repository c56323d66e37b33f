"""Every reader of the product, the files it is fed with, and how it is called.

Reading returns a word for what came out. It raises a MixmoodError for what it refuses; whatever
else it raises is a finding.
"""

import contextlib
import io
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz import reseal, seeds, stores
from fuzz.mutate import mutated
from fuzz.trees import json_tree, onnx_tree, toml_tree
from mixmood.core.errors import UnreadableImageError

READ, UNREADABLE, WARNED, REFUSED = "read", "unreadable", "warned", "refused"
MOST_IMAGES = 24
_STAMP = bytes(20)
RESEALED = 0.5
"""Share of the inputs whose checksums are set right after the mutation."""


@dataclass(frozen=True)
class Seed:
    """A real file under its name, and what lies beside it."""

    name: str
    data: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)


Make = Callable[[random.Random, bytes, list[bytes]], bytes]


@dataclass(frozen=True)
class Reader:
    """A reader: its seeds, and how a folder with one of them, mutated, is read.

    `inside` mutates what is within a container and closes it again properly.
    """

    seeds: Callable[[], list[Seed]]
    read: Callable[[Path, str], str]
    inside: Make | None = None

    def make(self, rng: random.Random, given: list[Seed]) -> Seed:
        """One hostile input."""
        seed = rng.choice(given)
        others = [other.data for other in given]
        if self.inside is not None and rng.random() < RESEALED:
            return Seed(seed.name, self.inside(rng, seed.data, others), seed.beside)
        return Seed(seed.name, mutated(rng, seed.data, others), seed.beside)


def _seeds(name: str, made: Callable[[], list[bytes]]) -> Callable[[], list[Seed]]:
    return lambda: [Seed(name, data) for data in made()]


def _read_pool(folder: Path, name: str) -> str:
    from mixmood.data.open import open_pool

    return _read_all(open_pool(folder / name))


def _read_image(folder: Path, name: str) -> str:
    from mixmood.data.decode import decode_square
    from mixmood.data.open import open_pool

    pool = open_pool(folder)
    found = _read_all(pool)
    with contextlib.suppress(UnreadableImageError):
        decode_square(pool.fetch(0), name, 8)
    return found


def _read_all(pool: object) -> str:
    """Everything that the product asks a pool for."""
    from mixmood.data.source import FeatureSource, ImageSource

    assert isinstance(pool, ImageSource | FeatureSource)
    rows = range(min(len(pool), MOST_IMAGES))
    assert pool.fingerprint
    if pool.labels is not None:
        assert sum(pool.labels.counts().values()) == len(pool)
    if isinstance(pool, FeatureSource):
        assert pool.features(np.array(rows)).shape == (len(rows), pool.width)
        return READ
    n_broken = 0
    for picture in pool.read([*rows, len(pool) - 1]):
        if isinstance(picture, UnreadableImageError):
            n_broken += 1
        else:
            assert picture.dtype == np.uint8
            assert picture.shape[2:] == (3,)
    return UNREADABLE if n_broken else READ


def _inside_zip(packed: bool) -> Make:
    def make(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
        files = reseal.unzipped(data)
        name = rng.choice(list(files))
        files[name] = mutated(rng, files[name], list(files.values()))
        if rng.random() < 0.3:
            files[rng.choice(["../../x.png", "/etc/x.png", "a\0.png", "\x1b[2J.png"])] = data[:99]
        return reseal.zipped(files, packed and rng.random() < 0.5)

    return make


def _inside_gz(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    import gzip

    content = mutated(rng, gzip.decompress(data), others)
    return reseal.gz(reseal.tar(content) if content[257:262] == b"ustar" else content)


def _then(seal: Callable[[bytes], bytes]) -> Make:
    return lambda rng, data, others: seal(mutated(rng, data, others))


def _inside_checkpoint(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    files = reseal.unzipped(data)
    name = rng.choice([*([key for key in files if key.endswith(".pkl")] * 3), *files])
    files[name] = mutated(rng, files[name], [files[name]])
    return reseal.zipped(files, packed=False)


def _labelled_idx(ends: str) -> Callable[[], list[Seed]]:
    def make() -> list[Seed]:
        images, coloured = (seeds.packed if ends else list)(seeds.idxs())
        labels = seeds.idx(np.arange(6, dtype=np.uint8))
        labels = seeds.packed([labels])[0] if ends else labels
        name, beside = f"t-images-idx3-ubyte{ends}", f"t-labels-idx1-ubyte{ends}"
        return [
            Seed(name, images, {beside: labels}),
            Seed(name, coloured),
            Seed(beside, labels, {name: images}),
        ]

    return make


def _read_idx(folder: Path, name: str) -> str:
    return _read_pool(folder, name.replace("labels-idx1", "images-idx3"))


def _manifests(name: str, text: bytes) -> Callable[[], list[Seed]]:
    return lambda: [Seed(name, text, seeds.members())]


def _read_config(folder: Path, name: str) -> str:
    from mixmood.testbed.check import check_names
    from mixmood.testbed.config import load_config
    from mixmood.testbed.grid import runs

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
    assert train(*seeds.task(), **seeds.QUICK, out=folder, resume=True).record.epochs
    return READ


def _read_training_record(folder: Path, name: str) -> str:
    from mixmood.ssl.record import TrainingRecord

    text = (folder / name).read_bytes().decode("utf-8", "replace")
    record = TrainingRecord.from_json(text)
    record.summary()
    return READ


def _read_cache(folder: Path, name: str) -> str:
    from mixmood.core.cache import FeatureCache

    with FeatureCache(folder) as kept:
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
    from mixmood.data.kept_index import ArchiveIndex
    from mixmood.data.names import Names

    names = Names.in_order([b"cat/1.png", b"dog/2.png", b"3.jpg"])
    index = ArchiveIndex(names, np.array([512, 2048, 4096]), np.array([100, 200, 300]))
    return [Seed("index", index.to_bytes(_STAMP))]


def _read_index(folder: Path, name: str) -> str:
    """What a cache kept of an archive of 10,000 bytes."""
    from mixmood.data.kept_index import ArchiveIndex
    from mixmood.data.names import labels_from_folders

    index = ArchiveIndex.from_bytes((folder / name).read_bytes(), _STAMP, 10_000)
    if index is None:
        return REFUSED
    assert len(list(index.names)) == len(index.sizes) == len(index.offsets)
    assert ((index.offsets >= 0) & (index.offsets + index.sizes <= 10_000)).all()
    labels_from_folders(index.names)
    return READ


def _store_seeds() -> list[Seed]:
    files = stores.store_files()
    mutable = [name for name in files if not name.startswith("runs")]
    mutable += [name for name in files if name.startswith("runs")][:2] * 2
    return [Seed(name, files[name], {k: files[k] for k in files if k != name}) for name in mutable]


def _read_store(folder: Path, name: str) -> str:
    """What `testbed status`, `tables` and `correlate` do."""
    from mixmood.cli.testbed import status
    from mixmood.cli.testbed_tables import correlate, tables

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status(str(folder))
        for form in ("text", "json"):
            tables(str(folder), format=form)
        if zlib.crc32((folder / name).read_bytes()) % 4 == 0:
            # Figures take seconds: a quarter of the inputs is drawn.
            tables(str(folder), out=str(folder / "out"))
        correlate(str(folder), format="csv")
    return READ


def _read_backbone(folder: Path, name: str) -> str:
    from mixmood.features.table import load_backbone

    backbone = load_backbone(str(folder / name))
    side = backbone.resolution
    if side <= 64:
        backbone.embed(np.zeros((2, side, side, 3), np.uint8))
    assert backbone.fingerprint
    return READ


def _read_classifier(folder: Path, name: str) -> str:
    from mixmood.ssl.predict import predict_job

    predict_job(folder / name, seeds.images()).to_csv()
    return READ


def _read_tables(folder: Path, name: str) -> str:
    from mixmood.ranking.agreement import agreements
    from mixmood.ranking.tables import read_accuracies, read_distances

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
    return lambda: [Seed(name, seeds.trained()[name])]


READERS: dict[str, Reader] = {
    "png": Reader(_seeds("x.png", seeds.pngs), _read_image, _then(reseal.png)),
    "jpeg": Reader(_seeds("x.jpg", seeds.jpegs), _read_image),
    "progressive": Reader(_seeds("x.jpg", seeds.progressive), _read_image),
    "gif": Reader(_seeds("x.gif", seeds.gifs), _read_image),
    "webp": Reader(_seeds("x.webp", seeds.webps), _read_image),
    "bmp": Reader(_seeds("x.bmp", seeds.bmps), _read_image),
    "tiff": Reader(_seeds("x.tif", seeds.tiffs), _read_image),
    "ppm-ico": Reader(_seeds("x.ppm", seeds.others), _read_image),
    "zip": Reader(_seeds("x.zip", seeds.zips), _read_pool, _inside_zip(packed=True)),
    "tar": Reader(_seeds("x.tar", seeds.tars), _read_pool, _then(reseal.tar)),
    "tar.gz": Reader(
        _seeds("x.tar.gz", lambda: seeds.packed(seeds.tars())), _read_pool, _inside_gz
    ),
    "npy": Reader(_seeds("x.npy", seeds.npys), _read_pool),
    "npz": Reader(_seeds("x.npz", seeds.npzs), _read_pool, _inside_zip(packed=True)),
    "idx": Reader(_labelled_idx(""), _read_idx),
    "idx.gz": Reader(_labelled_idx(".gz"), _read_idx, _inside_gz),
    "txt": Reader(_manifests("x.txt", b"# list\ncat/1.png\ncat/2.jpg\ndog/3.bmp\n"), _read_pool),
    "csv": Reader(
        _manifests("x.csv", b'path,label\ncat/1.png,cat\n"cat/2.jpg",cat\ndog/3.bmp,dog\n'),
        _read_pool,
    ),
    "parquet": Reader(_seeds("x.parquet", seeds.parquets), _read_pool),
    "toml": Reader(_configs, _read_config, toml_tree),
    "checkpoint": Reader(_trained("checkpoint.pt"), _read_checkpoint, _inside_checkpoint),
    "training-record": Reader(_trained("record.json"), _read_training_record, json_tree),
    "cache": Reader(_cache_seeds, _read_cache),
    "tar-index": Reader(_index_seeds, _read_index),
    "store": Reader(_store_seeds, _read_store, json_tree),
    "backbone": Reader(_seeds("x.onnx", seeds.backbones), _read_backbone, onnx_tree),
    "classifier": Reader(_trained("model.onnx"), _read_classifier, onnx_tree),
    "tables": Reader(_table_seeds, _read_tables),
}
"""All readers by name."""
