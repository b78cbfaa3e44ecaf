//! Several sources as one.

use super::{DeviceMatrices, Source};
use crate::partition::Part;
use sparse_core::{Order, Result, Scalar};
use std::fmt::{Debug, Formatter};
use std::ops::Range;

/// The matrices of several sources, one source after the other.
///
/// ```
/// use sparse_core::DenseView;
/// use sparse_distrib::{Generated, Source, SourceChain};
///
/// let first = vec![DenseView::row_major(&[1.0, 2.0], 1, 2)?];
/// let second = Generated::new(vec![(2, 2); 3], |item, elements: &mut [f64]| {
///     elements.fill(item as f64);
///     Ok(())
/// });
/// let both = SourceChain::new(vec![&first, &second]);
/// assert_eq!((both.len(), both.shape(0), both.shape(3)), (4, (1, 2), (2, 2)));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Clone)]
pub struct SourceChain<'a, T: Scalar> {
    sources: Vec<&'a dyn Source<T>>,
    /// The first matrix of each source, and the number of all.
    starts: Vec<usize>,
}

impl<'a, T: Scalar> SourceChain<'a, T> {
    /// All matrices of these sources.
    pub fn new(sources: Vec<&'a dyn Source<T>>) -> Self {
        let mut starts = vec![0];
        starts.extend(sources.iter().scan(0, |end, source| {
            *end += source.len();
            Some(*end)
        }));
        Self { sources, starts }
    }

    /// The source of a matrix, and its position there.
    fn find(&self, item: usize) -> (&'a dyn Source<T>, usize) {
        let source = self.starts.partition_point(|&start| start <= item) - 1;
        (self.sources[source], item - self.starts[source])
    }

    /// The source of neighbouring matrices, and their positions there; none of several sources' or of no matrices.
    fn find_all(&self, items: Range<usize>) -> Option<(&'a dyn Source<T>, Range<usize>)> {
        let source = self.starts.partition_point(|&start| start <= items.start) - 1;
        let (start, end) = (self.starts[source], *self.starts.get(source + 1)?);
        let is_within = !items.is_empty() && items.end <= end;
        is_within.then(|| (self.sources[source], items.start - start..items.end - start))
    }
}

impl<T: Scalar> Debug for SourceChain<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceChain").field("starts", &self.starts).finish_non_exhaustive()
    }
}

impl<T: Scalar> Source<T> for SourceChain<'_, T> {
    fn len(&self) -> usize {
        self.starts[self.sources.len()]
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        let (source, item) = self.find(item);
        source.shape(item)
    }

    fn order(&self, item: usize) -> Order {
        let (source, item) = self.find(item);
        source.order(item)
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        let (source, item) = self.find(item);
        source.fill(item, elements)
    }

    fn lend(&self, items: Range<usize>) -> Option<&[T]> {
        let (source, items) = self.find_all(items)?;
        source.lend(items)
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        let (source, item) = self.find(item);
        source.fill_part(item, part, elements)
    }

    fn is_divisible(&self, item: usize) -> bool {
        let (source, item) = self.find(item);
        source.is_divisible(item)
    }

    fn on_device(&self, items: Range<usize>) -> Option<DeviceMatrices<'_>> {
        let (source, items) = self.find_all(items)?;
        source.on_device(items)
    }
}
