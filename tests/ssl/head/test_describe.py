import numpy as np

from mixmood.ssl.head import confusion


def test_a_confusion_table_counts_every_repeat_by_its_share_and_leaves_out_who_was_never_tested():
    nothing = [np.nan, np.nan]
    logits = np.array([[[1, 0], [1, 0], nothing], [[1, 0], [0, 1], nothing]])
    assert confusion(logits, np.array([0, 1, 1]), 2) == ((1.0, 0.0), (0.5, 0.5))
    assert confusion(logits, np.array([0, 1, 1]), 1000) is None
