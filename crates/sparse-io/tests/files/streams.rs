//! Files decoded in parts have the matrices that are read from them whole.

use super::row_ranges::{matrix, store};
use sparse_core::{Csr, Error, Host, Order, Result, c64};
use sparse_io::stream::{Decoded, Decoder, HEAD_BYTES};
use sparse_io::{FileKind, MatrixFile, npy, npz};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Decodes a file in parts of `part` bytes; returns also the bytes that the decoder reserved.
fn decode(kind: FileKind, file: &[u8], part: usize) -> Result<(Decoded, usize)> {
    let (mut decoder, mut bytes) = (Decoder::new(kind, &file[..file.len().min(HEAD_BYTES)])?.unwrap(), 0);
    let reserve = &mut |more| {
        bytes += more;
        Ok(())
    };
    file.chunks(part).try_for_each(|part| decoder.push(part, reserve))?;
    Ok((decoder.finish(reserve)?, bytes))
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
            assert_eq!(decoder.finish(&mut |_| Ok(())).unwrap(), whole, "in parts of {part}");
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

/// A text of some 1.5 MB, in several blocks, with comments and blank lines in each other 700 lines.
fn text(banner: &str, size: &str, lines: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = format!("%%MatrixMarket matrix {banner}\n% note\n\n{size}\n");
    for k in 0..lines {
        text += &line(k);
        let ends = ["\n", "\r\n", "\n% a note of some length\n", " \n \n"];
        text += if k / 700 % 2 == 0 { ends[k % 4] } else { "\n" };
    }
    text
}

#[test]
fn memory_is_reserved_by_the_text_and_not_by_the_time_that_its_blocks_take() {
    let line = |k: usize| format!("{} {} 1.5", k % 900 + 1, k % 700 + 1);
    let file = text("coordinate real general", "900 900 120000", 120_000, line);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let reserved = |others_work: bool| {
        let gate = Arc::new(Mutex::new(()));
        // The other threads wait for it, until all is decoded.
        let _closed = (!others_work).then(|| gate.lock().unwrap());
        pool.install(|| {
            for gate in [gate.clone(), gate.clone()] {
                rayon::spawn(move || drop(gate.lock()));
            }
            let (mut decoder, mut bytes) =
                (Decoder::new(FileKind::MatrixMarket, &file.as_bytes()[..HEAD_BYTES]).unwrap().unwrap(), 0);
            let reserve = &mut |more| {
                bytes += more;
                Ok(())
            };
            for part in file.as_bytes().chunks(300_000) {
                decoder.push(part, reserve).unwrap();
                // Time enough for the others to parse a block, if they do.
                std::thread::sleep(Duration::from_millis(if others_work { 100 } else { 0 }));
            }
            decoder.finish(reserve).unwrap();
            bytes
        })
    };
    assert_eq!(reserved(true), reserved(false));
}

/// A matrix, or the line and the reason for which its text is refused.
type Outcome = Result<Csr<c64, Host, i64, i64>, (Option<u64>, String)>;

/// The matrix of a text that is read whole and decoded in parts, and the reason for which it is refused.
fn read_both_ways(text: &str, part: usize) -> [Outcome; 2] {
    let whole = MatrixFile::from_reader("a.mtx", text.as_bytes()).and_then(|file| file.read_csr());
    let decoded = decode(FileKind::MatrixMarket, text.as_bytes(), part).and_then(|(decoded, memory)| {
        let Decoded::Text(decoded, None) = decoded else { panic!("it is a text without large integers") };
        assert!(memory >= decoded.values.len() * 16, "{memory} bytes were asked for");
        decoded.into_sorted_csr()
    });
    [whole, decoded].map(|read| {
        read.map_err(|error| match error {
            Error::File { line, reason, .. } => (line, reason),
            error => panic!("{error}"),
        })
    })
}

#[test]
fn texts_are_decoded_as_they_are_read_whole() {
    let value = |k: usize| (k * 7919 % 1000) as f64 / 8.0 - 60.0;
    let general = |k: usize| format!("{} {} {}", k * 31 % 5000 + 1, k * 17 % 300 + 1, value(k));
    let below = |k: usize| format!("{} {} {} {}", k % 3000 + 3000, k % 2999 + 1, value(k), value(k + 1));
    let dense = |k: usize| format!("{:.12}", value(k).max(0.0));
    let texts = [
        text("coordinate real general", "5000 300 60000", 60_000, general),
        text("coordinate complex hermitian", "6000 6000 60000", 60_000, below),
        text("coordinate pattern general", "9 4000000000 60000", 60_000, |k| {
            format!("{} {}", k % 9 + 1, 3_999_999_999 - k)
        }),
        text("array real general", "300 200", 60_000, dense),
        text("array real skew-symmetric", "347 347", 347 * 346 / 2, dense),
    ];
    for text in &texts {
        assert!(text.len() > 3 << 18, "{} bytes are one block", text.len());
        for part in [999, 70_000, text.len()] {
            let [whole, decoded] = read_both_ways(text, part);
            assert_eq!(decoded, whole, "{} in parts of {part}", &text[..50]);
        }
    }
    // Both readers report the same error, with the same line.
    let (general, hermitian, array) = (&texts[0], &texts[1], &texts[3]);
    for wrong in [
        format!("{general}1 1 1\n"),
        format!("{general}\n%\n9 9 9 9\n"),
        general.replace("5000 300 60000", "5000 300 60001"),
        general.replace("5000 300 60000", "5000 300 60001") + "\n\n% note",
        general.replace("5000 300 60000", "5000 300 30000"),
        general.replace("5000 300 60000", "5000 299 60000"),
        general.replace("real general", "real symmetric"),
        hermitian.replace("60000", "60001") + "1 2 3 4\n",
        hermitian.replace("60000", "60001") + "2 2 3 4\n",
        format!("{array}5\n"),
        array.replace("300 200", "300 201"),
        "%%MatrixMarket matrix coordinate real general\n".into(),
        "%%MatrixMarket matrix coordinate real general\n\n2 2\n".into(),
        "%%MatrixMarket".into(),
    ] {
        for part in [999, wrong.len()] {
            let [whole, decoded] = read_both_ways(&wrong, part);
            let refused = whole.unwrap_err();
            assert_eq!(decoded.unwrap_err(), refused, "{} in parts of {part}", &wrong[..wrong.len().min(80)]);
        }
    }
}

#[test]
fn texts_are_decoded_in_memory_of_their_entries() {
    let comments = "% a note\n".repeat(100_000);
    let text = format!(
        "%%MatrixMarket matrix coordinate integer general\n{comments}2 2 2\n1 1 1\n{comments}2 2 9007199254740993\n"
    );
    let (decoded, memory) = decode(FileKind::MatrixMarket, text.as_bytes(), 1000).unwrap();
    assert!(memory < 1000, "{memory}");
    let rounded = decoded.rounded_integers::<f64>().unwrap();
    assert_eq!((rounded.count, &*rounded.first, rounded.line), (1, "9007199254740993", Some(200_004)));
    let long = format!("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {}\n", "0".repeat(1 << 20));
    assert_eq!(
        reason(decode(FileKind::MatrixMarket, long.as_bytes(), 1000)),
        "the line has more than 65536 bytes"
    );
    let short = "%%MatrixMarket matrix coordinate real general\n2 2 1";
    assert_eq!(
        reason(decode(FileKind::MatrixMarket, short.as_bytes(), 7)),
        "the file ends after 0 entries of 1"
    );
    let rows = "%%MatrixMarket matrix coordinate real general\n1000000000000 1 1\n1 1 1\n";
    assert!(reason(decode(FileKind::MatrixMarket, rows.as_bytes(), 7)).contains("1000000000000 rows need"));
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
    // The length that does not fit 32 bits.
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
