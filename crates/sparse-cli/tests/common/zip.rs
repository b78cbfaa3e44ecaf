//! Zip files whose members may claim anything and inflate to anything.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// A member of a zip file.
pub(crate) struct Member {
    name: String,
    /// 0 is stored, 8 is deflated.
    method: u16,
    packed: Vec<u8>,
    crc: u32,
    length: u32,
}

impl Member {
    /// The array `key` as these bytes.
    pub(crate) fn stored(key: &str, bytes: Vec<u8>) -> Self {
        let mut crc = Crc::new();
        crc.update(&bytes);
        let length = bytes.len() as u32;
        Self { name: format!("{key}.npy"), method: 0, packed: bytes, crc: crc.sum(), length }
    }

    /// The array `key`: the bytes of `head` and `mebibytes` MiB of zeros, packed in a thousandth of that. The checksum
    /// is wrong: no reader should get that far.
    pub(crate) fn with_zeros(key: &str, head: &[u8], mebibytes: usize) -> Self {
        let zeros = vec![0; 1 << 20];
        let length = (head.len() + mebibytes * zeros.len()) as u32;
        // A full flush ends at a byte, and later blocks do not refer to earlier ones.
        let (head, zeros) = (flushed(head), flushed(&zeros));
        let last_block = vec![3, 0];
        let packed = [head, zeros.repeat(mebibytes), last_block].concat();
        Self { name: format!("{key}.npy"), method: 8, packed, crc: 0, length }
    }

    /// The fields that the local header and the one of the directory have in common.
    fn description(&self) -> Vec<u8> {
        let (version, flags, time) = (20_u16, 0_u16, 0_u32);
        let mut bytes = [version, flags, self.method].map(u16::to_le_bytes).concat();
        let sizes = [time, self.crc, self.packed.len() as u32, self.length];
        bytes.extend(sizes.map(u32::to_le_bytes).concat());
        bytes.extend([self.name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes
    }
}

fn flushed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() + 1024);
    let mut deflate = Compress::new(Compression::fast(), false);
    deflate.compress_vec(bytes, &mut packed, FlushCompress::Full).expect("the output fits the buffer");
    packed
}

/// A zip file of these members.
pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    let (mut file, mut directory) = (vec![], vec![]);
    for member in members {
        let (description, name, start) = (member.description(), member.name.as_bytes(), file.len() as u32);
        file.extend([b"PK\x03\x04", &description[..], name, &member.packed].concat());
        directory
            .extend([b"PK\x01\x02\x14\0", &description[..], &[0; 10], &start.to_le_bytes(), name].concat());
    }
    let count = members.len() as u16;
    let end = [b"PK\x05\x06\0\0\0\0", &[count; 2].map(u16::to_le_bytes).concat()[..]].concat();
    let sizes = [directory.len() as u32, file.len() as u32].map(u32::to_le_bytes).concat();
    [file, directory, end, sizes, vec![0; 2]].concat()
}
