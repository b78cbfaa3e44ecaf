//! Strips: rows whose patterns are shifted copies of each other, which one stored program adds.
//!
//! In stencils, bands, blocks of unknowns and grids of half the extent, rows repeat: a group of neighbouring rows has
//! the columns of the group before, each moved by the same distance. Neighbouring groups, whose rows of B repeat as
//! well, are a strip. A work-group copies the values of a strip to shared memory, a work-item takes one or two rows,
//! and all rows add the same products.
//!
//! A run reads A, C and the rows of B of each strip once, and 4 or 8 bytes for each product of a strip's first row.

use super::chunks;
use super::row_sizes::{ProductCounts, RowSizes};
use super::values::KnownRows;
use super::{Factors, largest_team};
use crate::buffer::RawBuffer;
use crate::lanes::LANES;
use crate::primitive::prefix_sum::PrefixSum;
use crate::primitive::raw::RawCompressed;
use crate::{Buffer, Device, Kernel};
use sparse_core::{Backend, Error, Result};

/// The file of the kernels that a plan runs.
const FILE: &str = "spgemm_strips";

/// The file of the kernel that a run of the plan runs.
pub(super) const SUM_FILE: &str = "spgemm_strips_sum";

/// The largest step from a row to its copy: the kernels' macro `STEPS`.
const STEPS: usize = 8;

/// The number of rows sampled for steps.
const SAMPLES: usize = 1024;

/// The fewest samples with the same steps for which a plan looks for strips.
const MIN_VOTES: i32 = SAMPLES as i32 / 8;

/// The smallest step of A is taken that has at least this many eighths of the votes of the most frequent step.
const EIGHTHS: usize = 7;

/// The fewest rows of a strip: with fewer, `places` takes less time (H200).
const MIN_ROWS: usize = 8;

/// The most shared memory of a strip in bytes, so that two work-groups share a compute unit.
const MAX_BYTES: usize = 112 << 10;

/// Pairs of an average number of products of a row, and the most rows of a strip up to it. Measured on an H200: rows of
/// 25 products take 55 us with 128 rows and 64 with 64, rows of 81 74 and 83, rows of 1681 87 and 78.
const MAX_ROWS: [(usize, usize); 2] = [(128, 128), (usize::MAX, 64)];

/// Pairs of an average number of products of a strip, and the work-items of a strip below it; else those of the largest
/// team. Measured on an H200: strips of 1300 to 1700 products take 0.88 to 1.0 with 64 of the time with 128, those of
/// 2900 to 16 400 products 0.65 to 0.93 with 128 of the time with 256, but one of 10 200 1.19.
const WORK_ITEMS: [(usize, usize); 2] = [(2048, 64), (16_384, 128)];

/// Bytes of a strip's description.
const STRIP_BYTES: usize = 64;

/// The distance from a row to its copy, in rows of A, rows of B, and columns of C.
#[derive(Debug, Clone, Copy)]
struct Steps {
    a: usize,
    b: usize,
    c: usize,
}

impl Steps {
    /// The steps of most rows of a sample.
    fn find(factors: Factors<'_>, products: &ProductCounts) -> Result<Option<Self>> {
        let Factors { backend, left, right } = factors;
        let votes = backend.zeros::<i32>(STEPS * STEPS * STEPS)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_steps")?;
        let most_products = MAX_BYTES / size_of::<i32>();
        let launch = backend.launch(&kernel).size(left.rows).size(SAMPLES).size(most_products);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices);
        launch.buffer(&products.counts.starts).buffer(&votes).warps(SAMPLES * STEPS)?;
        Ok(Self::most_frequent(&backend.download(&votes)?))
    }

    /// The steps by the samples that have each of them.
    fn most_frequent(votes: &[i32]) -> Option<Self> {
        let best_of = |votes: &[i32]| (0..votes.len()).rev().max_by_key(|&at| votes[at]);
        let best: Vec<_> = votes
            .chunks(STEPS * STEPS)
            .map(|votes| best_of(votes).map_or((0, 0), |at| (votes[at], at)))
            .collect();
        let most = best.iter().map(|(votes, _)| *votes).max().filter(|most| *most >= MIN_VOTES)?;
        let is_enough = |(votes, _): &(i32, usize)| *votes as usize >= most as usize * EIGHTHS / 8;
        let a = best.iter().position(is_enough)?;
        let (b, c) = (best[a].1 / STEPS, best[a].1 % STEPS);
        Some(Self { a: a + 1, b: b + 1, c: c + 1 })
    }
}

