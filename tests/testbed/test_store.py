import errno
import json
import os
import sqlite3

import pytest

from mixmood.core.errors import InputError, OutputError
from mixmood.testbed.record import FailedRun, RunError
from mixmood.testbed.store import Store


def test_a_record_is_read_as_it_was_written(store, make_record):
    record = make_record()
    store.write(record)
    assert Store(store.folder).records() == [record]
    assert store.keys() == {record.key}


def test_a_run_that_succeeds_at_last_forgets_its_failure(store, make_record):
    record = make_record()
    store.write(FailedRun(key=record.key, run=record.run, error=RunError(message="x")))
    assert store.keys(failed=True) == {record.key}
    store.write(record)
    assert (store.keys(), store.keys(failed=True)) == ({record.key}, set())


def test_a_second_driver_is_refused(store):
    with store.locked():
        assert store.is_locked
        with (
            pytest.raises(OutputError, match="Another driver is at work on the store"),
            Store(store.folder).locked(),
        ):
            pass
    assert not store.is_locked


def test_what_a_killed_driver_left_half_written_is_swept_away(store, make_record):
    store.write(make_record())
    half = store.folder / "runs" / ".abc.json.x1"
    half.write_text('{"key": ')
    assert len(store.records()) == 1
    with store.locked():
        assert not half.exists()


def test_a_store_whose_maker_was_killed_can_be_made(tiny, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / ".store.json.x1").write_text("{")
    store = Store.make(tmp_path / "store", tiny)
    (store.folder / ".driver.json.x1").write_text("{")
    with store.locked():
        assert sorted(path.name for path in store.folder.glob(".*")) == []


def test_a_full_disk_leaves_all_records_whole(store, make_record, monkeypatch):
    store.write(make_record(seed=0))

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        store.write(make_record(seed=1))
    monkeypatch.undo()
    assert [record.run.seed for record in Store(store.folder).records()] == [0]
    assert [path.name[0] for path in (store.folder / "runs").iterdir()] != ["."]


def test_a_store_of_another_version_is_refused(store, tiny):
    head = store.folder / "store.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"schema": 99}))
    with pytest.raises(InputError, match="is of version 99; this mixmood reads version 1"):
        Store.make(store.folder, tiny)


def test_a_store_of_another_protocol_is_refused(store, tiny):
    changed = tiny.model_copy(
        update={"training": tiny.training.model_copy(update={"learning_rate": 0.1})}
    )
    message = r"another protocol: training.learning_rate is 0.002 there and 0.1 here"
    with pytest.raises(InputError, match=message):
        Store.make(store.folder, changed)


def test_more_seeds_go_into_the_same_store(store, tiny):
    more = tiny.model_copy(update={"grid": tiny.grid.model_copy(update={"seeds": 9})})
    assert Store.make(store.folder, more).folder == store.folder


def test_a_folder_of_other_files_is_no_store(tmp_path, tiny):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds other files and is no store"):
        Store.make(tmp_path, tiny)
    with pytest.raises(InputError, match="is no store of a test bed: it has no store.json"):
        Store(tmp_path)


def test_a_store_that_cannot_be_made_is_told(tmp_path, tiny):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Cannot make the folder"):
        Store.make(tmp_path / "file" / "store", tiny)


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"key": ', "Cannot read .* Delete it"), ("[]", "it is no JSON object. Delete it")],
)
def test_a_broken_record_is_named(store, text, message):
    (store.folder / "runs" / "0a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        store.records()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda r: r.pop("run"), "run: Field required"),
        (lambda r: r["run"].pop("percent"), "run.percent: Field required"),
        (lambda r: r["run"].update(percent=float("nan")), "run.percent: Input should be"),
        (lambda r: r["run"].update(seed="0"), "run.seed: Input should be a valid integer"),
        (lambda r: r["accuracy"].update(last=7), "accuracy.last: Input should be less than or"),
        (
            lambda r: r["accuracy"].pop("best"),
            "either 'test' or 'best', 'last' and 'median' must be",
        ),
        (lambda r: r.update(training=None), "a run without epochs has one accuracy, 'test'"),
        (lambda r: r["times"].pop("total_s"), "'times' must have 'total_s'"),
        (lambda r: r["training"].update(epochs=[]), "training.epochs: List should have at least"),
        (lambda r: r.update(distances=[1]), "distances: Input should be an object"),
        (lambda r: r["distances"]["cosine"].pop("spread"), "cosine.spread: Field required"),
        (
            lambda r: r["distances"].update({"../../x": r["distances"]["cosine"]}),
            r"distances.*: String should match pattern",
        ),
    ],
)
def test_a_record_with_something_else_in_it_is_told(store, make_record, damage, message):
    """A table drawn from it would end in a traceback, or outside its folder."""
    record = make_record().to_dict()
    damage(record)
    path = store.folder / "runs" / "0123456789.json"
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=rf"0123456789\.json is no whole record: .*{message}"):
        store.records()


def test_a_failed_record_must_say_why(store, make_record):
    path = store.folder / "failed" / "0123456789.json"
    path.write_text(json.dumps(make_record().to_dict() | {"error": {"message": " "}}))
    with pytest.raises(InputError, match=r"is no whole record: error\.message: String should"):
        store.failures()


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "\xff"])
def test_a_record_that_is_no_json_is_told(store, text):
    (store.folder / "runs" / "0123456789.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=r"Cannot read .*0123456789\.json"):
        store.records()


@pytest.mark.parametrize("config", [None, 3, {"name": "tiny"}])
def test_a_store_whose_head_describes_no_test_bed_is_refused(store, config):
    head = store.folder / "store.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"config": config}))
    with pytest.raises(InputError, match=r"store\.json does not describe a test bed: "):
        Store(store.folder)


def damaged(path):
    path.write_bytes(b"no database, but long enough to be taken for one" * 100)


def made_a_folder(path):
    path.unlink(missing_ok=True)
    path.mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [(damaged, "file is not a database"), (made_a_folder, "unable to open database file")],
)
def test_a_lock_that_cannot_be_used_is_told(store, damage, message):
    damage(store.folder / "lock.sqlite")
    told = rf"Cannot use the lock .*lock\.sqlite: {message}\. It holds no results"
    with pytest.raises(OutputError, match=told), store.locked():
        pytest.fail("locked")
    with pytest.raises(OutputError, match=told):
        _ = store.is_locked


def test_an_error_under_the_lock_is_not_taken_for_one_of_the_lock(store):
    with pytest.raises(sqlite3.OperationalError, match="of a cache"), store.locked():
        raise sqlite3.OperationalError("of a cache")
    assert not store.is_locked
