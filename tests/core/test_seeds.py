"""One seed, many independent streams."""

from mixmood.core.errors import MissingExtraError
from mixmood.core.seeds import rng_for
from mixmood.core.text import unknown_name


def test_streams_differ_by_seed_and_by_every_word():
    streams = [(0,), (1,), (0, "a"), (0, "b"), (0, "a", "b"), (0, "ab"), (0, "a", 1), (0, "a1")]
    numbers = {rng_for(*words).integers(2**60) for words in streams}
    assert len(numbers) == len(streams)


def test_names_that_are_not_text_have_streams_too():
    """A file name may hold bytes that are no UTF-8; Python shows them as surrogates."""
    assert rng_for(0, "scan-\udcff").integers(2**60) == rng_for(0, "scan-\udcff").integers(2**60)


def test_a_name_that_is_like_no_other_gets_the_list_only():
    error = unknown_name("measure", "zzz", ["cosine", "js"])
    assert str(error) == "Unknown measure 'zzz'. Known: cosine, js."


def test_a_missing_extra_says_how_to_install_it():
    assert "pip install 'mixmood[train]'" in str(MissingExtraError("Training", "train"))
