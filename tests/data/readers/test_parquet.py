"""Parquet with a column of images."""

import json
import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from tests.fixtures.mutations import EDITS, assert_images_or_known_errors

from mixmood.core.errors import InputError, MissingExtraError, UnreadableImageError
from mixmood.data.open import open_pool
from mixmood.data.readers import parquet as parquet_module
from mixmood.data.readers.parquet import ParquetSource

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def written(tmp_path, png):
    """Writes a Parquet file of images of these grey values, three rows to a group."""

    def make(values, file="a.parquet", *, struct=True, group=3, metadata=None, **columns):
        files = [value if isinstance(value, bytes | None) else png(value) for value in values]
        images = [{"bytes": data, "path": f"{i}.png"} for i, data in enumerate(files)]
        column = pa.array(images if struct else files)
        table = pa.table({"image": column, **columns})
        if metadata is not None:
            table = table.replace_schema_metadata({"huggingface": json.dumps(metadata)})
        (tmp_path / file).parent.mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / file, row_group_size=group)
        return tmp_path / file

    return make


FEATURES = {
    "info": {
        "features": {
            "image": {"_type": "Image"},
            "kind": {"_type": "ClassLabel", "names": ["cat", "dog"]},
        }
    }
}


@pytest.mark.parametrize("struct", [True, False], ids=["struct", "binary"])
def test_images_are_read_across_row_groups(struct, written, values_of):
    pool = open_pool(written(range(10, 18), struct=struct))
    assert isinstance(pool, ParquetSource)
    assert values_of(pool) == list(range(10, 18))
    assert (pool.name, pool.locate(4), pool.labels) == ("a", "a[4]", None)
    assert [int(next(pool.read([index]))[0, 0, 0]) for index in (7, 0, 4, 3)] == [17, 10, 14, 13]


def test_the_metadata_of_hugging_face_names_image_column_and_classes(written):
    path = written([1, 2, 3], metadata=FEATURES, kind=[1, 0, 1], label=["x", "y", "z"])
    assert open_pool(path).labels.counts() == {"cat": 1, "dog": 2}


def test_a_column_called_label_gives_labels_without_metadata(written):
    assert open_pool(written([1, 2, 3], label=["b", "a", "b"])).labels.counts() == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string())],
    ids=str,
)
def test_texts_are_classes_however_they_are_stored(kind, written):
    """Of pandas, texts are large strings, and categories a dictionary."""
    labels = pa.array(["b", "a", "b"]).cast(kind)
    pool = open_pool(written([1, 2, 3], label=labels))
    assert pool.labels.counts() == {"a": 1, "b": 2}
    assert pool.why_unlabelled == ""


def test_a_column_of_bools_gives_labels(written):
    pool = open_pool(written([1, 2, 3], label=[True, False, True]))
    assert pool.labels.counts() == {"False": 1, "True": 2}


def test_a_column_of_numbers_called_target_is_no_class(written):
    pool = open_pool(written([1, 2, 3], target=[0.5, 1.5, 2.5]))
    assert pool.labels is None
    assert "column 'target' holds values of the type double; classes are" in pool.why_unlabelled


def test_labels_that_cannot_be_read_are_an_error(written):
    path = written([1, 2, 3], label=["b", "a", "b"])
    pool = open_pool(path)
    path.unlink()
    with pytest.raises(InputError, match=r"a: the column of labels, 'label', cannot be read: "):
        pool.labels  # noqa: B018


