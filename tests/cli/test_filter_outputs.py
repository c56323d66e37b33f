"""What else mixmood filter writes: saved filters, folders of links and copies."""

import numpy as np
from tests.fixtures.filter_command import filtered, invoke, small


def test_a_saved_filter_works_without_the_labelled_images(in_features, tmp_path):
    filtered("labelled.npy", "half.npy", "--out", tmp_path / "a.csv", "--save", tmp_path / "f.npz")
    result = filtered("-", "half.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "useful share is that of the pool on which the filter was fitted" in result.stdout
    wide = invoke("-", "wide.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "c.csv")
    assert wide.exit_code == 1
    assert "16" in wide.stderr


def test_a_saved_filter_of_images_brings_its_backbone_and_classes(in_images, tmp_path):
    filtered(*small("--out", tmp_path / "a.csv", "--save", tmp_path / "f.npz"))
    filtered("-", "crawl", "--load", tmp_path / "f.npz", "--out", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(30, 1280)))
    words = ("-", tmp_path / "rows.npy", "--load", tmp_path / "f.npz", "--out", tmp_path / "c.csv")
    result = invoke(*words)
    assert result.exit_code == 1
    assert "was fitted on features of efficientnet-lite0, which rows cannot give" in result.stderr


def test_links_and_copies_have_safe_names_and_the_same_bytes(in_images, tmp_path):
    filtered(
        *small("--threshold", "-99", "--out", tmp_path / "k.csv"),
        *("--link", tmp_path / "links", "--copy", tmp_path / "copies"),
    )
    links, copies = sorted((tmp_path / "links").iterdir()), sorted((tmp_path / "copies").iterdir())
    assert [path.name for path in links] == [path.name for path in copies]
    assert len(links) >= 20
    for link, copy in zip(links, copies, strict=True):
        assert link.read_bytes() == copy.read_bytes()
        assert copy.stat().st_nlink == 1
        assert set(link.name) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
        )
    # The file whose name breaks CSV is the same file, under a safe name.
    assert sum(link.stat().st_nlink > 1 for link in links) == len(links)
    again = invoke(*small("--out", tmp_path / "k2.csv", "--link", tmp_path / "links"))
    assert again.exit_code == 1
    assert "links exists and is not an empty folder" in again.stderr


def test_a_folder_of_links_that_was_interrupted_is_finished(in_images, tmp_path):
    words = small("--keep", 5, "--out", tmp_path / "k.csv", "--link", tmp_path / "links")
    filtered(*words)
    names = sorted(path.name for path in (tmp_path / "links").iterdir())
    (tmp_path / "links" / names[0]).unlink()
    filtered(*words, "--resume")
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == names
    (tmp_path / "links" / "mine.png").touch()
    assert "links exists and is not an empty folder" in invoke(*words, "--resume").stderr


def test_the_borderline_images_are_on_a_page_to_keep_or_drop(in_images, tmp_path):
    page = tmp_path / "review.html"
    filtered(*small("--out", tmp_path / "kept.csv", "--review", page, "--keep", 10))
    assert "Keep these" in page.read_text()
    assert page.read_text().count("data:image/jpeg;base64,") > 10
