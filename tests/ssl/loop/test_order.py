import numpy as np

from mixmood.ssl.loop import Order


def test_every_pass_visits_every_image_once():
    order = Order(10, 4, seed=0, purpose="pool")
    rows = np.concatenate([order.rows(update) for update in range(5)])
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))


def test_any_update_can_be_had_without_the_ones_before_it():
    walked = [Order(7, 3, seed=5, purpose="pool").rows(update) for update in range(9)]
    order = Order(7, 3, seed=5, purpose="pool")
    assert np.array_equal(order.rows(8), walked[8])
    assert np.array_equal(order.rows(2), walked[2])


def test_a_batch_larger_than_the_set_repeats_it():
    assert sorted(Order(2, 6, seed=0, purpose="labelled").rows(3)) == [0, 0, 0, 1, 1, 1]


def test_purposes_and_seeds_have_orders_of_their_own():
    rows = [
        Order(50, 50, seed=seed, purpose=purpose).rows(0).tolist()
        for seed, purpose in ((0, "pool"), (1, "pool"), (0, "labelled"))
    ]
    assert rows[0] != rows[1] != rows[2] != rows[0]
