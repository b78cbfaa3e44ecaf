//! PNG, in 256 shades of grey. Format: W3C, Portable Network Graphics (PNG) Specification, third edition.

use super::Raster;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::{Result, Write};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// Writes a raster with one pixel per bin.
pub(crate) fn write(out: &mut impl Write, raster: &Raster) -> Result<()> {
    out.write_all(&SIGNATURE)?;
    chunk(out, b"IHDR", &header(raster)?)?;
    chunk(out, b"IDAT", &pixels(raster)?)?;
    chunk(out, b"IEND", &[])
}

/// Width, height, 8 bits a sample, grey, deflate, adaptive filters, not interlaced.
fn header(raster: &Raster) -> Result<Vec<u8>> {
    let mut header = Vec::with_capacity(13);
    for extent in [raster.width, raster.height] {
        header.extend(u32::try_from(extent).map_err(std::io::Error::other)?.to_be_bytes());
    }
    header.extend([8, 0, 0, 0, 0]);
    Ok(header)
}

/// The compressed lines, each after a 0: no filter.
fn pixels(raster: &Raster) -> Result<Vec<u8>> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for y in 0..raster.height {
        let mut line = vec![0];
        line.extend((0..raster.width).map(|x| 255 - (raster.shade(x, y) * 255.0).round() as u8));
        packed.write_all(&line)?;
    }
    packed.finish()
}

/// Length, type, data, checksum of type and data.
fn chunk(out: &mut impl Write, kind: &[u8; 4], data: &[u8]) -> Result<()> {
    let mut checksum = Crc::new();
    checksum.update(kind);
    checksum.update(data);
    out.write_all(&u32::try_from(data.len()).map_err(std::io::Error::other)?.to_be_bytes())?;
    out.write_all(kind)?;
    out.write_all(data)?;
    out.write_all(&checksum.sum().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::ZlibDecoder;
    use nnz::Csr;
    use std::io::Read;

    #[test]
    fn pixels_are_black_where_entries_are() {
        let raster = Raster::of_csr(Csr::identity(2).unwrap(), 10);
        let mut png = vec![];
        write(&mut png, &raster).unwrap();
        assert_eq!(png[..8], SIGNATURE);
        assert_eq!(png[8..33], *b"\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\0\0\0\0\x57\xdd\x52\xf8");
        let length = u32::from_be_bytes(png[33..37].try_into().unwrap()) as usize;
        let mut lines = vec![];
        ZlibDecoder::new(&png[41..41 + length]).read_to_end(&mut lines).unwrap();
        assert_eq!(lines, [0, 0, 255, 0, 255, 0]);
        assert_eq!(png[png.len() - 12..], *b"\0\0\0\0IEND\xae\x42\x60\x82");
    }
}
