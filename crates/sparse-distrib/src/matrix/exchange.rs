//! The plan by which ranks exchange elements of x, and partial sums of Aᵀ·x.

use super::Ownership;
use crate::transport::Transport;
use sparse_core::peer::Segment;
use sparse_core::{Accumulator, Csr, Error, Host, Index, Result, Scalar};
use std::ops::Range;

const OP: &str = "distributed matrix";

/// The elements of x that ranks send to each other before a product: made once, by a [`DistributedMatrix`].
///
/// The *ghosts* of a rank are the elements of x that its rows multiply and other ranks have. Either each rank gets only
/// its ghosts, packed by their owners, or, in an *all-gather*, all elements of the other ranks. An all-gather sends
/// more elements, but needs no list of them; it is taken where its bytes are no more than those of the values and list
/// elements (4 bytes each) of the packed exchange, on all ranks together. For `f64` that is where ghosts are two thirds
/// of x.
///
/// For Aᵀ·x the same elements travel the other way: partial sums, from where they are ghosts to their owner.
///
/// [`DistributedMatrix`]: crate::DistributedMatrix
#[derive(Debug)]
pub struct ExchangePlan {
    sends: Vec<Segment>,
    receives: Vec<Segment>,
    /// The local elements to send, one receiver's after the other; `None` in an all-gather: all, to each receiver.
    packed: Option<Vec<i32>>,
    /// The elements of x that this rank has.
    own: usize,
}

/// The bytes of an element of a list to pack by.
const LIST_BYTES: u128 = size_of::<i32>() as u128;

impl ExchangePlan {
    /// The plan of `rank`, which needs the elements `remote`, ascending; `needs[r][q]` of rank r are those of rank q.
    pub(crate) fn new(
        transport: &impl Transport,
        rows: &Ownership,
        columns: &Ownership,
        needs: &[Vec<u64>],
        remote: &[usize],
        value_bytes: usize,
    ) -> Result<Self> {
        let (rank, ranks) = (transport.rank(), transport.ranks());
        if needs.len() != ranks || needs.iter().any(|counts| counts.len() != ranks) {
            return Err(Error::operands(OP, "ranks told each other the numbers of other elements"));
        }
        if all_gather_pays(rows, columns, needs, value_bytes) {
            return Ok(Self::all_gather(rank, rows, columns));
        }
        let receives = segments(needs[rank].iter().map(|&count| count as usize));
        let sends = segments(needs.iter().map(|counts| counts[rank] as usize));
        let requests = receives.iter().map(|Segment { rank, range }| {
            let start = columns.range(*rank).start;
            let list = remote[range.clone()].iter().map(|column| i32::cast(column - start));
            (*rank, bytemuck::cast_slice(&list.collect::<Vec<i32>>()).to_vec())
        });
        let lists = transport.exchange(requests.collect(), &lengths(&sends, size_of::<i32>()), &mut || ())?;
        let own = columns.range(rank).len();
        let packed = Some(requested(&sends, &lists, own)?);
        Ok(Self { sends, receives, packed, own })
    }

    /// Every element to every other rank that has rows.
    fn all_gather(rank: usize, rows: &Ownership, columns: &Ownership) -> Self {
        let own = columns.range(rank).len();
        let other_ranks = || (0..columns.ranks()).filter(move |&other| other != rank);
        let receivers = other_ranks().filter(|&other| own > 0 && !rows.range(other).is_empty());
        let sends = receivers.map(|rank| Segment { rank, range: 0..own }).collect();
        let counts = (0..columns.ranks()).map(|other| match other == rank || rows.range(rank).is_empty() {
            true => 0,
            false => columns.range(other).len(),
        });
        Self { sends, receives: segments(counts), packed: None, own }
    }

    /// True if ranks send all of their elements.
    pub fn is_all_gather(&self) -> bool {
        self.packed.is_none()
    }

    /// The number of elements that other ranks send to this one for a product.
    pub fn ghosts(&self) -> usize {
        self.receives.last().map_or(0, |segment| segment.range.end)
    }

    /// The ranks that this one sends to for a product, and the number of elements for each.
    pub fn sends(&self) -> impl Iterator<Item = (usize, usize)> {
        self.sends.iter().map(|segment| (segment.rank, segment.range.len()))
    }

    /// The ranks that send to this one for a product, and the number of elements of each.
    pub fn receives(&self) -> impl Iterator<Item = (usize, usize)> {
        self.receives.iter().map(|segment| (segment.rank, segment.range.len()))
    }

    /// The number of elements that this rank sends for a product.
    pub(crate) fn sent(&self) -> usize {
        self.sends().map(|(_, count)| count).sum()
    }

    /// The ghost of a column of the whole matrix, from its position in the list of `remote` columns.
    pub(crate) fn ghost(&self, own: &Range<usize>, column: usize, position: impl Fn() -> usize) -> usize {
        match (self.is_all_gather(), column < own.start) {
            (false, _) => position(),
            (true, true) => column,
            (true, false) => column - own.len(),
        }
    }

    /// The matrix that packs: a row for each packed element, with a one at its place. The identity in an all-gather.
    pub(crate) fn gather_matrix<T: Accumulator, O: Index>(&self) -> Result<Csr<T, Host, i32, O>> {
        let identity = || (0..self.own).map(i32::cast).collect();
        let places: Vec<i32> = self.packed.clone().unwrap_or_else(identity);
        let count = places.len();
        O::try_new("the number of elements to send", count)?;
        Csr::new(count, self.own, (0..=count).map(O::cast).collect(), places, vec![T::one(); count])
    }

