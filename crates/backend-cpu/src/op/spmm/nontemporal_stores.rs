//! Stores of vectors that bypass the caches.

use std::arch::x86_64::*;

macro_rules! stream {
    ($name:ident, $bytes:literal bytes, features $features:literal, vector $vector:ty,
     [$zero:ident, $numbers:expr, $set:ident, $add:ident, $pick:ident, $stream:ident, $store:ident]) => {
        /// Writes vectors one after another in whole units of their size that bypass the caches, at any alignment: a
        /// cache line that is not read before it is written moves half as many bytes. Words of a unit outside the
        /// vectors stay.
        ///
        /// If vectors begin `waiting` words behind the beginning of a unit, a unit takes the last `waiting` words of
        /// one vector and the first words of the next.
        pub(super) struct $name {
            /// The next unit to write.
            unit: *mut i32,
            /// Words of `last` that wait for their unit to fill.
            waiting: usize,
            last: $vector,
            /// The words that a unit takes of `last` and of the vector behind it.
            pick: $vector,
            /// The words of the unit that belong to the vectors.
            own: u16,
        }

        impl $name {
            /// 32-bit words of a unit.
            const WORDS: usize = $bytes / 4;

            /// All words of a unit.
            const ALL: u16 = u16::MAX >> (16 - Self::WORDS);

            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn new() -> Self {
                let zero = $zero();
                Self { unit: std::ptr::null_mut(), waiting: 0, last: zero, pick: zero, own: 0 }
            }

            /// Makes the next vector begin at `to`, a multiple of four bytes, and writes the waiting words unless it
            /// ends there.
            ///
            /// # Safety
            /// As for [`Self::write`].
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn seek(&mut self, to: *mut i32) {
                if self.unit.wrapping_add(self.waiting) == to {
                    return;
                }
                // SAFETY: the caller's promise.
                unsafe { self.write_waiting() };
                self.waiting = to.addr() % $bytes / 4;
                self.unit = to.wrapping_sub(self.waiting);
                self.own = Self::ALL << self.waiting & Self::ALL;
                self.pick = $add($numbers, $set((Self::WORDS - self.waiting) as i32));
            }

            /// Writes a vector after the last one, or at the position of [`Self::seek`].
            ///
            /// # Safety
            /// There is memory for it, in the same allocation as for all others, and nothing else accesses it before
            /// [`Self::end`] is called.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn write(&mut self, vector: $vector) {
                let words = $pick(self.last, self.pick, vector);
                // SAFETY: a unit that is wholly the vectors', or only words of it that are; it begins at a multiple of
                // its size.
                unsafe {
                    if self.own == Self::ALL {
                        $stream(self.unit.cast(), words);
                    } else {
                        $store(self.unit, self.own, words);
                    }
                }
                self.own = Self::ALL;
                self.last = vector;
                self.unit = self.unit.wrapping_add(Self::WORDS);
            }

            /// Writes the waiting words, and makes all writes visible to threads that synchronize with the end of the
            /// task.
            ///
            /// # Safety
            /// As for [`Self::write`].
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn end(self) {
                // SAFETY: the caller's promise.
                unsafe {
                    self.write_waiting();
                    _mm_sfence();
                }
            }

            /// # Safety
            /// As for [`Self::write`].
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn write_waiting(&self) {
                if self.waiting == 0 {
                    return;
                }
                let waiting = self.own & !(Self::ALL << self.waiting);
                let words = $pick(self.last, self.pick, self.last);
                // SAFETY: these words are the last vector's, which fits by the caller's promise; others are not
                // written.
                unsafe { $store(self.unit, waiting, words) };
            }
        }
    };
}

stream!(Stream, 64 bytes, features "avx512f", vector __m512i,
    [_mm512_setzero_si512, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32,
     _mm512_add_epi32, _mm512_permutex2var_epi32, _mm512_stream_si512, _mm512_mask_storeu_epi32]);
