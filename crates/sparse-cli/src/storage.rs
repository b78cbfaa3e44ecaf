//! Bytes of a matrix in every format, without building any.

use crate::format::Format;
use crate::text::{bytes, table};
use nnz::estimate::{self, Estimate, Sizes};
use nnz::{HybWidth, IndexType, Matrix, Result, SellLayout};
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// The memory of a matrix in one format.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    /// The format.
    pub(crate) format: &'static str,
    /// The width of rows, of formats that pad rows to one width.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    /// Bytes of all arrays; `None` if they do not fit 64 bits.
    pub(crate) bytes: Option<u64>,
    /// Stored elements, padding included.
    pub(crate) slots: Option<u64>,
}

impl Row {
    fn new(format: &'static str, estimate: Result<Estimate>) -> Self {
        let estimate = estimate.ok();
        Self { format, width: None, bytes: estimate.map(|e| e.bytes), slots: estimate.map(|e| e.slots) }
    }

    fn of_width(self, width: usize) -> Self {
        Self { width: Some(width), ..self }
    }
}

/// The memory of a matrix in every format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Storage(pub(crate) Vec<Row>);

impl Storage {
    /// Estimates for the pattern of `a`, whose rows have these lengths, with its own types.
    pub(crate) fn of(a: &Matrix, lengths: &[usize]) -> Self {
        let ((rows, cols), sizes) = (a.shape(), sizes_of(a));
        let hyb = |policy: HybWidth| {
            let width = policy.resolve(lengths, cols, sizes);
            Row::new("hyb", estimate::hyb(lengths, width, sizes)).of_width(width)
        };
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut storage = Self::without_row_lengths((rows, cols), a.nnz(), longest, sizes);
        storage.0.extend([
            hyb(HybWidth::MinBytes),
            hyb(HybWidth::Fraction(0.125)),
            Row::new("sell", estimate::sell(lengths, SellLayout::default(), sizes)),
        ]);
        // The two widths of HYB may be one.
        storage.0.dedup();
        storage
    }

    /// Estimates for the formats whose bytes do not depend on the length of each row.
    pub(crate) fn without_row_lengths(
        (rows, cols): (usize, usize),
        nnz: usize,
        longest: usize,
        sizes: Sizes,
    ) -> Self {
        Self(vec![
            Row::new("dense", estimate::dense(rows, cols, sizes)),
            Row::new("coo", estimate::coo(nnz, sizes)),
            Row::new("csr", estimate::csr(rows, nnz, sizes)),
            Row::new("csc", estimate::csc(cols, nnz, sizes)),
            Row::new("ell", estimate::ell(rows, longest, sizes)).of_width(longest),
        ])
    }

    /// The first row of a format, which is that of its default layout.
    pub(crate) fn row(&self, format: Format) -> &Row {
        let name = format.name();
        self.0.iter().find(|row| row.format == name).expect("`of` lists every format")
    }

    /// An error if a format takes far more bytes than CSR.
    pub(crate) fn check_size(&self, format: Format) -> anyhow::Result<()> {
        let csr = self.row(Format::Csr).bytes.unwrap_or(u64::MAX);
        let cap = csr.saturating_mul(16).max(256 << 20);
        let needed = self.row(format).bytes.unwrap_or(u64::MAX);
        anyhow::ensure!(
            needed <= cap,
            "{} would take {}, csr takes {}",
            format.name(),
            bytes(needed),
            bytes(csr)
        );
        Ok(())
    }
}

/// The bytes of a value, an index and an offset of `a`.
pub(crate) fn sizes_of(a: &Matrix) -> Sizes {
    let index = a.index_type().bytes();
    Sizes { scalar: a.dtype().bytes(), index, offset: a.offset_type().map_or(index, IndexType::bytes) }
}

impl Display for Storage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let cell = |count: Option<u64>| count.map_or_else(|| "over 2^64".into(), |count| count.to_string());
        let header = ["format", "slots", "bytes", ""].map(String::from).to_vec();
        let rows = self.0.iter().map(|row| {
            let width = row.width.map(|width| format!(", width {width}")).unwrap_or_default();
            vec![
                format!("{}{width}", row.format),
                cell(row.slots),
                cell(row.bytes),
                row.bytes.map(bytes).unwrap_or_default(),
            ]
        });
        f.write_str(&table(&std::iter::once(header).chain(rows).collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use nnz::Csr;

    #[test]
    fn formats_far_larger_than_csr_are_refused() {
        let wide = Csr::<f64>::zeros(1, 2_000_000_000).unwrap();
        let wide = Matrix::from_typed(&Context::host().unwrap(), wide).unwrap();
        let wide = Storage::of(&wide, &[0]);
        assert!(wide.check_size(Format::Csr).is_ok());
        let error = wide.check_size(Format::Csc).unwrap_err();
        assert_eq!(error.to_string(), "csc would take 7.5 GiB, csr takes 8 B");
    }
}
