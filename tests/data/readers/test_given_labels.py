"""What a person said about images is used, or told by name; nothing is lost."""

import csv
import io

import numpy as np
import pytest

from mixmood.core.errors import InputError
from mixmood.core.files import inert
from mixmood.core.listener import Recorder
from mixmood.data.images.labels import KEEP, NONE
from mixmood.data.open import open_pool
from mixmood.data.readers.given_labels import read_labels, with_labels
from mixmood.data.readers.kept import parts_of

HEAD = "pool,path,index,label\n"


@pytest.fixture
def sets():
    """Six labelled rows of a, b and c, and a pool `web` of five rows."""
    labelled = open_pool((np.arange(12.0).reshape(6, 2), np.array(list("aabbcc"))), "own")
    return labelled, {"web": open_pool(100 + np.arange(10.0).reshape(5, 2), "web")}


def given(tmp_path, sets, *texts):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"{number}.csv")
        files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    found, listener = with_labels(files, *sets), Recorder()
    found.tell(listener)
    return found, listener


def names(pool):
    return [pool.labels.names[code] for code in pool.labels.codes]


def test_corrections_and_labels_of_pools_are_joined_and_leave_the_pool(tmp_path, sets):
    own = f"own,own[0],0,b\nown,own[5],5,{NONE}\n"
    text = HEAD + own + f"web,web[1],1,c\nweb,web[3],3,{NONE}\nweb,web[4],4,{KEEP}\n"
    found, listener = given(tmp_path, sets, text)
    assert names(found.labelled) == ["b", "a", "b", "b", "c", "c"]
    assert found.labelled.locate(5) == "web[1]"
    assert found.labelled.features(np.array([5, 0])).tolist() == [[102.0, 103.0], [0.0, 1.0]]
    left = found.without_labelled("web", sets[1]["web"])
    assert [left.features(np.array([k]))[0, 0] for k in range(3)] == [100, 104, 108]
    assert found.answers["web"] == {1: "c", 3: NONE, 4: KEEP}
    assert listener.warnings == []
    assert "1 labelled, 1 of none of the classes and 1 to keep" in " ".join(listener.notes)


@pytest.mark.parametrize(
    "text",
    [
        ("\ufeff" + HEAD + "web,web[1],1,c\n").encode(),
        b"pool;path;index;label\r\nweb;web[1];1.0;c\r\n",
        b"Label\tPath\nc\tweb[1]\n",
        b"pool,path,index,label\nanother name,web[1],4,c\n",
    ],
    ids=["BOM", "semicolons", "tabs", "other pool and index"],
)
def test_a_table_that_a_spreadsheet_has_changed_is_read(tmp_path, sets, text):
    assert given(tmp_path, sets, text)[0].answers["web"] == {1: "c"}


def test_a_label_that_is_not_used_is_told_by_name(tmp_path, sets):
    found, listener = given(tmp_path, sets, HEAD + "web,web[9],9,c\nweb,web[2],2,\n")
    assert found.labelled is sets[0]
    assert listener.warnings == ["1 label of --labels not used: web[9] (no such image)."]
    assert found.notes == tuple(listener.warnings)


def test_a_label_of_a_pool_that_is_not_given_says_so(tmp_path, sets):
    found, listener = given(tmp_path, (sets[0], {}), HEAD + "web,web[1],1,c\n")
    assert found.labelled is sets[0]
    words = "1 label of --labels not used: web[1] (of web, which is not given)."
    assert listener.warnings == [words]


NAMES = ["'=x.jpg", "=x.jpg", " blank.jpg", "end.jpg ", "-d.jpg", "''.jpg", "a,b;c.jpg"]


@pytest.mark.parametrize("with_index", [True, False])
def test_names_that_begin_like_the_quote_of_a_formula_are_found(tmp_path, with_index):
    """The page writes '=x for =x; a file may be called '=x too, which the index decides."""
    names = NAMES if with_index else NAMES[1:]
    (tmp_path / "web").mkdir()
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["pool", "path", "index", "label"])
    for name in names:
        (tmp_path / "web" / name.replace("end.jpg ", "end .jpg")).write_bytes(b"not read")
    web = open_pool(tmp_path / "web")
    for row in range(len(web)):
        path = inert(web.locate(row))
        writer.writerow(["web", path, row if with_index else "", "'-1" if row else "'=1"])
    own = open_pool((np.eye(2), np.array(["-1", "'=1"])), "own")
    found, listener = given(tmp_path, (own, {"web": web}), table.getvalue())
    assert listener.warnings == []
    assert found.answers["web"] == {row: "-1" if row else "'=1" for row in range(len(names))}


