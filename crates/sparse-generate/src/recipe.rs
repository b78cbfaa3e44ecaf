//! Graphs from row lengths and a choice of columns.

use super::alias::Alias;
use super::degree::{Law, RowLengths};
use super::random::{Seed, Stream};
use super::uniform::{distinct, fill_distinct};
use sparse_core::backend::zeroed_vec;
use sparse_core::error::{Error, Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::index::Index;
use sparse_core::scalar::Scalar;
use std::ops::Range;

/// The weight of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weight {
    /// A column weighs as much as its row is long (Chung and Lu 2002).
    RowLength,
    /// Weights `exp(sigma·z)` with a standard normal `z`.
    LogNormal {
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// The `k`-th column before the shuffle weighs `k^−exponent`.
    Zipf {
        /// The exponent.
        exponent: f64,
    },
}

/// The distribution of the columns of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Columns {
    /// By weight: with probability `inside` among the row's own community, otherwise among all columns. Communities
    /// are runs of equal length before the labels are shuffled.
    Weighted {
        /// The weights.
        weight: Weight,
        /// The number of communities.
        communities: usize,
        /// The probability that a draw stays in the row's community.
        inside: f64,
    },
    /// Uniformly from a window around the diagonal, four times as wide as the row is long, within one of
    /// `blocks` equal diagonal blocks. A row longer than its block may leave it.
    Near {
        /// The number of diagonal blocks.
        blocks: usize,
    },
}

/// A random graph: row lengths, a choice of columns, and random labels if wanted.
///
/// Values are odd multiples of 1/128 in (−1, 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe<'a> {
    /// The lengths of the rows.
    pub lengths: RowLengths<'a>,
    /// The choice of columns.
    pub columns: Columns,
    /// `None`: columns are unique in a row. `Some(p)`: they may repeat, and an entry copies the column of an earlier
    /// one of its row with probability `p`. Rows of [`Columns::Near`] are always unique.
    pub repeats: Option<f64>,
    /// True if rows and columns get random labels, the same for both.
    pub shuffled: bool,
    /// The seed.
    pub seed: u64,
}

impl Recipe<'_> {
    /// The matrix, `divisor` times smaller than the recipe says (see [`RowLengths`]); 1 for the whole.
    ///
    /// ```
    /// use sparse_core::SparseFormat;
    /// use sparse_generate::stand_in;
    ///
    /// let arxiv = stand_in::find("arxiv")?.recipe; // 169 343 rows
    /// let a = arxiv.generate::<f32>(16)?;
    /// assert_eq!((a.nrows(), a.nnz()), (169_343 / 16, 1_166_243 / 16));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the row lengths cannot have the sum `nnz`, as happens to dense graphs that are
    /// divided; [`Error::IndexOverflow`] if rows or entries do not fit `i32`.
    pub fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let graph = self.prepare(divisor)?;
        let row_ptr = graph.row_ptr();
        let nnz = graph.lengths.iter().map(|&length| length as usize).sum();
        let (mut col_idx, mut values) = (zeroed_vec(nnz)?, zeroed_vec(nnz)?);
        graph.draw(0..graph.nrows(), &mut col_idx, &mut values);
        Csr::new_unsorted(graph.nrows(), graph.nrows(), row_ptr, col_idx, values)
    }

    /// The common data of the rows of [`generate`](Self::generate)'s matrix, for drawing rows on several threads.
    ///
    /// ```
    /// use sparse_generate::stand_in;
    ///
    /// let graph = stand_in::find("collab")?.recipe.prepare(100)?;
    /// let row_ptr = graph.row_ptr();
    /// let middle = graph.nrows() / 2..graph.nrows(); // these rows alone
    /// let nnz = (row_ptr[middle.end] - row_ptr[middle.start]) as usize;
    /// let (mut col_idx, mut values) = (vec![0; nnz], vec![0.0_f64; nnz]);
    /// graph.draw(middle, &mut col_idx, &mut values);
    /// assert!(values.iter().all(|&value| value != 0.0));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`generate`](Self::generate).
    pub fn prepare(&self, divisor: usize) -> Result<Graph> {
        if divisor == 0 {
            return Err(Error::unsupported("a graph divided by 0", "the divisor must be at least 1"));
        }
        let (n, nnz) = self.lengths.size(divisor);
        i32::try_new("rows", n)?;
        i32::try_new("nnz", nnz)?;
        Graph::new(self, divisor)
    }
}

