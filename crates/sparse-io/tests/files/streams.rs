//! Files decoded in parts have the matrices that are read from them whole.

use super::row_ranges::{matrix, store};
use sparse_core::{Csr, Error, Order, Result};
use sparse_io::stream::{Decoded, Decoder, HEAD_BYTES};
use sparse_io::{FileKind, MatrixFile, npy, npz};
use std::path::Path;

/// Decodes a file in parts of so many bytes; the memory that was asked for.
fn decode(kind: FileKind, file: &[u8], part: usize) -> Result<(Decoded, usize)> {
    let (mut decoder, mut bytes) = (Decoder::new(kind, &file[..file.len().min(HEAD_BYTES)])?.unwrap(), 0);
    for part in file.chunks(part) {
        decoder.push(part, &mut |more| {
            bytes += more;
            Ok(())
        })?;
    }
    Ok((decoder.finish()?, bytes))
}

fn seed(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/npz").join(name)).unwrap()
}

#[track_caller]
fn reason(decoded: Result<(Decoded, usize)>) -> String {
    match decoded {
        Err(Error::File { reason, .. }) => reason,
        other => panic!("{other:?} is refused"),
    }
}

#[test]
fn archives_of_scipy_are_decoded_in_any_parts() {
    for name in ["csr_f8", "csc_c8", "coo_f4"] {
        let file = seed(name);
        let whole = Decoded::Sparse(npz::parse(&file).unwrap());
        for part in [1, 7, 100, file.len()] {
            assert_eq!(decode(FileKind::Npz, &file, part).unwrap().0, whole, "{name} in parts of {part}");
        }
    }
}

#[test]
fn most_of_an_archive_that_is_not_deflated_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let [packed, stored] = ["packed.npz", "stored.npz"].map(|name| folder.path().join(name));
    npz::write_csr(&packed, &matrix(100, 200)).unwrap();
    store(&packed, &stored, |_| ());
    let [packed, stored] = [packed, stored].map(|path| std::fs::read(path).unwrap());
    for (file, is_copied) in [(&stored, true), (&packed, false), (&seed("csr_f8"), false)] {
        let whole = Decoded::Sparse(npz::parse(file).unwrap());
        for part in [1, 7, 100, file.len()] {
            let mut decoder =
                Decoder::new(FileKind::Npz, &file[..file.len().min(HEAD_BYTES)]).unwrap().unwrap();
            assert_eq!(decoder.copies(), is_copied);
            let mut copied = 0;
            for part in file.chunks(part) {
                let first = decoder.copy(part);
                decoder.push(&part[first..], &mut |_| Ok(())).unwrap();
                copied += first;
            }
            assert_eq!(copied > file.len() / 2, is_copied && part < file.len(), "{copied} of {}", file.len());
            assert_eq!(decoder.finish().unwrap(), whole, "in parts of {part}");
        }
    }
}

#[test]
fn dense_arrays_become_their_entries() {
    let values = [0.0, -1.5, 0.0, 0.0, f64::NAN, 2.0, -0.0, 3.0, 0.0, 0.0, 0.0, 4.0];
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    for (shape, order) in
        [(&[3, 4][..], Order::RowMajor), (&[3, 4], Order::ColMajor), (&[12], Order::RowMajor)]
    {
        let file = [npy::header::<f64>(shape, order).unwrap(), bytes.clone()].concat();
        let whole: Csr<f64> = MatrixFile::from_reader("a.npy", &file[..]).unwrap().read_csr().unwrap();
        for part in [1, 13, file.len()] {
            let (decoded, memory) = decode(FileKind::Npy, &file, part).unwrap();
            let Decoded::Sparse(decoded) = decoded else { panic!("it is one matrix") };
            assert!(memory >= decoded.values.len() * 12, "{memory} bytes were asked for");
            let decoded: Csr<f64> = decoded.into_sorted_csr().unwrap();
            assert_eq!((decoded.row_ptr(), decoded.col_idx()), (whole.row_ptr(), whole.col_idx()));
            // NaN equals nothing.
            assert_eq!(
                format!("{:?}", decoded.values()),
                format!("{:?}", whole.values()),
                "{shape:?} {part}"
            );
        }
    }
    let integers = [
        b"\x93NUMPY\x01\x00\x46\x00".to_vec(),
        {
            let mut header = b"{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }".to_vec();
            header.resize(0x46, b' ');
            header
        },
        vec![0, 0, 1, 2, 0xff, 0xff, 0, 0],
    ]
    .concat();
    let Decoded::Sparse(decoded) = decode(FileKind::Npy, &integers, 3).unwrap().0 else { panic!() };
    let decoded: Csr<f64> = decoded.into_sorted_csr().unwrap();
    assert!(decoded.triplets().eq([(0, 1, 258.0), (1, 0, -1.0)]));
}

#[test]
fn what_is_not_decoded_from_front_to_back_is_left_to_others() {
    let stack = npy::header::<f64>(&[2, 2, 2], Order::RowMajor).unwrap();
    assert!(Decoder::new(FileKind::Npy, &stack).unwrap().is_none());
    assert!(
        Decoder::new(FileKind::Npy, &npy::header::<f64>(&[0, 2], Order::RowMajor).unwrap())
            .unwrap()
            .is_none()
    );
    assert!(Decoder::new(FileKind::MatrixMarket, b"%%MatrixMarket").unwrap().is_none());
    let mut piped = seed("csr_f8");
    piped[6] |= 8;
    assert!(Decoder::new(FileKind::Npz, &piped).unwrap().is_none());
}

#[test]
fn wrong_files_are_refused() {
    let (csr, all) = (seed("csr_f8"), usize::MAX);
    let array = [npy::header::<f32>(&[2], Order::RowMajor).unwrap(), vec![0; 9]].concat();
    let mut damaged = csr.clone();
    damaged[14] ^= 1;
    let directory = csr.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let mut unpacked = csr.clone();
    // The length that does not stand in 32 bits.
    let extra = 30 + usize::from(csr[26]);
    unpacked[extra + 4] = 1;
    let reasons = [
        reason(decode(FileKind::Npy, &array, all)),
        reason(decode(FileKind::Npy, &array[..array.len() - 2], all)),
        reason(decode(FileKind::Npz, &damaged, all)),
        reason(decode(FileKind::Npz, &unpacked, all)),
        reason(decode(FileKind::Npz, &csr[..directory], all)),
        reason(decode(FileKind::Npz, &[&csr[..directory], &csr[..directory]].concat(), all)),
        reason(decode(FileKind::Npz, &[&csr[..directory], &b"PK\x05\x07"[..]].concat(), all)),
    ];
    insta::assert_snapshot!(reasons.join("\n"), @r"
    shape (2,) needs 8 bytes, but 9 follow the header
    shape (2,) needs 8 bytes, but 7 follow the header
    `indices`: the checksum is wrong
    `indices`: more bytes than the 1 that its header says
    the archive ends before its directory
    `indices`: the archive has it twice
    not a sound zip file: a file is not followed by another or the directory
    ");
}

#[test]
fn memory_that_is_refused_ends_the_decoding() {
    let file = [npy::header::<f64>(&[64], Order::RowMajor).unwrap(), vec![1; 512]].concat();
    let mut decoder = Decoder::new(FileKind::Npy, &file).unwrap().unwrap();
    let refused =
        decoder.push(&file, &mut |needed| Err(Error::OutOfMemory { needed: needed as u64, available: None }));
    assert!(matches!(refused, Err(Error::OutOfMemory { needed: 512, .. })), "{refused:?}");
}