def repeated(path, content, n_rows):
    """A file of one image many times over, which Parquet stores once."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"image": pa.array([content] * n_rows)})
    parquet.write_table(table, path, compression="zstd")
    return path


def test_more_rows_than_bytes_are_refused(tmp_path):
    path = repeated(tmp_path / "a.parquet", b"x", 20_000)
    with pytest.raises(InputError, match=r"it claims 20000 rows in \d+ bytes"):
        open_pool(path)


def test_a_small_row_group_that_unpacks_to_much_is_unreadable(tmp_path, monkeypatch):
    """The metadata tells the size of the one image that is stored: a hundredth of what comes."""
    monkeypatch.setattr(parquet_module, "_MAX_GROUP_BYTES", 100_000)
    pool = open_pool(repeated(tmp_path / "a.parquet", bytes(20_000), 100))
    with pytest.raises(UnreadableImageError, match="row group unpacks to more than 100000 bytes"):
        pool.fetch(0)
    monkeypatch.setattr(parquet_module, "_read_column", None)
    with pytest.raises(UnreadableImageError, match="row group unpacks to more than 100000 bytes"):
        pool.fetch(99)


def test_labels_that_unpack_to_much_are_an_error(written, monkeypatch):
    """Parquet stores a repeated text once: 11 kB held labels of 200 MB."""
    path = written(range(99), label=["x" * 2000] * 99)
    assert open_pool(path).labels.names == ("x" * 2000,)
    monkeypatch.setattr(parquet_module, "_MAX_COLUMN_BYTES", 100_000)
    with pytest.raises(InputError, match="'label', cannot be read: it unpacks to more than 100000"):
        open_pool(path).labels  # noqa: B018
    with pytest.raises(InputError, match="'label' cannot be read: it unpacks to more than 100000"):
        open_pool(path).column("label")


def test_a_long_label_does_not_make_the_others_long(written):
    """In an array of texts each has the size of the longest: here it would be 120 MB."""
    pool = open_pool(written(range(300), label=["x" * 10**5, *["y"] * 299]))
    tracemalloc.start()
    assert pool.labels.codes.tolist() == [0] + [1] * 299
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


@pytest.mark.parametrize("labels", [[1, -1, 0], [1, None, 0], ["cat", "", "dog"]])
def test_missing_labels_mean_that_there_are_none(labels, written):
    pool = open_pool(written([1, 2, 3], metadata=FEATURES, kind=labels))
    assert pool.labels is None
    assert pool.why_unlabelled == "1 of 3 labels in 'kind' are missing."


@pytest.mark.parametrize(
    "metadata",
    [
        *({}, {"info": 3}, {"info": {"features": [1]}}, []),
        {"info": {"features": {"image": {"_type": "ClassLabel", "names": 5}}}},
    ],
)
def test_metadata_that_makes_no_sense_is_ignored(metadata, written, values_of):
    assert values_of(open_pool(written([1, 2], metadata=metadata))) == [1, 2]


def test_opening_reads_no_row(written, monkeypatch):
    path = written([1, 2])
    monkeypatch.setattr(parquet_module, "_read_column", None)
    pool = open_pool(path)
    assert len(pool) == 2
    assert len(pool.fingerprint) == 64


def test_a_row_group_is_read_once_and_the_oldest_forgotten(written, monkeypatch):
    pool = open_pool(written(range(9)))
    read = []
    original = parquet_module._read_column
    monkeypatch.setattr(
        parquet_module, "_read_column", lambda *a: read.append(a[2]) or original(*a)
    )
    for index in (0, 1, 2, 3, 0):
        pool.fetch(index)
    assert read == [0, 1]
    monkeypatch.setattr(parquet_module, "_CACHE_BYTES", 0)
    for index in (6, 7, 0):
        pool.fetch(index)
    assert read == [0, 1, 2, 0]


def test_what_is_kept_is_counted_as_it_lies_in_memory(written, monkeypatch):
    """An image that is repeated is stored once: the file claims little and unpacks to much."""
    pool = open_pool(written([bytes(100_000)] * 60, group=20))
    assert max(group.n_bytes for group in pool._groups) < 150_000
    monkeypatch.setattr(parquet_module, "_CACHE_BYTES", 3_000_000)
    for index in (0, 20, 40):
        pool.fetch(index)
    assert sum(column.nbytes for column in pool._kept.values()) <= 3_000_000


def test_a_folder_of_parquet_files_is_one_pool(written, values_of, tmp_path):
    written([4, 5], "data/train-1.parquet", metadata=FEATURES, kind=[0, 1])
    written([1, 2, 3], "data/train-0.parquet", metadata=FEATURES, kind=[1, 1, 1])
    pool = open_pool(tmp_path / "data")
    assert values_of(pool) == [1, 2, 3, 4, 5]
    assert pool.labels.codes.tolist() == [1, 1, 1, 0, 1]
    assert pool.name == "data"


def test_files_with_different_columns_are_no_one_pool(written, tmp_path):
    written([1], "data/0.parquet")
    written([1], "data/1.parquet", struct=False)
    with pytest.raises(InputError, match=r"1\.parquet and .*0\.parquet must have the same columns"):
        open_pool(tmp_path / "data")


def test_an_image_that_is_only_a_path_is_unreadable(written):
    pool = open_pool(written([1, None, 3]))
    with pytest.raises(UnreadableImageError, match=r"a\[1\]: there are no bytes in the table"):
        pool.fetch(1)


def test_a_row_group_too_large_is_unreadable_before_it_is_read(written, monkeypatch):
    monkeypatch.setattr(parquet_module, "_MAX_GROUP_BYTES", 10)
    with pytest.raises(
        UnreadableImageError, match=r"its row group has \d+ bytes, more than the 10"
    ):
        open_pool(written([1])).fetch(0)


def test_a_file_that_vanished_gives_unreadable_images(written):
    path = written([1])
    pool = open_pool(path)
    path.unlink()
    with pytest.raises(UnreadableImageError, match=r"a\[0\]: cannot be read: .*No such file"):
        pool.fetch(0)


def test_the_fingerprint_follows_the_content(written):
    first = open_pool(written([1, 2, 3])).fingerprint
    assert open_pool(written([1, 2, 3], "b.parquet")).fingerprint == first
    assert open_pool(written([1, 2], "c.parquet")).fingerprint != first


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(InputError, match=r"Cannot open .*a\.parquet as a Parquet file: "):
        open_pool(tmp_path / "a.parquet")


def test_a_table_without_images_is_refused(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"no column of images .* it has: x, y"):
        open_pool(tmp_path / "a.parquet")


def test_a_table_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"image": pa.array([], pa.binary())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"No images in .*a\.parquet: it has no rows"):
        open_pool(tmp_path / "a.parquet")


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits=EDITS)
def test_a_mutated_file_gives_images_or_the_known_errors(edits, written):
    path = written([1, 2, 3, 4], metadata=FEATURES, kind=[0, 1, 0, 1])
    assert_images_or_known_errors(path, edits, open_pool)


@pytest.mark.parametrize(
    ("module", "what", "message"),
    [
        ("pyarrow.parquet", "a.parquet", r"Reading Parquet needs .* 'mixmood\[hub\]'"),
        ("datasets", "hf://x/y", r"Reading hf:// needs .* 'mixmood\[hub\]'"),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(
    module, what, message, monkeypatch, tmp_path
):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=message):
        open_pool(what)
