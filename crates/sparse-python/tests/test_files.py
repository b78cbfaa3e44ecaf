"""Files: Matrix Market, and SciPy's archives."""

import io
import pickle
import zipfile

import nnz
import nnz.io
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import TYPES, laplace, random


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_files_of_all_formats_are_read_as_classes_of_nnz(tmp_path, format, kind):
    path = tmp_path / "a.npz"
    theirs = getattr(sp, f"{format}_{kind}")(laplace(3))
    sp.save_npz(path, theirs)
    read = nnz.load_npz(path)
    assert type(read) is getattr(nnz, f"{format}_{kind}")
    np.testing.assert_array_equal(read.toarray(), theirs.toarray())


@pytest.mark.parametrize("char", TYPES)
def test_files(ours, tmp_path, char):
    theirs = random((100, 20), 0.1, char)
    for suffix in ("mtx", "mtx.gz"):
        path = tmp_path / f"a.{suffix}"
        with ours():
            nnz.io.mmwrite(path, nnz.csr_array(theirs))
        for read in (nnz.io.mmread(path), scipy.io.mmread(path, spmatrix=False)):
            np.testing.assert_array_equal(read.toarray().astype(char), theirs.toarray())
        with ours():
            assert type(nnz.io.mmread(path, format="csr")) is nnz.csr_array
    for format in ("csr", "csc", "coo"):
        path = tmp_path / f"{format}.npz"
        nnz.io.save_npz(path, theirs.asformat(format))
        for read in (nnz.io.load_npz(path), sp.load_npz(path)):
            assert read.format == format
            assert read.dtype == np.dtype(char)
            np.testing.assert_array_equal(read.toarray(), theirs.toarray())


