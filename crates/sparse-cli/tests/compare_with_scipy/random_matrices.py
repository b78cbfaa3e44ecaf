"""Random matrices of every type, in files of every kind, in every format."""

import gzip
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg
from command import Command, canonical, check_bound, random_operand, same_arrays

RANDOM_MATRICES = 500
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TYPES = (*INTEGERS, "float32", "float64", "complex64", "complex128")
FORMATS = ("csr", "csc", "coo", "ell", "hyb", "sell")
# The reductions of complex numbers too.
REDUCTIONS = ["sum", "mean", "variance", "norm1", "norm2", "norminf"]


def compare_all(command, folder):
    """The number of random matrices on which the command and SciPy differ."""

    def differs(seed):
        own = folder / f"random{seed}"
        own.mkdir()
        try:
            compare(Command(command, own), seed)
        except AssertionError as error:
            print(f"random matrix {seed}: FAILED: {error}")
            return True
        return False

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = sum(pool.map(differs, range(RANDOM_MATRICES)))
    print(f"random matrices: {RANDOM_MATRICES - failed} of {RANDOM_MATRICES} agree")
    return failed


def compare(nnz, seed):
    rng = np.random.default_rng(seed)
    a = random_matrix(rng, TYPES[seed % len(TYPES)])
    path, a = write_random(rng, a, nnz.folder / "random")
    compare_convert(nnz, path, a, rng)
    compare_products(nnz, path, a, rng)
    compare_spgemm(nnz, path, a)
    compare_elementwise(nnz, path, a, rng)
    compare_rows(nnz, path, a, rng)
    compare_compress(nnz, a, rng)


