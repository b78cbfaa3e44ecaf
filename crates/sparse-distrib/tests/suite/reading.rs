//! Rows that each rank reads from a file.

use sparse_core::{Backend, Csr, Error, Host, Row};
use sparse_distrib::{DistributedBackend, DistributedMatrix, Transport, read_rows};
use sparse_io::npz;
use sparse_io::parts::PartWriter;
use std::fs;
use std::path::{Path, PathBuf};

type Rows = Csr<f64, Host, i64, i32>;

/// All checks.
pub(crate) fn all(rank: &DistributedBackend<impl Transport, impl Backend<Space = Host>>) {
    let transport = rank.transport();
    let folder = (transport.rank() == 0).then(|| {
        let folder = tempfile::tempdir().unwrap();
        write_files(folder.path());
        folder
    });
    let path = folder.as_ref().map_or_else(Vec::new, |folder| folder.path().to_str().unwrap().into());
    let path = String::from_utf8(transport.broadcast(0, path).unwrap()).unwrap();
    let path = Path::new(&path);
    ranks_read_what_the_root_would_send(rank, &path.join("a.npz"));
    ranks_read_what_the_root_would_send(rank, &path.join("parts"));
    ranks_read_what_the_root_would_send(rank, &path.join("a.mtx"));
    an_error_of_a_rank_is_that_of_all(transport, path);
    transport.barrier().unwrap(); // before the folder is removed
}

fn matrix() -> Csr<f64> {
    sparse_generate::uniform::<f64>(40, 30, 4, 7).unwrap()
}

fn write_files(folder: &Path) {
    let a = matrix();
    npz::write_csr(&folder.join("a.npz"), &a).unwrap();
    sparse_io::write_csr(folder.join("a.mtx"), &a).unwrap();
    let header = "%%MatrixMarket matrix coordinate pattern";
    for (name, lines) in [
        ("short.mtx", "general\n9 9 3\n1 1\n2 2\n"),
        ("surplus.mtx", "general\n9 9 1\n1 1\n2 2\n"),
        ("both.mtx", "symmetric\n9 9 2\n1 2\n9 1\n"),
    ] {
        fs::write(folder.join(name), format!("{header} {lines}")).unwrap();
    }
    let mut writer = PartWriter::<Row, f64>::matrix(folder.join("parts"), a.shape(), (2, 2)).unwrap();
    for rows in [0..25, 25..40] {
        for cols in [0..7, 7..30] {
            let inside = a.triplets().filter(|(i, j, _)| rows.contains(i) && cols.contains(j));
            let entries = inside.map(|(i, j, value)| (i - rows.start, j - cols.start, value));
            let block = Csr::<f64>::from_triplets(rows.len(), cols.len(), entries).unwrap();
            writer.write_block(rows.clone(), cols.clone(), &block).unwrap();
        }
    }
    writer.finish().unwrap();
    let twice = Csr::<f64>::new_unsorted(1, 2, vec![0, 2], vec![1, 1], vec![1.0, 2.0]).unwrap();
    npz::write_csr(&folder.join("duplicates.npz"), &twice).unwrap();
}

fn ranks_read_what_the_root_would_send(
    rank: &DistributedBackend<impl Transport, impl Backend<Space = Host>>,
    path: &Path,
) {
    let rows: Rows = read_rows(rank.transport(), path).unwrap();
    let read = DistributedMatrix::from_rows(rank, &rows, None).unwrap();
    let whole = matrix();
    let sent = DistributedMatrix::from_root(rank, 0, (rank.rank() == 0).then_some(&whole), None);
    let sent = sent.unwrap();
    assert_eq!((read.row_ownership(), read.col_ownership()), (sent.row_ownership(), sent.col_ownership()));
    assert!(read.diagonal_block().triplets().eq(sent.diagonal_block().triplets()));
    let spans = read.off_diagonal_blocks().zip(sent.off_diagonal_blocks());
    for ((rows, block), (sent_rows, sent_block)) in spans {
        assert!(rows == sent_rows && block.triplets().eq(sent_block.triplets()));
    }
}

fn an_error_of_a_rank_is_that_of_all(transport: &impl Transport, folder: &Path) {
    let duplicates = read_rows::<f64, i64, i32>(transport, folder.join("duplicates.npz")).unwrap_err();
    assert!(duplicates.to_string().contains("some have duplicates"), "{duplicates}");
    for name in ["short.mtx", "surplus.mtx", "both.mtx"] {
        let reported = read_rows::<f64, i64, i32>(transport, folder.join(name)).unwrap_err().to_string();
        assert!(reported.contains("header claims") || reported.contains("one more"), "{name}: {reported}");
    }
    let name: PathBuf =
        if transport.rank() + 1 == transport.ranks() { "nothing.npz" } else { "a.npz" }.into();
    let missing = read_rows::<f64, i64, i32>(transport, folder.join(name)).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }) || missing.to_string().contains("No such file"), "{missing}");
}