/// The strips of a product, whose programs are not known yet.
#[derive(Debug)]
pub(super) struct FoundStrips {
    count: usize,
    steps: Steps,
    strips: RawBuffer,
    /// The integers of programs before each strip, and of all.
    starts: Buffer<i64>,
    size: usize,
    /// The products of all strips.
    products: usize,
    /// The sizes of the rows in no strip.
    rest: RowSizes,
    /// Bytes of shared memory for the largest strip.
    shared: usize,
}

impl FoundStrips {
    /// Finds the strips, if there are any, and memory for them. `entries` are those of C before each row.
    pub(super) fn find(
        factors: Factors<'_>,
        products: &ProductCounts,
        entries: &Buffer<i64>,
    ) -> Result<Option<Self>> {
        let Factors { backend, left, right } = factors;
        let is_counted = |n: usize| i32::try_from(n + 1).is_ok();
        let are_counted = is_counted(left.rows) && is_counted(right.indices.len);
        if !backend.can_share(SUM_FILE) || !are_counted || !right.order.unique || products.counts.total == 0 {
            return Ok(None);
        }
        match Self::within_memory(factors, products, entries) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            strips => strips,
        }
    }

    /// Strips of as many rows as fit in shared memory for most products.
    fn within_memory(
        factors: Factors<'_>,
        products: &ProductCounts,
        entries: &Buffer<i64>,
    ) -> Result<Option<Self>> {
        let Some(steps) = Steps::find(factors, products)? else {
            return Ok(None);
        };
        let runs = Runs::find(factors, steps)?;
        let search = StripSearch { factors, products, entries, steps, runs };
        let mut most_rows = most_rows(products.counts.total * steps.a / factors.left.rows);
        let mut best = (search.flags(most_rows)?, most_rows);
        while !are_most(best.0.products, products) && most_rows >= 2 * MIN_ROWS {
            most_rows /= 2;
            let found = search.flags(most_rows)?;
            if found.products > best.0.products {
                best = (found, most_rows);
            }
        }
        let (found, most_rows) = best;
        search.strips(found, most_rows)
    }

    /// True if they have most of these products.
    pub(super) fn have_most(&self, products: &ProductCounts) -> bool {
        are_most(self.products, products)
    }

    /// The products of rows in no strip.
    pub(super) fn rest(&self) -> &RowSizes {
        &self.rest
    }

    /// Leaves the rows of strips out of all bins.
    pub(super) fn leave(&self, factors: Factors<'_>, bins: &Buffer<i32>) -> Result<()> {
        let kernel = factors.kernel(FILE, "spgemm_strips_leave")?;
        let launch = factors.backend.launch(&kernel).size(self.count).size(self.steps.a);
        launch.buffer(&self.strips).buffer(bins).warps(self.count)
    }

    /// The strips with their programs.
    pub(super) fn with_programs(self, factors: Factors<'_>, rows: KnownRows<'_>) -> Result<Strips> {
        let Factors { backend, left, right } = factors;
        let Self { count, steps, strips, starts, size, products, shared, .. } = self;
        let programs = backend.allocate_raw(size, size_of::<i32>())?;
        let kernel = factors.kernel(FILE, "spgemm_strips_programs")?;
        let launch = backend.launch(&kernel).size(count).size(steps.a).size(steps.b);
        let launch = launch.buffer(&strips).buffer(&starts);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        let launch = launch.buffer(right.offsets).buffer(right.indices);
        launch.buffer(rows.offsets).buffer(rows.columns).buffer(&programs).warps(count)?;
        let kernel = factors.kernel(SUM_FILE, "spgemm_strips_sum")?;
        Ok(Strips { count, strips, programs, shared, lanes: lanes(backend, products / count), kernel })
    }
}