def random_matrix(rng, dtype):
    """A COO matrix with an empty row here and there, stored zeros and duplicates, in no order."""
    rows, cols = rng.integers(1, 40, 2)
    shape = (rows, rows) if rng.random() < 0.3 else (rows, cols)
    nnz = int(rng.integers(0, max(2, shape[0] * shape[1] // 4)))
    row, col = rng.integers(0, shape[0], nnz), rng.integers(0, shape[1], nnz)
    # Sums of small integers are exact in every type, whatever the order.
    values = rng.integers(0 if np.dtype(dtype).kind in "bu" else -9, 2 if dtype == "bool" else 10, nnz)
    values = values.astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + np.array(1j, dtype) * rng.integers(-9, 10, nnz).astype(dtype)
    return sp.coo_array((values.astype(dtype), (row, col)), shape=shape)


def value_type(dtype):
    """The type that the command computes in: integers become f64."""
    dtype = np.dtype(dtype)
    return dtype.newbyteorder("=") if dtype.kind in "fc" else np.dtype("float64")


def write_random(rng, a, path):
    """Writes the matrix to a file of SciPy or NumPy; gives what the command must read."""
    typed = sp.coo_array(a, dtype=value_type(a.dtype))
    kind = rng.choice(["csr", "csc", "coo", "mtx", "mtx.gz", "npy"])
    if kind.startswith("mtx"):
        path = path.with_suffix(".mtx")
        typed = sp.coo_array(typed, dtype=np.result_type(typed.dtype, np.float64))
        symmetric = a.shape[0] == a.shape[1]
        if symmetric:
            typed = sp.coo_array(canonical(typed + typed.T))
        integer = a.dtype.kind in "biu"
        written = typed.astype(np.int64) if integer else typed
        field, symmetry = "integer" if integer else None, "symmetric" if symmetric else "general"
        scipy.io.mmwrite(path, written, field=field, symmetry=symmetry, precision=17)
        if kind == "mtx.gz":
            packed = path.with_suffix(".mtx.gz")
            packed.write_bytes(gzip.compress(path.read_bytes()))
            path = packed
        return path, canonical(typed)
    if kind == "npy":
        path = path.with_suffix(".npy")
        dense = canonical(typed).toarray().astype(a.dtype)
        written = dense.astype(a.dtype.newbyteorder(rng.choice(["<", ">"])))
        np.save(path, np.asfortranarray(written) if rng.random() < 0.5 else written)
        return path, canonical(sp.csr_array(dense.astype(typed.dtype)))
    path = path.with_suffix(".npz")
    # SciPy itself adds duplicates on the way to CSR and CSC, in the type of the values.
    stored = a if kind == "coo" else getattr(canonical(typed), "to" + kind)().astype(a.dtype)
    sp.save_npz(path, stored, compressed=bool(rng.random() < 0.5))
    return path, canonical(sp.coo_array(stored, dtype=typed.dtype))


def compare_convert(nnz, path, a, rng):
    out = nnz.folder / ("out" + rng.choice([".npz", ".mtx", ".mtx.gz", ".npy"]))
    nnz("convert", path, out)
    if out.suffix == ".npz":
        found = sp.load_npz(out)
        assert found.dtype == a.dtype, f"{found.dtype}, not {a.dtype}"
        same_arrays(found, a)
    elif out.suffix == ".npy":
        assert np.array_equal(np.load(out), a.toarray()), "the dense arrays differ"
    else:
        same_arrays(canonical(scipy.io.mmread(out)), a)
    found = nnz.folder / "coo.npz"
    nnz("convert", path, found, "--format", "coo")
    same_arrays(canonical(sp.load_npz(found)), a)


def compare_products(nnz, path, a, rng):
    op, layout = rng.choice(["n", "t", "C"]), rng.choice(FORMATS)
    options = ("--op", op, "--as", layout, "--backend", "cpu")
    applied = {"n": a, "t": a.T, "C": a.conj().T}[str(op)]
    applied = canonical(applied)
    x = random_operand(rng, a, a.shape[1] if op == "n" else a.shape[0]).astype(a.dtype)
    check_bound(applied, x, nnz.product("spmv", path, x, *options))
    b = random_operand(rng, a, (len(x), int(rng.integers(1, 6)))).astype(a.dtype)
    b = np.asfortranarray(b) if rng.random() < 0.5 else b
    y0 = random_operand(rng, a, (applied.shape[0], b.shape[1])).astype(a.dtype)
    np.save(nnz.folder / "y0.npy", np.asfortranarray(y0) if rng.random() < 0.5 else y0)
    added = ("--alpha", "2", "--beta", "-0.5", "--y", nnz.folder / "y0.npy")
    c = nnz.product("spmm", path, b, *options, *added)
    check_bound(applied, b, c, 2.0, -0.5, y0)
    if b.flags.c_contiguous != b.flags.f_contiguous and c.shape[0] > 1:
        assert c.flags.c_contiguous == b.flags.c_contiguous, "C has not the order of B"


def compare_spgemm(nnz, path, a):
    b = canonical(a.T)
    sp.save_npz(nnz.folder / "b.npz", b)
    out = nnz.folder / "product.npz"
    nnz("spgemm", path, nnz.folder / "b.npz", "-o", out, "--backend", "cpu")
    found = sp.load_npz(out)
    # SciPy leaves out sums of zero, which are entries here.
    found.eliminate_zeros()
    same_arrays(found, canonical(a @ b))


def compare_elementwise(nnz, path, a, rng):
    """A sum or a product with a matrix of other rows; SciPy leaves out zeros, the command stores them."""
    b = a[rng.permutation(a.shape[0])]
    operand, out = nnz.folder / "b.npz", nnz.folder / "c.npz"
    sp.save_npz(operand, b)
    stored = [sp.csr_array((np.ones(m.nnz), m.indices, m.indptr), m.shape) for m in (a, b)]
    if rng.random() < 0.5:
        verb = ("add", path, operand, "--alpha", "2", "--beta", "-1")
        expected, pattern = 2 * a - b, stored[0] + stored[1]
    else:
        verb, expected, pattern = ("multiply", path, operand), a.multiply(b), stored[0].multiply(stored[1])
    nnz(*verb, "-o", out, "--backend", "cpu")
    found, expected = sp.load_npz(out), canonical(expected)
    assert found.nnz == pattern.nnz, f"{verb[0]}: {found.nnz} entries, not {pattern.nnz}"
    for matrix in (found, expected):
        matrix.eliminate_zeros()
    same_arrays(found, expected)


def compare_rows(nnz, path, a, rng):
    """A reduction, a norm, a slice, or the transpose."""
    comparisons = [compare_reduce, compare_norm, compare_slice, compare_transpose]
    comparisons[rng.integers(len(comparisons))](nnz, path, a, rng)


def compare_reduce(nnz, path, a, rng):
    out = nnz.folder / "reduced.npy"
    is_complex = a.dtype.kind == "c"
    axis, by = int(rng.integers(2)), str(rng.choice(REDUCTIONS if is_complex else [*REDUCTIONS, "min", "max"]))
    nnz("reduce", path, "--axis", axis, "--by", by, "-o", out, "--backend", "cpu")
    found, expected = np.load(out), reduced_by_scipy(a, axis, by)
    assert np.allclose(found, expected, rtol=1e-6), f"{by} along {axis}: {found}, not {expected}"


def reduced_by_scipy(a, axis, by):
    """The rows or columns of `a`, each as one number."""
    norms = {"norm1": 1, "norm2": 2, "norminf": np.inf}
    if by == "variance":
        return a.toarray().var(axis=axis)
    if by in norms:
        return sp.linalg.norm(a, norms[by], axis=axis)
    expected = getattr(a, by)(axis=axis)
    return np.asarray(expected.toarray() if sp.issparse(expected) else expected).ravel()


def compare_norm(nnz, path, a, rng):
    order = str(rng.choice(["fro", "1", "inf"]))
    found = float(nnz("norm", path, "--ord", order, "--backend", "cpu"))
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    expected = sp.linalg.norm(wide, {"fro": "fro", "1": 1, "inf": np.inf}[order])
    assert np.isclose(found, expected, rtol=1e-12), f"norm {order}: {found}, not {expected}"


def compare_slice(nnz, path, a, rng):
    out = nnz.folder / "slice.npz"
    start, stop, step = (int(n) for n in rng.integers(0, 20, 3) + (0, 0, 1))
    columns = rng.integers(0, a.shape[1], int(rng.integers(0, 50)))
    np.save(nnz.folder / "columns.npy", columns)
    chosen = ("--rows", f"{start}:{stop}:{step}", "--cols", nnz.folder / "columns.npy")
    nnz("slice", path, *chosen, "-o", out, "--backend", "cpu")
    same_arrays(sp.load_npz(out), canonical(a[start:stop:step][:, columns]))


def compare_transpose(nnz, path, a, _):
    out = nnz.folder / "transpose.npz"
    nnz("transpose", path, "-o", out, "--backend", "cpu")
    same_arrays(sp.load_npz(out), canonical(a.T))


def compare_compress(nnz, a, rng):
    dense = a.toarray()
    np.save(nnz.folder / "dense.npy", np.asfortranarray(dense) if rng.random() < 0.5 else dense)
    layout, kind = [("csr", sp.csr_array), ("csc", sp.csc_array)][rng.integers(2)]
    out = nnz.folder / "compressed.npz"
    nnz("compress", nnz.folder / "dense.npy", out, "--to", layout, "--backend", "cpu")
    same_arrays(sp.load_npz(out), kind(dense))
