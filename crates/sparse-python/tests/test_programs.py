"""Programs of other libraries that take SciPy's arrays, with nnz's. Each library is skipped where it is not installed."""

import importlib
import runpy
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random


def blobs() -> tuple[sp.csr_array, np.ndarray]:
    """Two classes of sparse rows."""
    matrix = random((120, 40), 0.2, "d", seed=3)
    classes = np.arange(120) % 2
    first = sp.csr_array(np.outer(2.0 * classes, np.arange(40) == 0))
    return (matrix + first).tocsr(), classes


def estimator(path: str, **options):
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**options)


PROGRAMS = {
    "ridge": lambda a, y: estimator("linear_model.Ridge", alpha=0.5, solver="sparse_cg", tol=1e-10).fit(a, y).coef_,
    "svd": lambda a, y: estimator("decomposition.TruncatedSVD", n_components=4, random_state=0).fit(a).singular_values_,
    "logistic": lambda a, y: estimator("linear_model.LogisticRegression", tol=1e-8).fit(a, y).coef_,
    "k_means": lambda a, y: np.sort(estimator("cluster.KMeans", n_clusters=2, n_init=1, random_state=0).fit(a).cluster_centers_, axis=0),
    "neighbors": lambda a, y: estimator("neighbors.NearestNeighbors", n_neighbors=3).fit(a).kneighbors(a, return_distance=False),
    "tfidf": lambda a, y: estimator("feature_extraction.text.TfidfTransformer", sublinear_tf=True).fit_transform(exp(a)).toarray(),
    "bayes": lambda a, y: estimator("naive_bayes.MultinomialNB").fit(exp(a), y).predict_log_proba(exp(a)),
    "chi2": lambda a, y: estimator("feature_selection.SelectKBest", k=5).fit(exp(a), y).transform(a).toarray(),
    "scaler": lambda a, y: estimator("preprocessing.StandardScaler", with_mean=False).fit_transform(a).toarray(),
    "normalizer": lambda a, y: estimator("preprocessing.Normalizer", norm="l1").fit_transform(a.tocsc()).toarray(),
    "gradients": lambda a, y: estimator("linear_model.SGDClassifier", random_state=0).fit(a, y).coef_,
    "vectors": lambda a, y: estimator("svm.SVC").fit(a, y).decision_function(a),
    "labels": lambda a, y: estimator("semi_supervised.LabelSpreading", kernel="knn").fit(a, np.where(np.arange(120) % 3, y, -1)).label_distributions_,
    "densities": lambda a, y: estimator("cluster.DBSCAN", eps=0.9, metric="precomputed").fit(estimator("neighbors.NearestNeighbors").fit(a).kneighbors_graph(mode="distance")).labels_,
    "projection": lambda a, y: estimator("random_projection.SparseRandomProjection", n_components=4, random_state=0).fit_transform(a).toarray(),
    "columns": lambda a, y: estimator("compose.ColumnTransformer", transformers=[("scaled", estimator("preprocessing.MaxAbsScaler"), np.arange(40) % 2 == 0)], sparse_threshold=1).fit_transform(a).toarray(),
    "forest": lambda a, y: estimator("ensemble.RandomForestClassifier", n_estimators=3, random_state=0).fit(a, y).decision_path(a)[0].toarray(),
}
#: Those that multiply, convert or add; the others have compiled code of their own.
OURS = {"ridge", "svd", "logistic", "neighbors", "normalizer"}


def exp(matrix):
    """The elements' exponentials, at the entries."""
    positive = matrix.copy()
    positive.data = np.exp(positive.data)
    return positive


@pytest.mark.parametrize("name", PROGRAMS)
def test_scikit_learn(name, ours):
    pytest.importorskip("sklearn")
    theirs, classes = blobs()
    expected = PROGRAMS[name](theirs, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with ours() if name in OURS else nullcontext():
            found = PROGRAMS[name](nnz.csr_array(theirs), classes)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_networkx():
    networkx = pytest.importorskip("networkx")
    theirs = abs(random((30, 30), 0.2, "d"))
    graphs = [networkx.from_scipy_sparse_array(kind(theirs + theirs.T)) for kind in (sp.csr_array, nnz.csr_array)]
    found, expected = (networkx.pagerank(graph) for graph in graphs)
    assert found == expected


def test_anndata(ours):
    anndata = pytest.importorskip("anndata")
    theirs = abs(random((60, 20), 0.3, "f"))
    cells = anndata.AnnData(nnz.csr_array(theirs))
    assert type(cells.X) is nnz.csr_array
    chosen = cells[10:50, [3, 5, 7]].copy()
    assert type(chosen.X) is nnz.csr_array
    np.testing.assert_array_equal(chosen.X.toarray(), theirs[10:50][:, [3, 5, 7]].toarray())
    assert type(cells.T.X) is nnz.csc_array
    with ours():
        totals = cells.X.sum(axis=1)
    np.testing.assert_allclose(totals, theirs.sum(axis=1), rtol=1e-5)


WRITING = """
import {first}, {second}, nnz
import scipy.sparse as sp
for kind in ("array", "matrix"):
    for format in ("csr", "csc"):
        container = getattr(nnz, f"{{format}}_{{kind}}")
        cells = anndata.AnnData(container(sp.eye_array(3, 2, dtype="f")), layers={{"counts": container((3, 2), dtype="f")}})
        cells.write_h5ad("a.h5ad")
        read = anndata.read_h5ad("a.h5ad")
        assert read.X.format == format
        assert (read.X != cells.X).nnz == 0
        assert read.layers["counts"].nnz == 0
"""


ASKING = "nnz, importlib.util; importlib.util.find_spec('anndata'); import nnz"


@pytest.mark.parametrize("first, second", [("anndata", "nnz"), ("nnz", "anndata"), (ASKING, "anndata")])
def test_anndata_writes(tmp_path, first, second):
    pytest.importorskip("anndata")
    program = WRITING.format(first=first, second=second)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


@pytest.mark.parametrize("program, size", [("finite_elements", "--points=40"), ("search", "--documents=500")])
def test_examples(program, size, ours, monkeypatch):
    monkeypatch.setattr(sys, "argv", [program, size])
    with ours():
        runpy.run_path(str(Path(__file__).parents[1] / "examples" / f"{program}.py"), run_name="__main__")