    /// The matrix that adds partial sums, in the order of their senders, to the elements of their owner.
    pub(crate) fn scatter_matrix<T: Accumulator, O: Index>(&self) -> Result<Csr<T, Host, i32, O>> {
        let count = self.sent();
        i32::try_new("the number of partial sums", count)?;
        O::try_new("the number of partial sums", count)?;
        let position =
            |k: usize| self.packed.as_ref().map_or_else(|| k % self.own, |list| list[k].as_usize());
        let mut ends = vec![0; self.own + 1];
        (0..count).for_each(|k| ends[position(k) + 1] += 1);
        (0..self.own).for_each(|row| ends[row + 1] += ends[row]);
        let offsets = ends.iter().map(|&end| O::cast(end)).collect();
        let mut sums = vec![0; count];
        for k in 0..count {
            let next = &mut ends[position(k)];
            sums[*next] = i32::cast(k);
            *next += 1;
        }
        Csr::new(self.own, count, offsets, sums, vec![T::one(); count])
    }

    /// The segments of a product with `width` numbers for each element: those that this rank sends, and those that it
    /// receives, one sender's after the other. For Aᵀ·x, `to_owners`, they travel the other way.
    pub(super) fn segments(&self, to_owners: bool, width: usize) -> (Vec<Segment>, Vec<Segment>) {
        let (sends, receives) = match to_owners {
            false => (&self.sends, &self.receives),
            true => (&self.receives, &self.sends),
        };
        let outgoing = sends.iter().map(|Segment { rank, range }| Segment {
            rank: *rank,
            range: range.start * width..range.end * width,
        });
        let mut end = 0;
        let incoming = receives.iter().map(|Segment { rank, range }| {
            let start = end;
            end += range.len() * width;
            Segment { rank: *rank, range: start..end }
        });
        (outgoing.collect(), incoming.collect())
    }
}

/// True if an all-gather takes no more bytes, and its numbers fit `i32`.
fn all_gather_pays(rows: &Ownership, columns: &Ownership, needs: &[Vec<u64>], value_bytes: usize) -> bool {
    let ranks = columns.ranks();
    let sum = |counts: &Vec<u64>| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
    let packed: u128 = needs.iter().map(sum).sum();
    let others = |rank| columns.len() - columns.range(rank).len();
    let all: u128 = (0..ranks).filter(|&r| !rows.range(r).is_empty()).map(|r| others(r) as u128).sum();
    let most = (0..ranks).map(|rank| others(rank).max(columns.range(rank).len().saturating_mul(ranks))).max();
    packed > 0
        && most.is_some_and(|most| most <= i32::MAX as usize)
        && all * value_bytes as u128 <= packed * (value_bytes as u128 + LIST_BYTES)
}

/// The segment of each rank that has elements; segments follow each other in the order of ranks.
fn segments(counts: impl Iterator<Item = usize>) -> Vec<Segment> {
    let mut end = 0;
    let all = counts.enumerate().map(|(rank, count)| {
        let start = end;
        end += count;
        Segment { rank, range: start..end }
    });
    all.filter(|segment| !segment.range.is_empty()).collect()
}

/// The lists that other ranks sent, one after the other, checked.
fn requested(sends: &[Segment], lists: &[Vec<u8>], own: usize) -> Result<Vec<i32>> {
    let mut packed = vec![];
    for (Segment { rank, .. }, list) in sends.iter().zip(lists) {
        let list: Vec<i32> = bytemuck::pod_collect_to_vec(list);
        if let Some(element) = list.iter().find(|element| element.as_usize() >= own) {
            let reason = format!("rank {rank} asks for element {element} of {own} elements");
            return Err(Error::operands(OP, reason));
        }
        packed.extend(list);
    }
    Ok(packed)
}

/// The ranks of segments, each with the bytes of its elements.
fn lengths(segments: &[Segment], element_bytes: usize) -> Vec<(usize, usize)> {
    segments.iter().map(|Segment { rank, range }| (*rank, range.len() * element_bytes)).collect()
}

/// Sends the segments of `elements`, and returns those of `receives`, one sender's after the other.
///
/// A rank that has no elements for an error sends zeros in their place, and reports the reason when ranks agree.
pub(super) fn through_host<T: Scalar>(
    transport: &impl Transport,
    elements: Result<Vec<T>>,
    sends: &[Segment],
    receives: &[Segment],
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<T>> {
    let bytes = |range: &Range<usize>| match &elements {
        Ok(elements) => bytemuck::cast_slice(&elements[range.clone()]).to_vec(),
        Err(_) => vec![0; range.len() * size_of::<T>()],
    };
    let messages = sends.iter().map(|Segment { rank, range }| (*rank, bytes(range))).collect();
    let senders = lengths(receives, size_of::<T>());
    let mut computed = Ok(());
    let messages = transport.exchange(messages, &senders, &mut || computed = meanwhile());
    elements?;
    computed?;
    let mut received = vec![];
    for message in messages? {
        received.extend(bytemuck::pod_collect_to_vec::<u8, T>(&message));
    }
    Ok(received)
}