/// Strips with their programs.
#[derive(Debug)]
pub(super) struct Strips {
    count: usize,
    strips: RawBuffer,
    programs: RawBuffer,
    /// Bytes of shared memory for the largest strip.
    shared: usize,
    /// The work-items that have a strip.
    lanes: usize,
    kernel: Kernel,
}

impl Strips {
    /// Writes the values of their rows, apart from those that the last launch writes.
    pub(super) fn run(&self, factors: Factors<'_>, c: RawCompressed<'_>, is_apart: bool) -> Result<()> {
        let launch =
            factors.backend.launch(&self.kernel).size(self.count).buffer(&self.strips).buffer(&self.programs);
        let launch = launch.buffer(factors.left.values).buffer(factors.right.values).buffer(c.values);
        let launch = launch.early_if(is_apart);
        launch.groups_that_share(self.count.min(factors.backend.most_groups()), self.lanes, self.shared)
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.strips.bytes() + self.programs.bytes()
    }
}

/// Neighbouring rows, of which all but the first few are copies or none is.
struct Runs {
    /// 1 for each row that is a copy.
    copies: Buffer<i32>,
    /// The runs that begin before each row, and all.
    before: Buffer<i64>,
    /// The first row of each run, and the number of rows.
    begins: Buffer<i32>,
}

impl Runs {
    fn find(factors: Factors<'_>, steps: Steps) -> Result<Self> {
        let Factors { backend, left, right } = factors;
        let b_copies = backend.allocate::<i32>(right.rows)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_b_copies")?;
        let launch = backend.launch(&kernel).size(right.rows).size(steps.b).size(steps.c);
        let launch = launch.buffer(right.offsets).buffer(right.indices);
        launch.buffer(&b_copies).items(right.rows)?;
        let copies = backend.allocate::<i32>(left.rows)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_copies")?;
        let launch = backend.launch(&kernel).size(left.rows).size(steps.a).size(steps.b);
        let launch = launch.buffer(left.offsets).buffer(left.indices);
        launch.buffer(&b_copies).buffer(&copies).items(left.rows)?;
        let before = backend.zeros::<i64>(left.rows + 1)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_begins")?;
        let launch = backend.launch(&kernel).size(left.rows).size(steps.a);
        launch.buffer(&copies).buffer(&before).items(left.rows)?;
        let count = PrefixSum::series(backend, left.rows + 1)?.starts_and_sum(backend, &before)?;
        let begins = backend.allocate::<i32>(count + 1)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_runs")?;
        let launch = backend.launch(&kernel).size(left.rows).buffer(&before).buffer(&begins);
        launch.items(left.rows + 1)?;
        Ok(Self { copies, before, begins })
    }
}

/// The rows that strips begin with.
struct StripFlags {
    /// The strips that begin before each row, and all.
    before: Buffer<i64>,
    count: usize,
    /// The products of all strips.
    products: usize,
    /// Bytes of shared memory for the largest strip.
    shared: usize,
}

/// A search for strips: the factors, the pattern of the product, and the steps by which their rows repeat.
struct StripSearch<'a> {
    factors: Factors<'a>,
    products: &'a ProductCounts,
    /// The entries of C before each row.
    entries: &'a Buffer<i64>,
    steps: Steps,
    runs: Runs,
}