stream!(HalfStream, 32 bytes, features "avx2", vector __m256i,
    [_mm256_setzero_si256, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32,
     _mm256_add_epi32, pick_of_two, _mm256_stream_si256, store_words]);

/// The words with these numbers among those of two vectors.
#[inline]
#[target_feature(enable = "avx2")]
fn pick_of_two(low: __m256i, numbers: __m256i, high: __m256i) -> __m256i {
    // The permutations look at the last three bits of a number.
    let (low, high) = (_mm256_permutevar8x32_epi32(low, numbers), _mm256_permutevar8x32_epi32(high, numbers));
    _mm256_blendv_epi8(low, high, _mm256_cmpgt_epi32(numbers, _mm256_set1_epi32(7)))
}

/// Stores the words whose bit is set.
///
/// # Safety
/// These words may be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_words(to: *mut i32, bits: u16, words: __m256i) {
    let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let mask = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits.into()), bit), bit);
    // SAFETY: the caller's promise.
    unsafe { _mm256_maskstore_epi32(to, mask, words) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    macro_rules! write_runs {
        ($name:ident, $stream:ident, $features:literal, $load:ident) => {
            /// Writes vectors of these first words, a run of vectors at each of these positions, in units of `WORDS`.
            #[target_feature(enable = $features)]
            fn $name(memory: &mut [i32], runs: &[(usize, usize)]) {
                const WORDS: usize = $stream::WORDS;
                let mut stream = $stream::new();
                let (start, len) = (memory.as_mut_ptr(), memory.len());
                for &(position, vectors) in runs {
                    assert!(position + vectors * WORDS <= len);
                    // SAFETY: the vectors of this run fit.
                    unsafe {
                        stream.seek(start.add(position));
                        for v in 0..vectors {
                            let vector: [i32; WORDS] =
                                std::array::from_fn(|word| (position + v * WORDS + word) as i32);
                            stream.write($load(vector.as_ptr().cast()));
                        }
                    }
                }
                // SAFETY: all is written inside `memory`.
                unsafe { stream.end() };
            }
        };
    }

    write_runs!(write_lines, Stream, "avx512f", _mm512_loadu_si512);
    write_runs!(write_halves, HalfStream, "avx2", _mm256_loadu_si256);

    /// Checks that the elements of `runs`, in units of `words`, are their positions, all others -1.
    fn check(
        words: usize,
        write: unsafe fn(&mut [i32], &[(usize, usize)]),
        start: usize,
        runs: &[(usize, usize)],
    ) {
        let mut memory = vec![-1; start + 200];
        // SAFETY: the caller has asked for the instructions.
        unsafe { write(&mut memory[start..], runs) };
        for (position, &element) in memory[start..].iter().enumerate() {
            let inside = runs.iter().any(|&(first, v)| (first..first + v * words).contains(&position));
            let expected = if inside { position as i32 } else { -1 };
            assert_eq!(element, expected, "{position} from {start}: {runs:?} in units of {words} words");
        }
        assert!(memory[..start].iter().all(|&element| element == -1), "before {start}: {runs:?}");
    }

    #[test]
    fn vectors_are_written_wherever_they_begin_and_nothing_else_is() {
        type Write = unsafe fn(&mut [i32], &[(usize, usize)]);
        let streams: [(Simd, usize, Write); 2] =
            [(Simd::Avx512, Stream::WORDS, write_lines), (Simd::Avx2, HalfStream::WORDS, write_halves)];
        for (simd, words, write) in streams {
            if !simd.is_available() {
                continue;
            }
            for start in 0..2 * words {
                for runs in [
                    &[][..],
                    &[(0, 1)],
                    &[(5, 3)],
                    &[(0, 2), (32, 4)],
                    &[(0, 2), (33, 4), (103, 1), (119, 2)],
                    &[(70, 3), (1, 1), (40, 1)],
                ] {
                    check(words, write, start, runs);
                }
            }
        }
    }
}
