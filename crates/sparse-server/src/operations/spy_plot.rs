//! A matrix as a picture of its pattern.

use crate::problem::Problem;
use png::{BitDepth, ColorType, Encoder};
use serde_json::{Value, json};

/// The number of entries in each cell of a grid over a matrix, row by row.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) counts: Vec<u64>,
}

/// White, and the lightest grey of a cell with entries.
const EMPTY: u8 = 255;
const LIGHTEST: f64 = 170.0;

impl Picture {
    pub(crate) fn to_json(&self) -> Value {
        json!({ "rows": self.rows, "columns": self.columns, "counts": self.counts })
    }

    /// A PNG with a pixel for each cell, darker by the logarithm of its entries; one white pixel without cells.
    pub(crate) fn to_png(&self) -> Result<Vec<u8>, Problem> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let mut pixels: Vec<_> = self.counts.iter().map(|&count| grey(count, most)).collect();
        let extent = |cells: usize| cells.max(1) as u32;
        let (width, height) = (extent(self.columns), extent(self.rows));
        pixels.resize(width as usize * height as usize, EMPTY);
        let mut file = vec![];
        let mut encoder = Encoder::new(&mut file, width, height);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
        written.map(|()| file).map_err(Problem::internal)
    }
}

fn grey(count: u64, most: u64) -> u8 {
    if count == 0 {
        return EMPTY;
    }
    let dark = (count as f64).ln_1p() / (most as f64).ln_1p();
    (LIGHTEST * (1.0 - dark)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_darker_the_more_entries_it_has() {
        assert_eq!((grey(0, 9), grey(9, 9), grey(1, 1)), (255, 0, 0));
        assert!(grey(0, 9) > grey(1, 9) && grey(1, 9) > grey(5, 9) && grey(5, 9) > grey(9, 9));
    }

    #[test]
    fn a_png_has_a_pixel_for_each_cell() {
        for (rows, columns, counts) in [(2, 3, vec![0, 1, 2, 3, 0, 9]), (0, 3, vec![]), (0, 0, vec![])] {
            let png = Picture { rows, columns, counts: counts.clone() }.to_png().unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!((info.width, info.height), (columns.max(1) as u32, rows.max(1) as u32));
            let most = counts.iter().copied().max().unwrap_or(0);
            let expected: Vec<_> = counts.iter().map(|&count| grey(count, most)).collect();
            assert!(counts.is_empty() || pixels == expected);
            assert!(!counts.is_empty() || pixels.iter().all(|&pixel| pixel == EMPTY));
        }
    }
}
