"""Search in a collection of texts by their words: `python3 search.py [--documents N]`.

Counts words as coordinates with duplicates, weighs them by their rareness (tf-idf), finds the documents that are nearest to
some of them by a sparse product, and finds topics by singular vectors. NumPy and nnz are enough; with scikit-learn,
`nnz.csr_array(TfidfVectorizer().fit_transform(texts))` takes the place of `weigh`.
"""

import argparse
import time
from typing import Any

import nnz
import numpy as np


#: The words that a topic prefers.
PREFERRED = 200


def count(documents: int, words: int, topics: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """How often each document has each word, and the topic of each document; every topic prefers words of its own."""
    topic = rng.integers(topics, size=documents)
    lengths = rng.integers(20, 200, documents)
    row = np.repeat(np.arange(documents), lengths)
    common = np.minimum(rng.zipf(1.3, len(row)), words) - 1
    own = 100 + topic[row] * PREFERRED + rng.integers(PREFERRED, size=len(row))
    col = np.where(rng.random(len(row)) < 0.3, own, common)
    return nnz.coo_array((np.ones(len(row), np.float32), (row, col)), shape=(documents, words)).tocsr(), topic


def weigh(counts: Any) -> Any:
    """Counts times the rareness of their words, in rows of length 1."""
    documents = counts.shape[0]
    in_documents = np.bincount(counts.indices, minlength=counts.shape[1])
    rareness = np.log((1 + documents) / (1 + in_documents)).astype(np.float32) + 1
    weighed = nnz.csr_array(counts.multiply(rareness))
    return nnz.diags_array(1 / nnz.linalg.norm(weighed, axis=1)).tocsr() @ weighed


def nearest(texts: Any, queries: Any, k: int) -> Any:
    """The numbers of the `k` texts that are nearest to each of some, the nearest first."""
    likeness = (queries @ texts.T).toarray()
    best = np.argpartition(-likeness, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(likeness, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    arguments = parser.parse_args()
    start = time.perf_counter()

    counts, topic = count(arguments.documents, 20_000, 10, np.random.default_rng(0))
    texts = weigh(counts)
    print(f"{time.perf_counter() - start:6.2f} s: {texts.shape[0]} documents, {texts.nnz} weights")

    found = nearest(texts, texts[:100], 5)
    assert (found[:, 0] == np.arange(100)).all(), "each is nearest to itself"
    alike = (topic[found[:, 1:]] == topic[:100, None]).mean()
    print(f"{time.perf_counter() - start:6.2f} s: {alike:.0%} of the nearest have the topic of the document")

    places, strengths, _ = nnz.linalg.svds(texts, 10, v0=np.ones(min(texts.shape), np.float32))
    centers = np.stack([places[topic == each].mean(axis=0) for each in range(10)])
    guessed = np.argmin(((places[:, None] - centers) ** 2).sum(axis=2), axis=1)
    print(f"{time.perf_counter() - start:6.2f} s: topics of {(guessed == topic).mean():.0%} by {len(strengths)} singular vectors")


if __name__ == "__main__":
    main()
