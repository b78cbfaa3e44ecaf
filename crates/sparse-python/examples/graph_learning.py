"""Trains a graph convolutional network or GraphSAGE on a graph with planted classes.

Run it as `python3 graph_learning.py`. The aggregation over neighbours is a product with the adjacency matrix, here by
`nnz.torch.spmm` beside `torch.sparse.mm` and, where it is installed, PyTorch Geometric; everything else is PyTorch's. Sources: Kipf and Welling, Semi-supervised
classification with graph convolutional networks, 2017; Hamilton, Ying and Leskovec, Inductive representation learning on
large graphs, 2017.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import nnz.torch
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn


@dataclass
class Graph:
    """An undirected graph with features and a class for each node."""

    adjacency: sp.csr_array
    features: np.ndarray
    classes: np.ndarray


def planted_partition(nodes: int, classes: int, seed: int = 0, degree: float = 12.0) -> Graph:
    """A graph in which four of five edges are inside a class; features are noise, for nodes of each class about its mean."""
    rng = np.random.default_rng(seed)
    of_node = rng.integers(0, classes, nodes)
    ends = rng.integers(0, nodes, (int(nodes * degree * classes), 2))
    inside = of_node[ends[:, 0]] == of_node[ends[:, 1]]
    # Of the pairs one of `classes` is inside; keep them, and as many others as make a fifth.
    kept = inside | (rng.random(len(ends)) < 0.25 / max(classes - 1, 1))
    rows, cols = ends[kept].T
    ones = np.ones(len(rows), np.float32)
    adjacency = sp.coo_array((ones, (rows, cols)), shape=(nodes, nodes)).tocsr()
    adjacency = (adjacency + adjacency.T).tocsr()
    adjacency.data[:] = 1
    features = rng.standard_normal((nodes, 32)) + rng.standard_normal((classes, 32))[of_node]
    return Graph(adjacency, features.astype(np.float32), of_node)


def normalized(adjacency: sp.csr_array, model: str) -> sp.csr_array:
    """D^-1/2·(A + I)·D^-1/2 for a GCN, D^-1·A, the mean over neighbours, for GraphSAGE."""
    if model == "gcn":
        adjacency = adjacency + sp.eye_array(adjacency.shape[0], dtype=np.float32)
    degrees = np.maximum(adjacency.sum(axis=1), 1)
    if model == "gcn":
        scale = sp.diags_array(1 / np.sqrt(degrees))
        return sp.csr_array(scale @ adjacency @ scale).astype(np.float32)
    return sp.csr_array(sp.diags_array(1 / degrees) @ adjacency).astype(np.float32)


def by_nnz(matrix: sp.csr_array, device: str) -> Callable[[Tensor], Tensor]:
    """The product with a matrix by nnz."""
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    indptr, indices, values = (torch.from_numpy(array).to(device) for array in arrays)
    return lambda x: nnz.torch.spmm(indptr, indices, values, matrix.shape, x)


def by_torch(matrix: sp.csr_array, device: str) -> Callable[[Tensor], Tensor]:
    """The product with a matrix by PyTorch."""
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse", UserWarning)  # It is called a beta.
        tensor = torch.sparse_csr_tensor(*map(torch.from_numpy, arrays), matrix.shape).to(device)
    return lambda x: torch.sparse.mm(tensor, x)


def by_pyg(matrix: sp.csr_array, device: str) -> Callable[[Tensor], Tensor]:
    """The product with a matrix by PyTorch Geometric's messages along edges."""
    from torch_geometric.nn import SimpleConv

    coo = matrix.tocoo()
    edges = torch.from_numpy(np.stack([coo.col, coo.row]).astype(np.int64)).to(device)
    weights = torch.from_numpy(coo.data).to(device)
    convolution = SimpleConv(aggr="sum")
    return lambda x: convolution(x, edges, weights)


AGGREGATIONS = {"nnz": by_nnz, "torch": by_torch, "pyg": by_pyg}


class Gcn(nn.Module):
    """Two layers x ← A·(x·W) + b."""

    def __init__(self, aggregate: Callable[[Tensor], Tensor], widths: tuple[int, int, int]) -> None:
        super().__init__()
        self.aggregate = aggregate
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in zip(widths, widths[1:], strict=False))

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.layers
        return self.aggregate(second(torch.relu(self.aggregate(first(x)))))


class Sage(nn.Module):
    """Two layers x ← x·W + (A·x)·V + b."""

    def __init__(self, aggregate: Callable[[Tensor], Tensor], widths: tuple[int, int, int]) -> None:
        super().__init__()
        self.aggregate = aggregate
        pairs = list(zip(widths, widths[1:], strict=False))
        self.own = nn.ModuleList(nn.Linear(*pair) for pair in pairs)
        self.neighbours = nn.ModuleList(nn.Linear(*pair, bias=False) for pair in pairs)

    def layer(self, k: int, x: Tensor) -> Tensor:
        return self.own[k](x) + self.neighbours[k](self.aggregate(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(1, torch.relu(self.layer(0, x)))


MODELS = {"gcn": Gcn, "sage": Sage}


@dataclass
class Trained:
    """The loss of each epoch, the accuracy on nodes without a label, and the seconds of an epoch."""

    losses: list[float]
    accuracy: float
    seconds: float


def train(graph: Graph, model: str, aggregation: str, device: str, epochs: int = 60) -> Trained:
    """Trains with the classes of a tenth of the nodes."""
    torch.manual_seed(0)
    aggregate = AGGREGATIONS[aggregation](normalized(graph.adjacency, model), device)
    classes = int(graph.classes.max()) + 1
    net = MODELS[model](aggregate, (graph.features.shape[1], 64, classes)).to(device)
    x, y = torch.from_numpy(graph.features).to(device), torch.from_numpy(graph.classes).to(device)
    labelled = torch.arange(len(y), device=device) % 10 == 0
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses, times = [], []
    for _ in range(epochs):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x)[labelled], y[labelled])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # which waits for a GPU
        times.append(time.perf_counter() - start)
    with torch.no_grad():
        right = (net(x).argmax(dim=1) == y)[~labelled]
    return Trained(losses, right.double().mean().item(), float(np.median(times)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    graph = planted_partition(arguments.nodes, classes=5)
    print(f"{arguments.nodes} nodes, {graph.adjacency.nnz} entries, on {arguments.device}")
    for model in MODELS:
        for aggregation in AGGREGATIONS:
            if aggregation == "pyg" and importlib.util.find_spec("torch_geometric") is None:
                continue
            trained = train(graph, model, aggregation, arguments.device)
            print(
                f"{model:>5} by {aggregation:<5}: loss {trained.losses[0]:.3f} to {trained.losses[-1]:.3f}, "
                f"accuracy {trained.accuracy:.3f}, {trained.seconds * 1e3:.2f} ms an epoch"
            )


if __name__ == "__main__":
    main()
