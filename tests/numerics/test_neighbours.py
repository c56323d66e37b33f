import numpy as np
import pytest

from mixmood.numerics import neighbours
from mixmood.numerics.neighbours import cosine_neighbours, unit_rows


def brute_force(queries, references, k, within=False):
    cosines = unit_rows(queries) @ unit_rows(references).T
    if within:
        np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("block", [7, 10**6])
def test_neighbours_are_those_of_a_full_sort_in_blocks_of_any_size(block, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_ENTRIES", block)
    rng = np.random.default_rng(0)
    queries, references = rng.normal(size=(23, 5)), rng.normal(size=(31, 5))
    found = cosine_neighbours(queries, references, 4)
    assert (found.indices == brute_force(queries, references, 4)).all()
    within = cosine_neighbours(queries, None, 3)
    assert (within.indices == brute_force(queries, queries, 3, within=True)).all()


def test_a_row_is_not_its_own_neighbour_but_its_copy_is():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    found = cosine_neighbours(rows, None, 1)
    assert found.indices[:, 0].tolist() == [2, 0, 0]
    assert found.similarities[0, 0] == pytest.approx(1.0)


def test_of_equally_similar_rows_the_lower_index_comes_first():
    rows = np.array([[1.0, 0.0]] * 9)
    assert cosine_neighbours(rows[:1], rows, 4).indices.tolist() == [[0, 1, 2, 3]]


def test_there_are_never_more_neighbours_than_rows():
    rows = np.eye(3)
    assert cosine_neighbours(rows, None, 10).indices.shape == (3, 2)
    assert cosine_neighbours(rows, rows, 10).indices.shape == (3, 3)
    assert cosine_neighbours(rows[:1], None, 10).indices.shape == (1, 0)
