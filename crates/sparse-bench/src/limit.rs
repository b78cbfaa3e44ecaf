//! The limits of the processor, measured by kernels without structure.

use crate::measure::{Contender, Rounds, interleave};
use crate::value::Value;
use anyhow::Result;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

/// Elements of four bytes in a line of the caches.
const LINE: usize = 16;

/// The processor's threads.
pub(crate) struct Machine {
    pool: Arc<ThreadPool>,
}

/// The reading of a large array.
pub(crate) struct Reading {
    pub(crate) bytes: usize,
    read: Rc<dyn Fn()>,
}

impl Reading {
    /// The reading as a contender.
    pub(crate) fn contender(&self) -> Contender<'static> {
        let read = self.read.clone();
        Contender::new("limit:stream", move || {
            read();
            Ok(())
        })
    }

    /// Bytes a second.
    pub(crate) fn bandwidth(&self) -> Result<f64> {
        let times = interleave(&mut [self.contender()], Rounds::new(11, 5.0))?;
        Ok(self.bytes as f64 / times[0].median)
    }
}

impl Machine {
    /// A processor that works with this number of threads.
    pub(crate) fn new(threads: usize) -> Result<Self> {
        Ok(Self { pool: Arc::new(ThreadPoolBuilder::new().num_threads(threads).build()?) })
    }

    /// Reads a large array.
    pub(crate) fn reading(&self, smoke: bool) -> Reading {
        let words = if smoke { 1 << 20 } else { 1 << 25 };
        let (pool, data) = (self.pool.clone(), (0..words as u64).collect::<Vec<_>>());
        let bytes = size_of_val(data.as_slice());
        let read = move || {
            let sum = |part: &[u64]| part.iter().fold(0, |a: u64, b| a.wrapping_add(*b));
            black_box(sums(&pool, &data, sum));
        };
        Reading { bytes, read: Rc::new(read) }
    }

    /// Reads the row of `table`, of `width` elements, for each of `indices`, and stores nothing: the gathers of a
    /// product without its rows.
    pub(crate) fn gathers<'a, T: Value>(
        &'a self,
        indices: &'a [i32],
        table: &[T],
        width: usize,
    ) -> Contender<'a> {
        let mut table: Vec<u32> = bytemuck::cast_slice(table).to_vec();
        let width = width * size_of::<T>() / size_of::<u32>();
        if width == 1 {
            table.resize(table.len().next_power_of_two(), 0);
        }
        Contender::new("limit:gather", move || {
            let sum = |part: &[i32]| match width {
                1 => gather_elements(part, &table).into(),
                _ => gather_rows(part, &table, width).into(),
            };
            black_box(sums(&self.pool, indices, sum));
            Ok(())
        })
    }
}

/// The sum of `sum` over equal parts, one for each thread.
fn sums<T: Sync>(pool: &ThreadPool, data: &[T], sum: impl Fn(&[T]) -> u64 + Send + Sync) -> u64 {
    let part = data.len().div_ceil(pool.current_num_threads()).max(1);
    pool.install(|| data.par_chunks(part).map(sum).reduce(|| 0, u64::wrapping_add))
}

/// Sums an element of each cache line that a row touches: the rest of the line is loaded with it.
fn gather_rows(indices: &[i32], table: &[u32], width: usize) -> u32 {
    let lines = |&index: &i32| table[index as usize * width..][..width].iter().step_by(LINE);
    indices.iter().flat_map(lines).fold(0, |sum: u32, element| sum.wrapping_add(*element))
}

/// Sums elements of a table whose length is a power of two, in vectors where the processor gathers them.
fn gather_elements(indices: &[i32], table: &[u32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { gather_avx512(indices, table) };
    }
    gather(indices, table)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn gather_avx512(indices: &[i32], table: &[u32]) -> u32 {
    gather(indices, table)
}

/// The mask keeps indices inside, so that the loop is vectorized.
#[inline(always)]
fn gather(indices: &[i32], table: &[u32]) -> u32 {
    let Some(last) = table.len().checked_sub(1) else { return 0 };
    indices.iter().fold(0, |sum: u32, &index| sum.wrapping_add(table[index as usize & last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_gathering_reads_the_same_elements() {
        let table: Vec<u32> = (0..64_u32).map(|k| k * k).collect();
        let indices: Vec<i32> = (0..1000).map(|k| k * 37 % 64).collect();
        let expected: u32 = indices.iter().map(|&index| table[index as usize]).sum();
        assert_eq!(gather(&indices, &table), expected);
        assert_eq!(gather_elements(&indices, &table), expected);
        assert_eq!(gather_rows(&indices, &table, 1), expected);
    }

    #[test]
    fn an_element_of_each_line_of_a_row_is_read() {
        let table: Vec<u32> = (0..120).collect();
        assert_eq!(gather_rows(&[2, 0], &table, 40), 80 + 96 + 112 + 16 + 32);
    }
}
