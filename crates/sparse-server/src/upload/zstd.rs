//! Zstandard (RFC 8878) as it is in bodies of HTTP (RFC 9659).

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::error::Error;
use std::io::{self, BufRead, Read};

/// Bytes to which a frame may refer back: RFC 9659 allows no more in HTTP.
const LARGEST_WINDOW: u64 = 8 << 20;

/// The contents of frames that stand one after the other, at most a window and a block of them in memory.
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        Self { source, decoder, is_in_frame: false }
    }

    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(unreadable(error)),
            }
        }
        Ok(false)
    }

    fn end(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let (said, found) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        match said {
            Some(_) if said != found => Err(io::Error::other("the checksum is wrong")),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.is_in_frame || self.begin()? {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded =
                    self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(unreadable)?;
            }
            match self.decoder.read(buffer)? {
                0 => self.end()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

/// The error of a frame that breaks off, in the words of other encodings, or of one that is wrong.
fn unreadable(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&dyn Error> = Some(&error);
    while let Some(found) = cause {
        match found.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(kind @ io::ErrorKind::UnexpectedEof) => {
                return io::Error::new(kind, "unexpected end of file");
            }
            _ => cause = found.source(),
        }
    }
    io::Error::other(error)
}
