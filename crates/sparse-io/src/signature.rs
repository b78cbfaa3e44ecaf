//! The kinds of files that begin with bytes of their own, for the message that refuses them under a wrong name.

/// First bytes, and the file that has them.
const SIGNATURES: [(&[u8], &str); 9] = [
    (b"%%MatrixMarket", "a Matrix Market file, whose name ends in .mtx"),
    (b"\x93NUMPY", "a .npy file"),
    (b"PK\x03\x04", "a zip archive, as .npz files are"),
    (b"\x1f\x8b", "packed by gzip, so that its name ends in .mtx.gz"),
    (b"BZh", "packed by bzip2; unpack it first"),
    (b"\xfd7zXZ\0", "packed by xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd; unpack it first"),
    (b"\xff\xfe", "a text in UTF-16; save it in UTF-8"),
    (b"\xfe\xff", "a text in UTF-16; save it in UTF-8"),
];

/// Names the kind of a file by its first bytes, as the end of an error message.
///
/// Empty if the bytes are unknown or those that the reader `expected`.
pub(crate) fn what_it_is(head: &[u8], expected: &[u8]) -> String {
    let mut others = SIGNATURES.iter().filter(|_| !head.starts_with(expected));
    let known = others.find(|(signature, _)| head.starts_with(signature));
    known.map(|(_, kind)| format!("; it is {kind}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_kind_is_named() {
        assert_eq!(what_it_is(b"BZh91AY", b"PK"), "; it is packed by bzip2; unpack it first");
        assert_eq!(what_it_is(b"PK\x03\x04", b"PK"), "");
        assert_eq!(what_it_is(b"", b"PK"), "");
        assert_eq!(what_it_is(b"1 2 3", b"PK"), "");
    }
}
