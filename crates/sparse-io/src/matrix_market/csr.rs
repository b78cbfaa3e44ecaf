//! Reads a text to CSR.

use super::entries::Body;
use super::header::{Field, Header};
use super::triplets::Triplets;
use crate::coo_to_csr::coo_to_csr;
use crate::csr_from_entries::check_row_claim;
use crate::source::Text;
use sparse_core::{Csr, Host, Index, Result, Scalar};

/// Reads a coordinate file in `parts` parts.
pub(super) fn read<T: Scalar, I: Index, O: Index>(
    text: Text<'_>,
    header: Header,
    parts: usize,
) -> Result<Csr<T, Host, I, O>> {
    let (rows, cols, stored) = (header.info.rows, header.info.cols, header.info.stored);
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    O::try_new("rows", rows)?;
    O::try_new("entries", stored)?;
    check_row_claim(rows, size_of::<O>(), text.bytes.len())
        .map_err(|reason| text.error(header.size_at, reason))?;
    let Triplets { rows: row_of, cols: indices, values } = Body::split(text, header, parts).read()?;
    let are_equal = header.info.field == Field::Pattern;
    coo_to_csr((rows, cols), (row_of, indices, values), are_equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix_market::header;
    use proptest::prelude::*;
    use sparse_core::Error;

    fn read_in_parts(text: &str, parts: usize) -> Csr<f64> {
        let text = Text::in_memory(text.as_bytes());
        read(text, header::parse(&text).unwrap(), parts).unwrap()
    }

    proptest! {
        #[test]
        fn the_number_of_parts_changes_nothing(
            entries in prop::collection::vec((1..6_usize, 1..4_usize, -1e3..1e3_f64), 0..40),
            blank_lines in any::<bool>(),
        ) {
            let end = if blank_lines { "\r\n\n% note\n" } else { "\n" };
            let lines: String = entries.iter().map(|(i, j, v)| format!("{i} {j} {v}{end}")).collect();
            let text = format!("%%MatrixMarket matrix coordinate real general\n5 3 {}\n{lines}", entries.len());
            let serial = read_in_parts(&text, 1);
            for parts in 2..9 {
                prop_assert_eq!(&read_in_parts(&text, parts), &serial);
            }
        }
    }

    #[test]
    fn a_surplus_entry_is_found_in_any_part() {
        let text = "%%MatrixMarket matrix coordinate pattern general\n9 9 3\n1 1\n2 2\n3 3\n4 4\n5 5\n";
        let text = Text::in_memory(text.as_bytes());
        for parts in 1..6 {
            let body = Body::split(text, header::parse(&text).unwrap(), parts);
            let error = body.read::<f64, i32, i32>().err().unwrap();
            assert!(matches!(error, Error::File { line: Some(6), .. }), "{parts} parts: {error}");
        }
    }
}