def test_a_table_of_label_studio_has_the_pictures_in_it(tmp_path, sets):
    picture = "data:image/jpeg;base64," + "A" * 300_000
    text = f'id,image,index,label,path,pool\n7,"{picture}",1,c,web[1],web\n'
    assert given(tmp_path, sets, text)[0].answers["web"] == {1: "c"}
    with pytest.raises(InputError, match="a line is longer than 4194304 bytes"):
        given(tmp_path, sets, text.replace("AAAA", "A" * 80))


@pytest.mark.parametrize(("name", "meaning"), [(NONE, "of none of the classes"), (KEEP, "to keep")])
def test_a_class_that_is_called_like_an_answer_is_refused(tmp_path, name, meaning):
    own = open_pool((np.eye(2), np.array(["cat", name])), "own")
    with pytest.raises(InputError, match=f"answer for an image {meaning}. Rename the class"):
        given(tmp_path, (own, {}), HEAD)


def test_a_pool_whose_images_all_have_a_label_is_named(tmp_path, sets):
    rows = "".join(f"web,web[{k}],{k},a\n" for k in range(5))
    found, _ = given(tmp_path, sets, HEAD + rows)
    assert found.left(sets[1]) == ({}, {"web": "all of its images have a label."})
    assert names(found.labelled) == list("aabbcc") + ["a"] * 5


def test_a_new_class_is_told_with_the_name_that_was_perhaps_meant(tmp_path):
    own = open_pool((np.eye(4), np.array(["cat", "cat", "dog", "dog"])), "own")
    text = HEAD + "own,own[0],0,catt\nown,own[1],1,'=bird\nown,own[2],2,DOG\n"
    found, listener = given(tmp_path, (own, {}), text)
    assert names(found.labelled) == ["catt", "=bird", "DOG", "dog"]
    assert "'catt' is a new class of 1 image. Did you mean 'cat'?" in listener.notes
    assert "'DOG' is a new class of 1 image. Did you mean 'dog'?" in listener.notes


def test_two_labels_of_an_image_are_refused_in_a_file_and_the_later_file_counts(tmp_path, sets):
    with pytest.raises(InputError, match=r"two labels: 'a' in line 2 and 'b' in line 3"):
        given(tmp_path, sets, HEAD + "web,web[1],1,a\nweb,web[1],1,b\n")
    found, listener = given(tmp_path, sets, HEAD + "web,web[1],1,a\n", HEAD + "web,web[1],1,b\n")
    assert found.answers["web"] == {1: "b"}
    assert any("later file" in note for note in listener.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name,class\n1,2\n", "no column path and label"),
        (b"path,label,index\nx,a,one\n", "index 'one', which is no number"),
        ("path,label\nx,a\n".encode("utf-16"), "UTF-16"),
        (b"path,label\nx\n", "1 fields, and the header has 2"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    path = tmp_path / "labels.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_labels(path, ())


def test_a_group_of_a_joined_image_is_that_of_its_own_table(tmp_path):
    for name, rows in (("own", "a.png,x,1\nb.png,y,2\nc.png,y,2\n"), ("web", "d.png,,3\n")):
        (tmp_path / f"{name}.csv").write_text("path,label,patient\n" + rows)
    for name in "abcd":
        (tmp_path / f"{name}.png").write_bytes(b"not read")
    own, web = (open_pool(tmp_path / f"{name}.csv") for name in ("own", "web"))
    path = tmp_path / "labels.csv"
    path.write_text(HEAD + f"web,{web.locate(0)},0,x\n")
    found = with_labels([path], own, {"web": web})
    assert found.labelled.column("patient") == ["1", "2", "2", "3"]
    assert found.labelled.fetch(3) == web.fetch(0)
    assert found.labelled.file_path(0) == own.file_path(0)
    assert found.labelled.fingerprint != own.fingerprint


def test_a_label_of_an_image_that_filter_dropped_is_found_in_the_pool_of_the_list(tmp_path, sets):
    """`filter --labels` drops labelled images; the command that it prints trains with the rest."""
    own, pools = sets
    kept = parts_of([(pools["web"], np.array([0, 2]))], "kept")
    text = HEAD + f"web,web[1],1,c\nweb,web[2],2,a\nweb,web[4],4,{NONE}\n"
    found, listener = given(tmp_path, (own, {"kept": kept}), text)
    assert listener.warnings == []
    assert sorted(names(found.labelled)) == sorted("aabbcc" + "ca")
    left, emptied = found.left({"kept": kept})
    assert (len(left["kept"]), emptied) == (1, {})