/// Uses of randomness apart from the rows.
mod purpose {
    pub(super) const LENGTHS: u64 = 0;
    pub(super) const WEIGHTS: u64 = 1;
    pub(super) const LABELS: u64 = 2;
}

/// The common data of the rows of a graph. Rows can be drawn in any order, and several at a time.
#[derive(Debug)]
pub struct Graph {
    lengths: Vec<u32>,
    picker: Picker,
    repeats: Option<f64>,
    /// The vertex of each label.
    vertex: Vec<u32>,
    /// The label of each vertex.
    label: Vec<u32>,
    seed: Seed,
}

impl Graph {
    fn new(recipe: &Recipe<'_>, divisor: usize) -> Result<Self> {
        let seed = Seed::new(recipe.seed);
        let lengths = recipe.lengths.draw(divisor, &mut seed.purpose(purpose::LENGTHS))?;
        let picker = Picker::new(recipe.columns, &lengths, divisor, &mut seed.purpose(purpose::WEIGHTS));
        let mut vertex: Vec<u32> = (0..lengths.len() as u32).collect();
        if recipe.shuffled {
            seed.purpose(purpose::LABELS).shuffle(&mut vertex);
        }
        let mut label = vec![0; vertex.len()];
        for (new, &old) in vertex.iter().enumerate() {
            label[old as usize] = new as u32;
        }
        Ok(Self { lengths, picker, repeats: recipe.repeats, vertex, label, seed })
    }

    /// The number of rows, and of columns.
    pub fn nrows(&self) -> usize {
        self.vertex.len()
    }

    /// The offsets of the rows: one more than there are rows, from 0 to the number of entries.
    pub fn row_ptr(&self) -> Vec<i32> {
        let lengths = self.vertex.iter().map(|&vertex| self.lengths[vertex as usize] as i32);
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Draws the entries of a range of rows, one row after another, into slices that are long enough for them.
    pub fn draw<T: Scalar>(&self, rows: Range<usize>, col_idx: &mut [i32], values: &mut [T]) {
        let mut places = col_idx.iter_mut().zip(values);
        let mut columns = vec![];
        for row in rows {
            let mut stream = self.draw_row(row, &mut columns);
            for (&col, (place, value)) in columns.iter().zip(&mut places) {
                *place = col as i32;
                *value = stream.fraction();
            }
        }
    }

    /// Fills `out` with the columns of a row, ascending; gives the row's stream for its values.
    fn draw_row(&self, row: usize, out: &mut Vec<u32>) -> Stream {
        let mut stream = self.seed.row(row);
        let vertex = self.vertex[row] as usize;
        let length = self.lengths[vertex] as usize;
        match &self.picker {
            Picker::Near { block } => near(vertex, length, self.label.len(), *block, out, &mut stream),
            Picker::Weighted(weighted) => self.draw_weighted(weighted, vertex, length, out, &mut stream),
        }
        stream
    }

    fn draw_weighted(
        &self,
        weighted: &Weighted,
        vertex: usize,
        length: usize,
        out: &mut Vec<u32>,
        stream: &mut Stream,
    ) {
        let Some(repeats) = self.repeats else {
            return fill_distinct(length, out, |round| {
                let uniform = round >= Weighted::ROUNDS;
                let col = if uniform {
                    stream.below(self.label.len()) as u32
                } else {
                    weighted.draw(vertex, stream)
                };
                self.label[col as usize]
            });
        };
        out.clear();
        for k in 0..length {
            let again = k > 0 && stream.chance(repeats);
            let col =
                if again { out[stream.below(k)] } else { self.label[weighted.draw(vertex, stream) as usize] };
            out.push(col);
        }
        out.sort_unstable();
    }
}

/// Fills `out` with `length` columns near the diagonal, within the diagonal block (of `block` rows) of `vertex`.
fn near(vertex: usize, length: usize, n: usize, block: usize, out: &mut Vec<u32>, stream: &mut Stream) {
    let block = segment(vertex, block, n);
    let allowed = if length <= block.len() { block } else { 0..n };
    let width = (4 * length).min(allowed.len());
    let start = vertex.saturating_sub(width / 2).clamp(allowed.start, allowed.end - width);
    distinct(length, width, out, stream);
    out.iter_mut().for_each(|col| *col += start as u32);
}

/// The run of `length` positions, below `n`, around `position`.
fn segment(position: usize, length: usize, n: usize) -> Range<usize> {
    let start = position / length * length;
    start..n.min(start + length)
}

/// [`Columns`] prepared for drawing.
#[derive(Debug)]
enum Picker {
    Near { block: usize },
    Weighted(Weighted),
}

impl Picker {
    fn new(columns: Columns, lengths: &[u32], divisor: usize, stream: &mut Stream) -> Self {
        let n = lengths.len();
        let part = |parts: usize| n.div_ceil(parts.div_ceil(divisor).max(1)).max(1);
        match columns {
            Columns::Near { blocks } => Self::Near { block: part(blocks) },
            Columns::Weighted { weight, communities, inside } => {
                let weights = weights(weight, lengths, stream);
                let size = part(communities);
                let local =
                    (communities > 1).then(|| Local { alias: Alias::new(&weights, size), size, inside });
                Self::Weighted(Weighted { all: Alias::new(&weights, n), local, n })
            }
        }
    }
}

fn weights(weight: Weight, lengths: &[u32], stream: &mut Stream) -> Vec<f64> {
    match weight {
        Weight::RowLength => lengths.iter().map(|&length| f64::from(length)).collect(),
        Weight::LogNormal { sigma } => lengths.iter().map(|_| libm::exp(sigma * stream.normal())).collect(),
        Weight::Zipf { exponent } => (1..=lengths.len()).map(|k| libm::pow(k as f64, -exponent)).collect(),
    }
}

#[derive(Debug)]
struct Weighted {
    all: Alias,
    local: Option<Local>,
    n: usize,
}

#[derive(Debug)]
struct Local {
    alias: Alias,
    size: usize,
    inside: f64,
}

impl Weighted {
    /// Rounds of draws by weight before missing columns are drawn uniformly: a long row may have taken all heavy
    /// columns.
    const ROUNDS: usize = 8;