impl StripSearch<'_> {
    /// The strips of up to `most_rows` rows.
    fn flags(&self, most_rows: usize) -> Result<StripFlags> {
        let Self { factors: Factors { backend, left, right }, steps, runs, .. } = self;
        let rows = left.rows;
        let flags = backend.zeros::<i64>(rows + 1)?;
        let products = backend.zeros::<i64>(rows + 1)?;
        let most = backend.zeros::<i32>(1)?;
        let limit = MAX_BYTES.min(backend.properties().shared_bytes);
        let kernel = self.factors.kernel(FILE, "spgemm_strips_find")?;
        let launch = backend.launch(&kernel).size(rows).size(steps.a).size(steps.b).size(most_rows);
        let launch = launch.size(MIN_ROWS).size(limit).buffer(&runs.copies);
        let launch = launch.buffer(&runs.before).buffer(&runs.begins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
        let launch = launch.buffer(self.entries).buffer(&self.products.counts.starts);
        launch.buffer(&flags).buffer(&products).buffer(&most).items(rows)?;
        let sums = PrefixSum::series(backend, rows + 1)?;
        let products = sums.starts_and_sum(backend, &products)?;
        let count = sums.starts_and_sum(backend, &flags)?;
        let shared = backend.download(&most)?[0] as usize;
        Ok(StripFlags { before: flags, count, products, shared })
    }

    /// The strips of these rows, if there are any.
    fn strips(&self, found: StripFlags, most_rows: usize) -> Result<Option<FoundStrips>> {
        let Self { factors: Factors { backend, left, right }, steps, runs, .. } = self;
        let StripFlags { before, count, products, shared } = found;
        if count == 0 {
            return Ok(None);
        }
        let strips = backend.allocate_raw(count, STRIP_BYTES)?;
        let starts = backend.zeros::<i64>(count + 1)?;
        let kernel = self.factors.kernel(FILE, "spgemm_strips_make")?;
        let launch = backend.launch(&kernel).size(left.rows).size(steps.a).size(steps.b).size(most_rows);
        let launch = launch.buffer(&before).buffer(&runs.before).buffer(&runs.begins);
        let launch = launch.buffer(left.offsets).buffer(left.indices).buffer(right.offsets);
        let launch = launch.buffer(self.entries).buffer(&self.products.counts.starts);
        launch.buffer(&strips).buffer(&starts).items(left.rows)?;
        let size = PrefixSum::series(backend, count + 1)?.starts_and_sum(backend, &starts)?;
        let rest = self.rest(&strips, &before, products)?;
        Ok(Some(FoundStrips { count, steps: *steps, strips, starts, size, products, rest, shared }))
    }

    /// The products of the rows in none of these strips, whose own products are `of_strips`.
    fn rest(&self, strips: &RawBuffer, strips_before: &Buffer<i64>, of_strips: usize) -> Result<RowSizes> {
        let Self { factors, steps, .. } = self;
        let backend = factors.backend;
        let (rows, counts) = (factors.left.rows, &self.products.counts);
        let rest = backend.zeros::<i64>(rows + 1)?;
        let kernel = factors.kernel(FILE, "spgemm_strips_rest")?;
        let launch = backend.launch(&kernel).size(rows).size(steps.a).buffer(strips_before).buffer(strips);
        launch.buffer(&counts.starts).buffer(&rest).items(rows)?;
        PrefixSum::series(backend, rows + 1)?.starts(backend, &rest)?;
        Ok(RowSizes { starts: rest.into(), total: counts.total - of_strips })
    }
}

/// True if strips can pay: a product that runs all at once in chunks is bound by latency.
pub(super) fn pay(factors: Factors<'_>, products: &ProductCounts) -> bool {
    !chunks::run_at_once(factors, products.counts.total)
}

/// True if `of_strips` products are most of `products`.
fn are_most(of_strips: usize, products: &ProductCounts) -> bool {
    of_strips >= products.counts.total / 4 * 3
}

/// The most rows of a strip, for rows of `products` products.
fn most_rows(products: usize) -> usize {
    let fitting = MAX_ROWS.iter().find(|(most, _)| products <= *most);
    fitting.map_or(LANES, |(_, rows)| *rows)
}

/// The work-items of a strip of `products` products.
fn lanes(backend: &Device, products: usize) -> usize {
    let largest = largest_team(backend);
    let fitting = WORK_ITEMS.iter().find(|(more, _)| products < *more);
    fitting.map_or(largest, |(_, lanes)| *lanes).min(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_step_of_most_samples_is_taken() {
        let mut votes = vec![0; STEPS * STEPS * STEPS];
        let at = |a: usize, b: usize, c: usize| ((a - 1) * STEPS + b - 1) * STEPS + c - 1;
        assert!(Steps::most_frequent(&votes).is_none());
        votes[at(1, 1, 1)] = 500;
        votes[at(2, 2, 1)] = 900;
        votes[at(4, 4, 2)] = 1000;
        votes[at(2, 3, 1)] = 20;
        let Steps { a, b, c } = Steps::most_frequent(&votes).unwrap();
        assert_eq!((a, b, c), (2, 2, 1));
    }
}
