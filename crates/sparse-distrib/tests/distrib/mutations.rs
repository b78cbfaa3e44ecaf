//! Sound messages with something changed: an error or a sound matrix, and no memory beyond what the message justifies.

use crate::allocations::largest_allocation;
use crate::common::{cases, matrices, partitions};
use crate::properties::{decode, messages};
use proptest::prelude::*;
use proptest::sample::Index as Position;
use sparse_core::{Axis, Col, Compressed, Dense, Order, Row};
use sparse_distrib::dispatch::compress_tasks;
use sparse_distrib::wire::dense;
use sparse_distrib::{Part, Partition, Scheme};

/// A change to the bytes of a message.
#[derive(Debug, Clone)]
enum Mutation {
    /// One byte becomes another.
    Set(Position, u8),
    /// A word of four bytes becomes another, in place of one at a multiple of four.
    SetWord(Position, i32),
    /// Bytes are left out.
    Remove(Position, usize),
    /// Bytes are put in.
    Insert(Position, Vec<u8>),
    /// Bytes are copied from one position over those at another.
    Copy(Position, Position, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let position = any::<Position>;
    let word = prop_oneof![-2_i32..20, any::<i32>(), Just(i32::MAX), Just(i32::MIN)];
    prop_oneof![
        (position(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (position(), word).prop_map(|(at, word)| Mutation::SetWord(at, word)),
        (position(), 1_usize..9).prop_map(|(at, len)| Mutation::Remove(at, len)),
        (position(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (position(), position(), 1_usize..17).prop_map(|(from, to, len)| Mutation::Copy(from, to, len)),
    ]
}

fn mutate(message: &mut Vec<u8>, mutation: &Mutation) {
    let len = message.len();
    if len == 0 {
        return;
    }
    match mutation {
        Mutation::Set(at, byte) => message[at.index(len)] = *byte,
        Mutation::SetWord(at, word) => {
            let start = at.index(len) / 4 * 4;
            let end = (start + 4).min(len);
            message[start..end].copy_from_slice(&word.to_le_bytes()[..end - start]);
        }
        Mutation::Remove(at, count) => {
            let start = at.index(len);
            message.drain(start..(start + count).min(len));
        }
        Mutation::Insert(at, bytes) => {
            let start = at.index(len);
            message.splice(start..start, bytes.iter().copied());
        }
        Mutation::Copy(from, to, count) => {
            let (from, to) = (from.index(len), to.index(len));
            let count = (*count).min(len - from).min(len - to);
            message.copy_within(from..from + count, to);
        }
    }
}

/// The most bytes that one allocation may have: indices of 4 bytes for values of 4, vectors that grow by doubling,
/// offsets of 4 bytes for the part's `lines` rows or columns, and the text of an error.
fn limit(message: &[u8], lines: usize) -> usize {
    4 * message.len() + 8 * (lines + 1) + 1024
}

/// Decodes a changed message. What comes out was checked by its constructor; here it is encoded again.
fn check_decoding<A: Axis>(format: Scheme, part: &Part, message: &[u8]) {
    let (decoded, largest) = largest_allocation(|| decode::<A>(format, part, message));
    let lines = part.major_minor::<A>().0.len();
    assert!(largest <= limit(message, lines), "{format}: {largest} bytes for a message of {}", message.len());
    let Ok(block) = decoded else { return };
    let (rows, cols) = part.shape();
    let (offsets, indices, values) = block.clone().into_parts();
    Compressed::<A, f32>::new(rows, cols, offsets, indices, values).unwrap();
    let (_, again) = messages(part, &block).into_iter().find(|again| again.0 == format).unwrap();
    assert_eq!(again, message, "{format}: a matrix has one message");
}

fn check_mutations<A: Axis>(matrix: &Dense<f32>, partition: Partition, mutations: &[Mutation]) {
    let blocks: Vec<Compressed<A, f32>> =
        compress_tasks(&sparse_core::reference::Reference, matrix.as_view(), partition).unwrap();
    for (part, block) in partition.iter(matrix.shape()).zip(&blocks) {
        for (format, mut message) in messages(&part, block) {
            mutations.iter().for_each(|mutation| mutate(&mut message, mutation));
            check_decoding::<A>(format, &part, &message);
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_changed_message_is_an_error_or_a_sound_matrix(
        matrix in matrices(), partition in partitions(), mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        check_mutations::<Row>(&matrix, partition, &mutations);
        check_mutations::<Col>(&matrix, partition, &mutations);
    }

    #[test]
    fn a_changed_dense_message_is_an_error_or_its_elements(
        matrix in matrices(), mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let part = Part::whole(matrix.shape());
        let sound = dense::encode(matrix.as_view());
        let mut message = sound.clone();
        mutations.iter().for_each(|mutation| mutate(&mut message, mutation));
        for order in [Order::RowMajor, Order::ColMajor] {
            let (decoded, largest) = largest_allocation(|| dense::decode::<f32>(&part, order, &message));
            prop_assert!(largest <= limit(&message, 0));
            prop_assert_eq!(decoded.is_ok(), message.len() == sound.len());
            if let Ok(decoded) = decoded {
                prop_assert_eq!(dense::encode(decoded.as_view()), message.clone());
            }
        }
    }
}

#[test]
fn bits_without_values_size_no_allocation() {
    // 2^20 bits in 2^17 bytes would be 4 MiB of indices.
    let part = Part { rows: 0..1, cols: 0..1 << 20 };
    check_decoding::<Row>(Scheme::Bitmap, &part, &[0xff; 1 << 17]);
    let part = Part { rows: 0..1 << 10, cols: 0..1 << 10 };
    check_decoding::<Col>(Scheme::Bitmap, &part, &[0xff; 1 << 17]);
}