def test_faults_of_files_are_named(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(ValueError, match=r"a\.mtx: line 3: row 3"):
        nnz.io.mmread(path)
    with pytest.raises(OSError, match=r"missing\.mtx"):
        nnz.io.mmread(tmp_path / "missing.mtx")
    text = tmp_path / "text.mtx.gz"
    text.write_bytes(path.read_bytes())
    with pytest.raises(ValueError, match=r"text\.mtx\.gz: "):
        nnz.io.mmread(text)


BANNER = "%%MatrixMarket matrix"


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_integers_of_files_stay_integers(tmp_path, format):
    file = tmp_path / "a.mtx"
    for values in ([3, -4], [2**53 + 1, -1], [2**53, -(2**53)]):
        file.write_text(f"{BANNER} coordinate integer general\n2 1 2\n1 1 {values[0]}\n1 1 {values[1]}\n")
        a = nnz.io.mmread(file, format=format)
        assert (a.dtype, a.format) == (np.int64, format)
        assert a.toarray().tolist() == [[sum(values)], [0]]


def test_a_file_may_end_with_a_space(tmp_path):
    path = tmp_path / "a.mtx"
    for field, value in [("integer", 2**53 + 1), ("unsigned-integer", 7)]:
        path.write_text(f"%%MatrixMarket matrix coordinate {field} general\n1 1 1\n1 1 {value} ")
        assert nnz.io.mmread(path).data.tolist() == [value]


@pytest.mark.parametrize("field", ["real", "complex", "integer", "unsigned-integer"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_arrays_without_elements_are_read(tmp_path, field, shape):
    text = f"{BANNER} array {field} general\n{shape[0]} {shape[1]}\n".encode()
    dtype = {"real": "d", "complex": "D", "integer": "l", "unsigned-integer": "L"}[field]
    paths = [tmp_path / "a.mtx", tmp_path / "a.txt"]
    for path in paths:
        path.write_bytes(text)
    for source in [*paths, io.BytesIO(text)]:
        found = nnz.io.mmread(source)  # SciPy's reader divides by zero
        assert (found.shape, found.dtype) == (shape, np.dtype(dtype))


def test_open_files_are_read_from_where_they_are(tmp_path):
    # SciPy's `mminfo` ends the process where it goes back in the first.
    long, path = f"{BANNER} coordinate real general\n1 1 1\n1 1 3.{400 * '1'}\n", tmp_path / "a.mtx"
    for text in (long, f"{BANNER} coordinate real general\n% of\n\n  % two\n2 1 1\n2 1 -4\n"):
        for before in ("", "a line before\n"):
            path.write_text(before + text)
            for mode in ("rb", "r"):
                with path.open(mode) as file:
                    file.read(len(before))
                    found = nnz.io.mmread(file)
                expected = scipy.io.mmread(io.StringIO(text), spmatrix=False)
                np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_integers_of_one_place_stay_apart(tmp_path):
    file = tmp_path / "a.mtx"
    file.write_text(f"{BANNER} coordinate integer general\n2 1 3\n2 1 5\n1 1 3\n1 1 4\n")
    a = nnz.io.mmread(file)
    assert (a.dtype, a.data.tolist(), a.coords[0].tolist()) == (np.int64, [5, 3, 4], [1, 0, 0])


def test_files_in_no_folder_are_not_found(tmp_path):
    a = nnz.csr_array(np.eye(2))
    for write, name in [(nnz.io.mmwrite, "a.mtx"), (nnz.io.save_npz, "a.npz")]:
        with pytest.raises(FileNotFoundError, match=name):
            write(tmp_path / "nowhere" / name, a)


@pytest.mark.parametrize("elements", [[[1, 2], [2, 3]], [[0, 2], [-2, 0]], [[1, 2j], [-2j, 3]], [[1, 2], [3, 4]]])
@pytest.mark.parametrize("blocks", [1, 50])
def test_symmetries_are_written_where_scipy_writes_them(tmp_path, elements, blocks):
    theirs = sp.csr_array(sp.block_diag([np.array(elements, "D" if np.iscomplexobj(elements) else "d")] * blocks))
    scipy.io.mmwrite(tmp_path / "theirs.mtx", theirs)
    for container in (nnz.csr_array, nnz.csc_array):
        nnz.io.mmwrite(tmp_path / "ours.mtx", container(theirs))
        assert scipy.io.mminfo(tmp_path / "ours.mtx") == scipy.io.mminfo(tmp_path / "theirs.mtx")
        assert (nnz.io.mmread(tmp_path / "ours.mtx") != theirs).nnz == 0


@pytest.mark.parametrize("comment", ["", "a comment"])
def test_what_cannot_be_written_is_an_error(tmp_path, comment):
    for a in (laplace(10), laplace(10).astype(int), np.ones((2, 2))):
        with pytest.raises(OSError):
            nnz.io.mmwrite(tmp_path / "no folder" / "a.mtx", a, comment)


def test_unsigned_integers_are_read_as_they_are_written(tmp_path):
    a = sp.csr_array(np.array([[2**64 - 1, 0], [0, 1]], np.uint64))
    nnz.io.mmwrite(tmp_path / "a.mtx", a)
    found = nnz.io.mmread(tmp_path / "a.mtx")
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found.toarray(), a.toarray())


def test_a_comment_is_written_by_scipy(tmp_path):
    nnz.io.mmwrite(tmp_path / "a.mtx", nnz.csr_array(np.eye(2)), "of two rows")
    assert "of two rows" in (tmp_path / "a.mtx").read_text()


@pytest.mark.parametrize("container", [nnz.csr_array, nnz.csc_array])
def test_a_matrix_that_a_program_has_broken_is_not_written(tmp_path, container):
    a = container(np.eye(3))
    for position, offset in [(3, 2**31 - 1), (1, -1), (1, 7)]:
        broken = a.copy()
        broken.indptr[position] = offset
        with pytest.raises(ValueError, match="offset|pointer|indptr"):
            nnz.io.mmwrite(tmp_path / "a.mtx", broken)
    assert not (tmp_path / "a.mtx").exists()


def test_dense_files_are_read_with_the_same_rules(tmp_path):
    file = tmp_path / "a.mtx"
    file.write_text(f"{BANNER} array real general\n2 2\n1.5D+03\n0\n-1\n+2\n")
    assert nnz.io.mmread(file).tolist() == [[1500, -1], [0, 2]]
    file.write_text(f"{BANNER} array integer symmetric\n2 2\n1\n2\n3\n")
    a = nnz.io.mmread(file)
    assert (a.dtype, a.tolist()) == (np.int64, [[1, 2], [2, 3]])
    for size, values in [("2 3", "1\n2\n3"), ("1 1", "0x10"), ("1 1", "1,5")]:
        file.write_text(f"{BANNER} array real symmetric\n{size}\n{values}\n")
        with pytest.raises(ValueError, match=r"a\.mtx: line"):
            nnz.io.mmread(file)


@pytest.mark.parametrize("start", ["\ufeff", " "])
def test_what_stands_before_a_banner_is_skipped(tmp_path, start):
    file = tmp_path / "a.mtx"
    file.write_text(f"{start}{BANNER.lower()} coordinate real general\n+1 +1 +1\n1 1 5\n", encoding="utf-8")
    assert nnz.io.mmread(file).toarray().tolist() == [[5]]


def test_arrays_of_any_layout_are_written(tmp_path):
    strided = nnz.csr_array(np.array([[1 + 1j, 0], [0, 2]])).real
    mixed = nnz.csr_array(np.array([[1.0, 0], [0, 2]]))
    mixed.indptr = mixed.indptr.astype(np.int64)
    nnz.io.mmwrite(tmp_path / "a.mtx", strided)
    assert nnz.io.mmread(tmp_path / "a.mtx").toarray().tolist() == [[1, 0], [0, 2]]
    for a in (strided, mixed):
        nnz.io.save_npz(tmp_path / "a.npz", a)
        copies = [
            nnz.io.load_npz(tmp_path / "a.npz"),
            nnz.DeviceCsr.from_scipy(a).get(),
            nnz.BatchCsr.from_block_diagonal(a, 1)[0],
        ]
        assert all(copy.toarray().tolist() == [[1, 0], [0, 2]] for copy in copies)
        assert nnz.plan_spmv(a).run(np.ones(2)).tolist() == [1, 2]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_indices_of_npz_files_keep_their_type(ours, tmp_path, format, index):
    theirs = random((40, 30), 0.2, "d", index)
    file, kept = tmp_path / "a.npz", theirs.asformat(format)
    sp.save_npz(file, kept)
    if format == "csc":
        found = nnz.io.load_npz(file)
    else:
        with ours():
            found = nnz.io.load_npz(file)
    for name in ("row", "col") if format == "coo" else ("indptr", "indices"):
        assert getattr(found, name).dtype == getattr(sp.load_npz(file), name).dtype == index
        np.testing.assert_array_equal(getattr(found, name), getattr(kept, name))


def test_mmread_takes_scipys_arguments(tmp_path):
    file = tmp_path / "a.mtx"
    nnz.io.mmwrite(file, nnz.csr_array(np.eye(2)))
    for spmatrix in (False, True):
        found, expected = nnz.io.mmread(file, spmatrix=spmatrix), scipy.io.mmread(file, spmatrix=spmatrix)
        assert type(found).__name__ == type(expected).__name__
        np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert type(nnz.io.mmread(file, spmatrix=True, format="csr")) is nnz.csr_matrix
    nnz.io.mmwrite(file, np.ones((2, 2)))
    assert type(nnz.io.mmread(file, spmatrix=True)) is np.ndarray


def test_npz_files_are_scipys(tmp_path):
    file = tmp_path / "a.npz"
    nnz.io.save_npz(file, nnz.csr_array(np.array([1.0, 0, 2])))
    assert nnz.io.load_npz(file).toarray().tolist() == [1, 0, 2]
    twice = sp.csr_array((np.arange(3.0), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    nnz.io.save_npz(file, twice)
    assert nnz.io.load_npz(file).nnz == 3
    arrays = {"data": np.ones(3), "indices": np.array([0, 9, 1], "i"), "indptr": np.array([0, 1, 3], "i")}
    for format in (b"csr", b"csc"):
        np.savez(file, format=format, shape=np.array([2, 2]), **arrays)
        with pytest.raises(ValueError, match="2"):
            nnz.io.load_npz(file)


@pytest.mark.parametrize("old, new", [(b"<U3", b"<Z3"), (b"'shape': (), ", b"'shape': (0,),"), (b"<U3", b"|O1")])
def test_odd_headers_are_read_as_by_numpy(tmp_path, old, new):
    file = tmp_path / "odd.npz"
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in {"format": np.array("csr"), "shape": np.array([1, 1]), "data": np.ones(1)}.items():
            member = io.BytesIO()
            np.save(member, array)
            archive.writestr(f"{name}.npy", member.getvalue().replace(old, new) if name == "format" else member.getvalue())
    with pytest.raises(ValueError):
        nnz.io.load_npz(file)


def test_what_is_no_matrix_is_named(tmp_path):
    for text in (b"", b"PK", b"hello"):
        (tmp_path / "text.npz").write_bytes(text)
        with pytest.raises(ValueError, match=r"text\.npz is no archive of arrays"):
            nnz.io.load_npz(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match=r"other\.npz has no array `format`"):
        nnz.io.load_npz(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        nnz.io.load_npz(tmp_path / "missing.npz")
    with pytest.raises(TypeError, match=r"a DeviceCsr is not pickled: get\(\)"):
        pickle.dumps(nnz.DeviceCsr.from_scipy(nnz.csr_array(np.eye(2)), "cpu"))


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_large_matrices_are_saved_here(ours, tmp_path, format, char):
    theirs = random((90, 70), 0.5, char).asformat(format)
    with ours():
        nnz.save_npz(tmp_path / "a.npz", nnz.csr_array(theirs).asformat(format))
    read = sp.load_npz(tmp_path / "a.npz")
    assert (type(read), read.dtype, read.indices.dtype) == (type(theirs), theirs.dtype, theirs.indices.dtype)
    np.testing.assert_array_equal(read.toarray(), theirs.toarray())


def test_npz_files_keep_their_kind_of_matrix(tmp_path):
    for format in ("csr", "csc"):
        for kind in ("array", "matrix"):
            container = getattr(sp, f"{format}_{kind}")
            nnz.io.save_npz(tmp_path / "a.npz", container(np.eye(2)))
            assert type(sp.load_npz(tmp_path / "a.npz")) is container


@pytest.mark.parametrize("version", [1, 2])
def test_headers_of_other_writers_are_read(ours, tmp_path, version):
    a = nnz.csr_array(random((4, 3), 0.5, "d"))
    format, shape = np.array("csr"), np.array(a.shape)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name, array in {"format": format, "shape": shape, "data": a.data, "indices": a.indices, "indptr": a.indptr}.items():
            header = f"{{'shape': {array.shape}, 'fortran_order': False, 'descr': {array.dtype.str!r}}}\n".encode()
            length = len(header).to_bytes(2 * version, "little")
            archive.writestr(f"{name}.npy", b"\x93NUMPY" + bytes([version, 0]) + length + header + array.tobytes())
    with ours():
        found = nnz.load_npz(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.toarray(), a.toarray())


def test_npz_files_of_other_programs(tmp_path):
    eye = sp.csr_array(np.eye(2))
    arrays = {"data": eye.data, "indices": eye.indices, "indptr": eye.indptr, "shape": (2, 2)}
    np.savez(tmp_path / "a.npz", format="csr", **arrays)
    (tmp_path / "a.other").write_bytes((tmp_path / "a.npz").read_bytes())
    np.savez(tmp_path / "padded.npz", format=np.array("csr", "S10"), **arrays)
    np.savez(tmp_path / "wide.npz", format=np.array("csr", "U10"), **arrays)
    np.savez(tmp_path / "small.npz", format="csr", **(arrays | {"shape": np.array((2, 2), np.uint8)}))
    for name in ("a.npz", "a.other", "padded.npz", "wide.npz", "small.npz"):
        assert nnz.io.load_npz(tmp_path / name).toarray().tolist() == [[1, 0], [0, 1]]
