//! Stores of vectors that bypass the caches.

use crate::simd::LINE;
use std::arch::x86_64::*;

/// 32-bit words of a vector, and of a cache line.
const WORDS: usize = LINE / 4;

/// Writes vectors one after another in whole cache lines that bypass the caches, at any alignment: a line that is not
/// read before it is written moves half as many bytes. Words of a line outside the vectors stay.
///
/// If vectors begin `waiting` words behind the beginning of a line, a line takes the last `waiting` words of one vector
/// and the first words of the next.
pub(super) struct Stream {
    /// The next line to write.
    line: *mut i32,
    /// Words of `last` that wait for their line to fill.
    waiting: usize,
    last: __m512i,
    /// The words that a line takes of `last` and of the vector behind it.
    pick: __m512i,
    /// The words of the line that belong to the vectors.
    own: __mmask16,
}

impl Stream {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Self {
        let zero = _mm512_setzero_si512();
        Self { line: std::ptr::null_mut(), waiting: 0, last: zero, pick: zero, own: 0 }
    }

    /// Makes the next vector begin at `to`, a multiple of four bytes, and writes the waiting words unless it ends
    /// there.
    ///
    /// # Safety
    /// As for [`Self::write`].
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn seek(&mut self, to: *mut i32) {
        if self.line.wrapping_add(self.waiting) == to {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { self.write_waiting() };
        self.waiting = to.addr() % LINE / 4;
        self.line = to.wrapping_sub(self.waiting);
        self.own = !0 << self.waiting;
        let words = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        self.pick = _mm512_add_epi32(words, _mm512_set1_epi32((WORDS - self.waiting) as i32));
    }

    /// Writes a vector after the last one, or at the position of [`Self::seek`].
    ///
    /// # Safety
    /// There is memory for it, in the same allocation as for all others, and nothing else accesses it before
    /// [`Self::end`] is called.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn write(&mut self, vector: __m512i) {
        let words = _mm512_permutex2var_epi32(self.last, self.pick, vector);
        // SAFETY: a line that is wholly the vectors', or only words of it that are; it begins at a multiple of its
        // size.
        unsafe {
            if self.own == !0 {
                _mm512_stream_si512(self.line.cast(), words);
            } else {
                _mm512_mask_storeu_epi32(self.line, self.own, words);
            }
        }
        self.own = !0;
        self.last = vector;
        self.line = self.line.wrapping_add(WORDS);
    }

    /// Writes the waiting words, and makes all writes visible to threads that synchronize with the end of the task.
    ///
    /// # Safety
    /// As for [`Self::write`].
    #[inline]
    #[target_feature(enable = "avx512f")]
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
    #[target_feature(enable = "avx512f")]
    unsafe fn write_waiting(&self) {
        if self.waiting == 0 {
            return;
        }
        let waiting = self.own & !(!0 << self.waiting);
        let words = _mm512_permutex2var_epi32(self.last, self.pick, self.last);
        // SAFETY: these words are the last vector's, which fits by the caller's promise; others are not written.
        unsafe { _mm512_mask_storeu_epi32(self.line, waiting, words) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simd;

    /// Writes vectors of these first words, a run of vectors at each of these positions.
    #[target_feature(enable = "avx512f")]
    fn stream(memory: &mut [i32], runs: &[(usize, usize)]) {
        let mut stream = Stream::new();
        let (start, len) = (memory.as_mut_ptr(), memory.len());
        for &(position, vectors) in runs {
            assert!(position + vectors * WORDS <= len);
            // SAFETY: the vectors of this run fit.
            unsafe {
                stream.seek(start.add(position));
                for v in 0..vectors {
                    let vector: [i32; WORDS] =
                        std::array::from_fn(|word| (position + v * WORDS + word) as i32);
                    stream.write(_mm512_loadu_si512(vector.as_ptr().cast()));
                }
            }
        }
        // SAFETY: all is written inside `memory`.
        unsafe { stream.end() };
    }

    /// Checks that the elements of `runs` are their positions, all others -1.
    fn check(start: usize, runs: &[(usize, usize)]) {
        let mut memory = vec![-1; start + 200];
        // SAFETY: the caller has asked for the instructions.
        unsafe { stream(&mut memory[start..], runs) };
        for (position, &element) in memory[start..].iter().enumerate() {
            let inside = runs.iter().any(|&(first, v)| (first..first + v * WORDS).contains(&position));
            assert_eq!(
                element,
                if inside { position as i32 } else { -1 },
                "{position} from {start}: {runs:?}"
            );
        }
        assert!(memory[..start].iter().all(|&element| element == -1), "before {start}: {runs:?}");
    }

    #[test]
    fn vectors_are_written_wherever_they_begin_and_nothing_else_is() {
        if !Simd::Avx512.is_available() {
            return;
        }
        for start in 0..2 * WORDS {
            check(start, &[]);
            check(start, &[(0, 1)]);
            check(start, &[(5, 3)]);
            check(start, &[(0, 2), (32, 4)]);
            check(start, &[(0, 2), (33, 4), (103, 1), (119, 2)]);
            check(start, &[(70, 3), (1, 1), (40, 1)]);
        }
    }
}
