//! Replays the fuzz targets' corpus, each file whole, cut short and with single bytes changed.

use crate::fuzz_bodies;
use std::path::Path;

type Body = fn(&[u8]);

/// The targets; the folders of the corpus have the same names.
const BODIES: [(&str, Body); 4] = [
    ("matrix_market", fuzz_bodies::matrix_market),
    ("npz", fuzz_bodies::npz),
    ("npy", fuzz_bodies::npy),
    ("constructors", fuzz_bodies::constructors),
];

/// Bytes that mean something in one of the formats, or nothing in any.
const BYTES: [u8; 8] = [0, 1, b'\n', b' ', b'-', b'9', 0x7f, 0xff];

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

fn replay(name: &str, body: Body) {
    let seeds = corpus(name);
    assert!(!seeds.is_empty(), "{name} has seeds");
    for seed in seeds {
        body(&seed);
        for at in 0..seed.len() {
            body(&seed[..at]);
            let mut changed = seed.clone();
            for byte in BYTES {
                changed[at] = byte;
                body(&changed);
            }
        }
    }
}

#[test]
fn the_corpus_and_its_neighbours_do_no_harm() {
    for (name, body) in BODIES {
        replay(name, body);
    }
}
