//! Messages that no encoder wrote.

use crate::common::{cases, matrices, partitions};
use crate::properties::{decode, messages};
use crate::suite::matrices::{same, ten_by_eight};
use proptest::prelude::*;
use sparse_core::reference::Reference;
use sparse_core::{Col, Compressed, Csr, Order, Row, f16};
use sparse_distrib::dispatch::compress_tasks;
use sparse_distrib::wire::{bitmap, cfs, dense, ed1, ed2};
use sparse_distrib::{Block, Part, Partition, Scheme};

const FORMATS: [Scheme; 4] = [Scheme::Cfs, Scheme::Ed1, Scheme::Ed2, Scheme::Bitmap];

fn third_part() -> (Part, Csr<f32>) {
    let (matrix, partition) = (ten_by_eight(), Partition::mesh(2, 2).unwrap());
    let blocks = compress_tasks(&Reference, matrix.as_view(), partition).unwrap();
    (partition.part(matrix.shape(), 3), blocks.into_iter().nth(3).unwrap())
}

/// The words of a message of 4-byte words.
fn bytes(words: &[i32]) -> Vec<u8> {
    bytemuck::cast_slice(words).to_vec()
}

fn error<R: std::fmt::Debug>(result: sparse_core::Result<R>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn every_changed_byte_of_ed2_is_an_error() {
    let (part, block) = third_part();
    let message = ed2::encode(&part, &block).unwrap();
    assert_eq!(message.len() % 64, 0);
    for at in 0..message.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = message.clone();
            changed[at] ^= change;
            assert!(ed2::read::<Row, f32, i32, i32>(&changed).is_err(), "byte {at}");
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_changed_byte_of_any_ed2_is_an_error(
        matrix in matrices(), partition in partitions(), at in any::<prop::sample::Index>(), change in 1_u8..,
    ) {
        let blocks: Vec<Block<Col, f32, i32, i64>> =
            compress_tasks(&Reference, matrix.as_view(), partition).unwrap();
        for (part, block) in partition.iter(matrix.shape()).zip(blocks) {
            let mut message = ed2::encode(&part, &block).unwrap();
            let at = at.index(message.len());
            message[at] ^= change;
            prop_assert!(ed2::decode::<Col, f32, i32, i64>(&part, &message).is_err());
        }
    }

    #[test]
    fn a_longer_or_shorter_message_is_an_error(matrix in matrices(), cut in any::<prop::sample::Index>()) {
        let block = Compressed::<Row, f32>::from_dense(matrix.as_view()).unwrap();
        let part = Part::whole(matrix.shape());
        for (format, mut message) in messages(&part, &block) {
            let shorter = message.get(..cut.index(message.len().max(1))).filter(|_| !message.is_empty());
            prop_assert!(shorter.is_none_or(|shorter| decode::<Row>(format, &part, shorter).is_err()), "{}", format);
            message.push(0);
            prop_assert!(decode::<Row>(format, &part, &message).is_err(), "{}", format);
        }
    }

    #[test]
    fn no_message_makes_a_decoder_panic(
        words in prop::collection::vec(prop_oneof![-2_i32..12, any::<i32>()], 0..40),
        (r0, rows, c0, cols) in (0_usize..4, 0_usize..4, 0_usize..4, 0_usize..12),
    ) {
        let part = Part { rows: r0..r0 + rows, cols: c0..c0 + cols };
        for format in FORMATS {
            if let Ok(block) = decode::<Row>(format, &part, &bytes(&words)) {
                let (_, again) = messages(&part, &block).into_iter().find(|message| message.0 == format).unwrap();
                prop_assert_eq!(&again, &bytes(&words), "{}", format);
            }
            let _ = decode::<Col>(format, &part, &bytes(&words));
        }
    }
}

#[test]
fn claims_are_checked_before_they_size_an_allocation() {
    let (part, block) = third_part();
    let huge = i32::MAX;
    // 3.5 billion bytes of entries in a message of some words; rows are 5..10, columns 4..8.
    let reported = error(ed1::decode::<Row, f32, i32, i32>(&part, &bytes(&[huge, 5, 0])));
    assert_eq!(reported, "ed1: byte 4: row 5: 2147483647 entries of 8 bytes cannot follow in 8 bytes");
    let reported = error(cfs::decode::<Row, f32, i32, i32>(&part, &bytes(&[1, 1, 1, 1, 1, huge])));
    assert_eq!(reported, "cfs: byte 24: 0 bytes are left where CO, 2147483646 x 4 bytes, must follow");

    // The same in a header with a valid checksum: nnz is 2^40.
    let mut message = ed2::encode(&part, &block).unwrap();
    message[24..32].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    seal(&mut message);
    let reported = error(ed2::read::<Row, f32, i32, i32>(&message));
    assert_eq!(
        reported,
        "ed2: byte 128: 128 bytes are left where the indices, 1099511627776 x 4 bytes, must follow"
    );
    message[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    seal(&mut message);
    let reported = error(ed2::read::<Row, f32, i32, i32>(&message));
    assert_eq!(
        reported,
        "ed2: columns is 18446744073709551615 from 4 on where an end that fits usize is needed"
    );
}

/// Writes the checksum of a message that was changed on purpose.
fn seal(message: &mut [u8]) {
    message[48..52].fill(0);
    let sum = crc32c::crc32c(message);
    message[48..52].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn errors_say_what_where_and_what_would_be_right() {
    let part = Part { rows: 0..1, cols: 8..16 };
    let one = |global: i32| bytes(&[1, global, 0]);
    let cases = [
        (error(ed1::decode::<Row, f32, i32, i32>(&part, &one(7))), "ed1: row 0: column 7 is not in 8..16"),
        (error(ed1::decode::<Row, f32, i32, i32>(&part, &one(16))), "ed1: row 0: column 16 is not in 8..16"),
        (
            error(ed1::decode::<Row, f32, i32, i32>(&part, &bytes(&[2, 9, 0, 9, 0]))),
            "ed1: rows 0..1, columns 8..16: csr: row 0: column 1 stands twice",
        ),
        (
            error(ed1::decode::<Row, f32, i32, i32>(&part, &bytes(&[0, 0]))),
            "ed1: byte 4: 4 bytes are left behind the last value",
        ),
        (
            error(cfs::decode::<Row, f32, i32, i32>(&part, &bytes(&[0, 0]))),
            "cfs: RO: pointers: row pointer 0 is 0 where 1 is needed",
        ),
        (
            error(cfs::decode::<Row, f32, i32, i32>(&part, &bytes(&[1, 0]))),
            "cfs: RO: pointers: row pointer 1 falls from 1 to 0",
        ),
        (
            error(cfs::decode::<Row, f32, i32, i32>(&part, &bytes(&[1, 3, 12, 11, 0, 0]))),
            "cfs: rows 0..1, columns 8..16: csr: row 0: column 3 stands out of order after 4",
        ),
        (
            error(bitmap::decode::<Row, f32, i32, i32>(
                &Part { rows: 3..4, cols: 0..6 },
                &[0x40, 0, 0, 0, 0],
            )),
            "bitmap: byte 1: row 3: bit 6 is set where only 6 bits are used",
        ),
        (
            error(dense::decode::<f32>(&part, Order::RowMajor, &[0; 31])),
            "sfc: byte 0: 31 bytes are left where the elements, 8 x 4 bytes, must follow",
        ),
        (
            error(ed1::decode::<Row, f16, i32, i32>(&part, &[])),
            "ed1 of f16 is not supported: values must fill words of 4 bytes; use ed2",
        ),
    ];
    for (reported, expected) in cases {
        assert_eq!(reported, expected);
    }
}

#[test]
fn ed2_tells_another_type_orientation_and_part() {
    let (part, block) = third_part();
    let message = ed2::encode(&part, &block).unwrap();
    assert!(same(&ed2::decode(&part, &message).unwrap(), &block));
    let reported = error(ed2::decode::<Row, f64, i32, i32>(&part, &message));
    assert_eq!(reported, "ed2: byte 6: the type of values is 3 where 4 (f64) is needed");
    let reported = error(ed2::decode::<Col, f32, i32, i32>(&part, &message));
    assert_eq!(reported, "ed2: byte 5: the orientation is 0 where 1 (csc) is needed");
    let reported = error(ed2::decode::<Row, f32, i64, i32>(&part, &message));
    assert_eq!(reported, "ed2: byte 7: the bytes of an index is 4 where 8 (i64) is needed");
    let reported = error(ed2::decode::<Row, f32, i32, i32>(&Part { rows: 0..5, cols: 4..8 }, &message));
    assert_eq!(reported, "ed2: the header names rows 5..10 and columns 4..8 where 0..5 and 4..8 are needed");
    let reported = error(ed2::read::<Row, f32, i32, i32>(b"SPEC"));
    assert_eq!(reported, "ed2: the length is 4 where at least 64 bytes is needed");
}

#[test]
fn encoders_refuse_blocks_of_another_shape_or_order() {
    let part = Part { rows: 0..1, cols: 0..3 };
    let unsorted = Csr::<f32>::new_unsorted(1, 3, vec![0, 2], vec![2, 0], vec![1.0, 5.0]).unwrap();
    let wider = Csr::<f32>::zeros(1, 4).unwrap();
    for encode in [cfs::encode::<Row, f32, i32, i32>, ed1::encode, ed2::encode, bitmap::encode] {
        assert!(error(encode(&part, &unsorted)).contains("must ascend"));
        assert!(error(encode(&part, &wider)).contains("shape (1, 4) where (1, 3)"));
    }
    // An index of the whole matrix that i32 does not hold.
    let beyond = Part { rows: 0..1, cols: 1 << 31..(1 << 31) + 3 };
    assert!(error(ed2::encode(&beyond, &Csr::<f32>::zeros(1, 3).unwrap())).contains("does not fit i32"));
}