    #[inline]
    fn draw(&self, vertex: usize, stream: &mut Stream) -> u32 {
        match &self.local {
            Some(local) if stream.chance(local.inside) => {
                local.alias.draw(segment(vertex, local.size, self.n), stream)
            }
            _ => self.all.draw(0..self.n, stream),
        }
    }
}

/// A graph of `n` vertices and `n·average` edges whose row lengths follow a power law, with columns by Chung and Lu
/// (2002): each is drawn with a probability proportional to its own row's length.
///
/// Row lengths have the density `x^−exponent`, from 1 to `longest` (at most 3/5 of `n`), which one row has, and are
/// scaled to the exact number of edges. Columns are unique in a row; values are odd multiples of 1/128 in (−1, 1).
///
/// ```
/// use sparse_core::SparseFormat;
///
/// let a = sparse_generate::power_law::<f64>(1000, 5, 2.1, 300, 42)?;
/// assert_eq!((a.nrows(), a.nnz()), (1000, 5000));
/// assert_eq!(a.row_lengths().into_iter().max(), Some(300));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] unless the exponent is above 1 and finite and `average` is from 1 to what `longest` allows;
/// [`Error::IndexOverflow`] if vertices or edges do not fit `i32`.
pub fn power_law<T: Scalar>(
    n: usize,
    average: usize,
    exponent: f64,
    longest: usize,
    seed: u64,
) -> Result<Csr<T>> {
    if !(exponent > 1.0 && exponent.is_finite()) {
        let what = format_args!("a power law of exponent {exponent}");
        return Err(Error::unsupported(what, "the exponent must be above 1 and finite"));
    }
    let nnz = checked_product("n x average", n, average)?;
    let law = Law::PowerLaw { exponent };
    let lengths = RowLengths { n, nnz, longest, tails: &[], law, least: 1, most: longest };
    let columns = Columns::Weighted { weight: Weight::RowLength, communities: 1, inside: 0.0 };
    Recipe { lengths, columns, repeats: None, shuffled: true, seed }.generate(1)
}
