"""Dense matrices of any shapes through the engine, and its progress."""

import sys
import types

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, dense

SHAPES = [(4, 6), (1, 3), (5, 5), (0, 2)]


def sparse_stack(shape, char, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.4, dense(shape, char, seed), 0)


@pytest.mark.parametrize("char", TYPES)
def test_matrices_of_unequal_shapes(ours, char):
    matrices = [sparse_stack(shape, char, k) for k, shape in enumerate(SHAPES)]
    with ours():
        found = nnz.compress(matrices)
    assert type(found) is nnz.MatrixSet
    assert (len(found), found.shapes, found.dtype) == (4, SHAPES, np.dtype(char))
    assert found.nnz == sum(np.count_nonzero(matrix) for matrix in matrices)
    assert found.devices == ["cpu"] * 4
    for each, matrix in zip(found, matrices, strict=True):
        assert type(each) is nnz.csr_array
        np.testing.assert_array_equal(each.toarray(), matrix)
    np.testing.assert_array_equal(found[-2].toarray(), matrices[2])
    with pytest.raises(IndexError):
        found[4]


CHOICES = {
    "slice": np.s_[1:3],
    "backwards": np.s_[::-2],
    "all": np.s_[:],
    "none": np.s_[5:],
    "list": [2, 0, -1, 2],
    "mask": np.array([True, False, False, True]),
    "no numbers": [],
}


@pytest.mark.parametrize("name", CHOICES)
def test_chosen_members(ours, name):
    stack, key = sparse_stack((4, 3, 5), "f"), CHOICES[name]
    batch, whole = nnz.compress(stack), nnz.compress([*stack, np.eye(2, dtype="f")])
    with ours():
        found = batch[key]
    expected = stack[key] if len(np.shape(key)) == 0 or len(key) else stack[:0]
    assert (type(found), found.shape, found.dtype) == (nnz.BatchCsr, expected.shape, np.dtype("f"))
    for member, matrix in zip(found, expected, strict=True):
        np.testing.assert_array_equal(member.toarray(), matrix)
    np.testing.assert_allclose(found @ np.ones(5, "f"), expected.sum(axis=2), rtol=1e-5)
    if name != "mask":
        assert [type(each) for each in whole[key]] == [nnz.csr_array] * len(whole[key])


def test_members_that_cannot_be_chosen():
    batch = nnz.compress(np.ones((4, 3, 5)))
    assert batch[np.int64(-1)].shape == (3, 5)
    for key, reason in {4: "4 is out of range for 4", "a": "where integers, a mask or a slice", 1.0: "float64 where integers"}.items():
        with pytest.raises(IndexError, match=reason):
            batch[key]
    with pytest.raises(IndexError, match=r"2 indices where one chooses matrices: M\[k\]\[i, j\]"):
        batch[0, 1]
    with pytest.raises(IndexError, match="mask has 2 elements where 4"):
        batch[[True, False]]


def test_matrices_of_unequal_types_have_their_common_one():
    found = nnz.compress([np.eye(2, dtype="f"), np.ones((1, 3))])
    assert found.dtype == np.float64
    assert nnz.compress([np.eye(2, dtype=int), np.ones((1, 3), "f")]).dtype == np.float64
    assert nnz.compress([np.array([[1.0, 1e-9]]), np.eye(2)], tolerance=1e-6).nnz == 3


def test_files(ours, tmp_path):
    stacks = [sparse_stack((3, 4, 5), "f"), sparse_stack((2, 7), "f", 1)]
    paths = [tmp_path / f"{k}.npy" for k in range(2)]
    for path, stack in zip(paths, stacks, strict=True):
        np.save(path, stack)
    with ours():
        found = nnz.compress(paths)
    assert found.shapes == [(4, 5)] * 3 + [(2, 7)]
    for each, matrix in zip(found, [*stacks[0], stacks[1]], strict=True):
        np.testing.assert_array_equal(each.toarray(), matrix)
    assert len(nnz.compress(str(paths[0]))) == 3
    found.save(tmp_path / "set")
    assert (tmp_path / "set" / "manifest.json").exists()
    with pytest.raises(OSError, match="missing"):
        nnz.compress(tmp_path / "missing.npy")


def test_sparse_matrices_are_not_compressed():
    a = sp.eye_array(2, format="csr")
    with pytest.raises(TypeError, match="csr_array, which is sparse already"):
        nnz.compress(a)
    with pytest.raises(TypeError, match="from_block_diagonal"):
        nnz.compress([a, a])
    with pytest.raises(TypeError, match=r"nnz\.compress .* not of list"):
        nnz.BatchCsr([a, a])


def test_progress_is_told_and_can_end_the_call():
    stack = sparse_stack((64, 8, 8), "d")
    seen = []
    batch = nnz.compress(stack, progress=lambda done, total: seen.append((done, total)))
    assert type(batch) is nnz.BatchCsr
    assert nnz.compress(np.ones((0, 2, 3)), devices=["cpu"]).shape == (0, 2, 3)
    assert seen[-1] == (64, 64)
    assert seen == sorted(seen)
    np.testing.assert_array_equal([member.toarray() for member in batch], stack)

    def refuse(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        nnz.compress(list(stack) + [np.ones((2, 2))], progress=refuse)


class Bar:
    """What is used of tqdm."""

    made: list = []

    def __init__(self, desc, unit, unit_scale):
        self.desc, self.total, self.n = desc, None, 0
        Bar.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def reset(self, total):
        self.total = total

    def update(self, more):
        self.n += more


def test_a_bar_of_tqdm_is_shown(monkeypatch):
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    package = types.ModuleType("tqdm")
    package.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "tqdm", package)
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    nnz.compress(np.ones((9, 2, 2)), progress=True)
    (bar,) = Bar.made
    assert (bar.desc, bar.total, bar.n, bar.closed) == ("compress", 9, 9, True)


def test_devices_are_named(tmp_path):
    batch = nnz.compress(np.ones((3, 2, 2)), devices=["cpu"])
    assert batch.device == nnz.compress(np.ones((3, 2, 2))).device
    with pytest.raises((ValueError, NotImplementedError)):
        nnz.compress(np.ones((3, 2, 2)), devices=["nonsense"])
    with pytest.raises(ValueError, match="twice"):
        nnz.compress(np.ones((3, 2, 2)), devices=["cpu", "cpu"])
    whole = sp.block_diag([sp.coo_array(np.ones((2, 2)))] * 3)
    np.testing.assert_array_equal(batch.to_block_diagonal().toarray(), whole.toarray())
