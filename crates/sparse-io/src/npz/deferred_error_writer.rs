//! A writer that reports its first error at the end.

use std::io::{Result, Seek, SeekFrom, Write};

/// A writer that drops everything after its first error, which [`finish`](Self::finish) reports.
///
/// `ZipWriter` prints errors when it is dropped; behind this writer it meets none.
pub(super) struct DeferredErrorWriter<W> {
    out: W,
    outcome: Result<()>,
    /// The position of an output without errors.
    position: u64,
}

impl<W: Write + Seek> DeferredErrorWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, outcome: Ok(()), position: 0 }
    }

    /// The first error, if there was one.
    pub(super) fn finish(self) -> Result<()> {
        self.outcome
    }
}

impl<W: Write + Seek> Write for DeferredErrorWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.outcome.is_ok() {
            self.outcome = self.out.write_all(bytes);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        if self.outcome.is_ok() {
            self.outcome = self.out.flush();
        }
        Ok(())
    }
}

impl<W: Write + Seek> Seek for DeferredErrorWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let aim = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(distance) => self.position.saturating_add_signed(distance),
            SeekFrom::End(_) => self.position,
        };
        let sought = if self.outcome.is_ok() { self.out.seek(to) } else { Ok(aim) };
        self.position = sought.unwrap_or_else(|error| {
            self.outcome = Err(error);
            aim
        });
        Ok(self.position)
    }
}
