import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mixmood.heads
from mixmood.heads import MixMatchClassifier, PropagationClassifier, PseudoLabelClassifier
from mixmood.heads.estimators import EXPECTED_FAILED_CHECKS

KINDS = [MixMatchClassifier, PseudoLabelClassifier, PropagationClassifier]


def clouds():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 8)) + 3 * np.eye(8)[truth]
    return X, truth, np.where(np.arange(150) < 30, truth, -1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_the_checks_of_scikit_learn_pass(kind):
    """Those that cannot are named, with their reasons; one that passes all the same is an error."""
    results = check_estimator(kind(), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(EXPECTED_FAILED_CHECKS)


@pytest.mark.parametrize("kind", KINDS)
def test_unlabelled_rows_are_those_with_minus_one(kind):
    X, truth, y = clouds()
    model = kind().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(X) == truth).mean() > 0.85
    assert model.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_classes_too(kind):
    X, truth, _ = clouds()
    words = np.array(["cat", "dog", "owl"])[truth]
    assert (kind().fit(X, words).predict(X) == words).mean() > 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_words_may_stand_beside_minus_one(kind):
    X, truth, y = clouds()
    words = np.array(["cat", "dog", "owl"], object)[truth]
    model = kind().fit(X, np.where(y >= 0, words, -1))
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    assert (model.predict(X) == words).mean() > 0.85


def test_minus_one_as_a_text_is_refused():
    X, truth, y = clouds()
    words = np.where(y >= 0, np.array(["cat", "dog", "owl"])[truth], "-1")
    with pytest.raises(ValueError, match='y holds the text "-1". For classes that are texts'):
        MixMatchClassifier().fit(X, words)


def test_estimators_work_in_pipelines_searches_and_clones():
    X, _, y = clouds()
    pipeline = make_pipeline(StandardScaler(), PropagationClassifier())
    search = GridSearchCV(pipeline, {"propagationclassifier__n_neighbours": [3, 7]}, cv=2)
    search.fit(X[y >= 0], y[y >= 0])
    assert search.best_params_["propagationclassifier__n_neighbours"] in (3, 7)
    model = MixMatchClassifier(gamma=3.0)
    assert clone(model).get_params() == model.get_params()


def test_one_class_is_refused():
    X, _, y = clouds()
    with pytest.raises(ValueError, match="two classes or more; got 1 class"):
        MixMatchClassifier().fit(X, np.where(y == 0, 0, -1))


def test_the_package_offers_them_when_first_used():
    assert mixmood.heads.MixMatchClassifier is MixMatchClassifier
    assert "MixMatchClassifier" in dir(mixmood.heads)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        mixmood.heads.Nothing  # noqa: B018
