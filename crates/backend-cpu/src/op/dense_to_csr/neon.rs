//! Bits with NEON, which has no compress-store: packing is portable.

use super::WORD;
use crate::Simd;
use sparse_core::op::Keep;
use sparse_core::{DType, Index, Scalar};
use std::arch::aarch64::*;

/// Sets the bits of the elements to keep, for as many whole words as there is code for, and returns the number of
/// words.
pub(super) fn set_bits<T: Scalar>(simd: Simd, keep: Keep<T>, line: &[T], bits: &mut [u64]) -> usize {
    if simd != Simd::Neon {
        return 0;
    }
    let whole = line.len() / WORD;
    let (line, bits) = (&line[..whole * WORD], &mut bits[..whole]);
    let tolerance = match keep {
        Keep::NonZero => None,
        Keep::Above(tolerance) => Some(tolerance.to_c64().re),
    };
    // SAFETY: a `Cpu` is only made with an instruction set that the processor has.
    unsafe {
        match (T::DTYPE, tolerance) {
            (DType::F32, None) => nonzero_f32(bytemuck::cast_slice(line), bits),
            (DType::F64, None) => nonzero_f64(bytemuck::cast_slice(line), bits),
            (DType::F32, Some(tolerance)) => above_f32(bytemuck::cast_slice(line), bits, tolerance as f32),
            (DType::F64, Some(tolerance)) => above_f64(bytemuck::cast_slice(line), bits, tolerance),
            _ => return 0,
        }
    }
    whole
}

/// Packs nothing.
pub(super) fn pack<T: Scalar, I: Index>(
    _: Simd,
    _: &[u64],
    _: &[T],
    _: &mut [I],
    _: &mut [T],
) -> Option<usize> {
    None
}

#[target_feature(enable = "neon")]
fn nonzero_f32(line: &[u32], bits: &mut [u64]) {
    let magnitude = vdupq_n_u32(i32::MAX as u32);
    words_4(line, bits, |vector| vtstq_u32(vector, magnitude));
}

#[target_feature(enable = "neon")]
fn nonzero_f64(line: &[u64], bits: &mut [u64]) {
    let magnitude = vdupq_n_u64(i64::MAX as u64);
    words_8(line, bits, |vector| vtstq_u64(vector, magnitude));
}

#[target_feature(enable = "neon")]
fn above_f32(line: &[u32], bits: &mut [u64], tolerance: f32) {
    let tolerance = vdupq_n_f32(tolerance);
    words_4(line, bits, |vector| vmvnq_u32(vcleq_f32(vabsq_f32(vreinterpretq_f32_u32(vector)), tolerance)));
}

#[target_feature(enable = "neon")]
fn above_f64(line: &[u64], bits: &mut [u64], tolerance: f64) {
    let tolerance = vdupq_n_f64(tolerance);
    words_8(line, bits, |vector| {
        let dropped = vcleq_f64(vabsq_f64(vreinterpretq_f64_u64(vector)), tolerance);
        vreinterpretq_u64_u32(vmvnq_u32(vreinterpretq_u32_u64(dropped)))
    });
}

/// The bits of each word; `kept` sets the lanes of elements to keep.
#[inline]
#[target_feature(enable = "neon")]
fn words_4(line: &[u32], bits: &mut [u64], kept: impl Fn(uint32x4_t) -> uint32x4_t) {
    for (word, elements) in bits.iter_mut().zip(line.as_chunks::<WORD>().0) {
        *word = bits_of_bytes(|sixteen| {
            let pair = |first: usize| {
                let vector = |at: usize| {
                    let elements = &elements[sixteen * 16 + first + at..][..4];
                    // SAFETY: the slice has four elements.
                    vmovn_u32(kept(unsafe { vld1q_u32(elements.as_ptr()) }))
                };
                vmovn_u16(vcombine_u16(vector(0), vector(4)))
            };
            vcombine_u8(pair(0), pair(8))
        });
    }
}

/// As for [`words_4`].
#[inline]
#[target_feature(enable = "neon")]
fn words_8(line: &[u64], bits: &mut [u64], kept: impl Fn(uint64x2_t) -> uint64x2_t) {
    for (word, elements) in bits.iter_mut().zip(line.as_chunks::<WORD>().0) {
        *word = bits_of_bytes(|sixteen| {
            let four = |first: usize| {
                let vector = |at: usize| {
                    let elements = &elements[sixteen * 16 + first + at..][..2];
                    // SAFETY: the slice has two elements.
                    vmovn_u64(kept(unsafe { vld1q_u64(elements.as_ptr()) }))
                };
                vmovn_u32(vcombine_u32(vector(0), vector(2)))
            };
            let eight = |first: usize| vmovn_u16(vcombine_u16(four(first), four(first + 4)));
            vcombine_u8(eight(0), eight(8))
        });
    }
}

/// One bit for each of 64 bytes that are all ones or zeros, 16 at a time: each is masked to the bit of its position
/// among eight, and neighbours are added.
#[inline]
#[target_feature(enable = "neon")]
fn bits_of_bytes(sixteen: impl Fn(usize) -> uint8x16_t) -> u64 {
    let places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let bits = |k| vandq_u8(sixteen(k), places);
    let (low, high) = (vpaddq_u8(bits(0), bits(1)), vpaddq_u8(bits(2), bits(3)));
    let sums = vpaddq_u8(low, high);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
}
