"""Well-formed containers with absurd content, made by hypothesis; MIXMOOD_FUZZ_EXAMPLES of each."""

import contextlib
import io
import json
import os
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from mixmood.core.errors import MixmoodError, UnreadableImageError
from mixmood.data.images.pool import ImageSource
from mixmood.data.open import open_pool
from mixmood.testbed.cells import runs
from mixmood.testbed.config import parse_config

fuzzed = settings(
    max_examples=int(os.environ.get("MIXMOOD_FUZZ_EXAMPLES", "25")),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

ODD_NUMBERS = st.one_of(
    st.integers(-2, 9),
    st.sampled_from([2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**62, 10**12, 10**30]),
)
NAMES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["../x.png", "/x.png", "a/b.png", ".png", "x.PNG", "\x1b[2J.png", "a" * 300, "1.png"]
    ),
)


def read(name, content, **beside):
    """Open the file as a pool and read its first images; whatever else is raised fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        for other, data in beside.items():
            (Path(folder) / f"{other}.png").write_bytes(data)
        (Path(folder) / name).write_bytes(content)
        with contextlib.suppress(MixmoodError):
            pool = open_pool(Path(folder) / name)
            assert pool.fingerprint
            assert pool.labels is None or len(pool.labels.codes) == len(pool)
            if isinstance(pool, ImageSource):
                for picture in pool.read(range(min(len(pool), 5))):
                    assert isinstance(picture, UnreadableImageError) or picture.dtype == np.uint8
        assert len(list(Path(folder).iterdir())) == 1 + len(beside)


def picture():
    buffer = io.BytesIO()
    Image.new("L", (5, 4), 9).save(buffer, "PNG")
    return buffer.getvalue()


@fuzzed
@given(
    kind=st.integers(0, 255),
    shape=st.lists(st.one_of(st.integers(0, 8), st.integers(0, 2**32 - 1)), max_size=5),
    data=st.binary(max_size=300),
)
def test_idx_headers(kind, shape, data):
    head = bytes([0, 0, kind if kind % 2 else 8, len(shape)])
    read("x-ubyte", head + struct.pack(f">{len(shape)}I", *shape) + data)


@fuzzed
@given(
    descr=st.one_of(
        st.sampled_from(
            ["|u1", "<f4", ">f8", "<u2", "|b1", "|O", "|S0", "<U0", "|V0", "<M8[s]", "<c8"]
        ),
        st.sampled_from([[("a", "|u1")], ("|u1", (2, 2)), [("a", "|O")]]),
        st.text(max_size=8),
    ),
    shape=st.lists(ODD_NUMBERS, max_size=6),
    order=st.booleans(),
    data=st.binary(max_size=300),
    suffix=st.sampled_from(["npy", "npz"]),
)
def test_npy_headers(descr, shape, order, data, suffix):
    buffer = io.BytesIO()
    text = repr({"descr": descr, "fortran_order": order, "shape": tuple(shape)}).encode(
        "latin-1", "replace"
    )
    buffer.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text) + 1) + text + b"\n" + data)
    content = buffer.getvalue()
    if suffix == "npz":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("images.npy", content)
            archive.writestr("labels.npy", content)
        content = packed.getvalue()
    read(f"x.{suffix}", content)


@fuzzed
@pytest.mark.filterwarnings("ignore:Duplicate name")
@given(
    st.lists(st.tuples(NAMES, st.one_of(st.binary(max_size=60), st.just(picture()))), max_size=6)
)
def test_zip_members(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(
                zipfile.ZipInfo(name.encode("utf-8", "replace").decode() or "x"), content
            )
    read("x.zip", buffer.getvalue())


@fuzzed
@given(
    st.lists(
        st.tuples(NAMES, st.binary(max_size=60), st.sampled_from(list(b"01234567LKSxgDVM"))),
        max_size=6,
    ),
    st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    st.dictionaries(
        st.sampled_from(["size", "path", "GNU.sparse.map", "x"]),
        st.one_of(ODD_NUMBERS.map(str), st.text(max_size=9)),
        max_size=2,
    ),
)
def test_tar_members(members, form, extended):
    blocks = b""
    for name, content, kind in members:
        info = tarfile.TarInfo(name.replace("\0", "") or "x")
        info.size, info.type = len(content), bytes([kind])
        info.pax_headers = extended
        try:
            blocks += info.tobuf(form, errors="replace")
        except ValueError:
            continue  # Too long for this dialect.
        blocks += content + bytes(-len(content) % 512)
    read("x.tar", blocks + bytes(1024))


@fuzzed
@given(
    head=st.lists(
        st.sampled_from(["path", "file", "label", "class", "", "x", "PATH "]), max_size=4
    ),
    rows=st.lists(st.lists(NAMES, max_size=4), max_size=5),
    suffix=st.sampled_from(["csv", "tsv", "txt"]),
)
def test_manifests(head, rows, suffix):
    separator = "\t" if suffix == "tsv" else ","
    lines = [separator.join(row) for row in [head, ["1.png", "cat"], *rows]]
    read(f"list.{suffix}", "\n".join(lines).encode("utf-8", "replace"), **{"1": picture()})


VALUES = st.recursive(
    st.one_of(
        st.booleans(), ODD_NUMBERS, st.floats(), st.text(st.characters(codec="utf-8"), max_size=12)
    ),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=6,
)
SECTIONS = {
    "grid": "percents n_labelled seeds algorithms contamination baselines x",
    "split": "n_unlabelled n_validation n_classes test_share balanced image_scale",
    "training": "model epochs batch_size learning_rate weight_decay augment ema",
    "distances": "measures backbone resolution sample_size draws",
}


@fuzzed
@given(
    st.fixed_dictionaries(
        {
            section: st.dictionaries(st.sampled_from(keys.split()), VALUES, max_size=3)
            for section, keys in SECTIONS.items()
        }
    )
)
def test_test_beds(sections):
    def written(value):
        if isinstance(value, list):
            return f"[{', '.join(map(written, value))}]"
        return repr(value) if isinstance(value, float) else json.dumps(value)

    lines = ['name = "x"', 'grid.tasks.digits = ["gaussian"]']
    for section, values in sections.items():
        lines += [f"{section}.{key} = {written(value)}" for key, value in values.items()]
    text = "\n".join(lines)
    with contextlib.suppress(MixmoodError):
        assert runs(parse_config(text, "bed"))
