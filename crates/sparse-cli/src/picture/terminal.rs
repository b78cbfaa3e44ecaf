//! Text: braille characters, of two by four dots each, in a frame.

use super::Raster;
use std::iter::once;

/// Dots across and down of a character.
const CELL: (usize, usize) = (2, 4);

/// The bits of the dots of a braille character, by (across, down), as Unicode numbers them from U+2800.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// A dot for every bin that has entries.
pub(crate) fn draw(raster: &Raster) -> String {
    let (columns, lines) = (raster.width.div_ceil(CELL.0), raster.height.div_ceil(CELL.1));
    let edge = "─".repeat(columns);
    let line = |y: usize| format!("│{}│", (0..columns).map(|x| character(raster, x, y)).collect::<String>());
    let drawn = once(format!("┌{edge}┐")).chain((0..lines).map(line)).chain(once(format!("└{edge}┘")));
    drawn.collect::<Vec<_>>().join("\n")
}

fn character(raster: &Raster, column: usize, line: usize) -> char {
    let mut bits = 0;
    for (dx, dots) in DOTS.iter().enumerate() {
        for (dy, dot) in dots.iter().enumerate() {
            let (x, y) = (column * CELL.0 + dx, line * CELL.1 + dy);
            if x < raster.width && y < raster.height && raster.count(x, y) > 0 {
                bits |= dot;
            }
        }
    }
    char::from_u32(0x2800 + bits).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnz::Csr;

    #[test]
    fn a_diagonal_is_drawn_dot_by_dot() {
        let raster = Raster::of_csr(Csr::identity(5).unwrap(), 100);
        assert_eq!(draw(&raster), "┌───┐\n│⠑⢄⠀│\n│⠀⠀⠁│\n└───┘");
    }
}
