//! `C ← alpha·A·B + beta·C` for compressed rows whose neighbours have many columns in common: a team of lanes takes a
//! panel of four rows and reads each row of B once for all of them.

use super::panel_columns::PanelColumns;
use super::row_product::RowProduct;
use super::team_kernels::{Team, TeamKernels};
use crate::lanes::vector;
use crate::primitive::planned_rows::PlannedRows;
use crate::primitive::raw::{DenseOperands, RawCompressed};
use crate::{Buffer, Device};
use sparse_core::{Backend, DType, Result};

/// The file and the kernel of the product.
const KERNEL: (&str, &str) = ("csr_spmm_panels", "csr_spmm_panels");

/// The fewest lanes of a team. Each lane takes one column, not a word, if at most half of the lanes would have a word:
/// measured on an H200, 0.73 to 0.94 of the time of words with K = 8 on 19 matrices, 0.72 to 0.99 with K = 16 on seven
/// where panels are chosen.
const MIN_LANES: usize = 8;

/// The file of the plan's kernels.
const PLAN_FILE: &str = "csr_panels";

/// Rows of a panel, and slots of a group: `ROWS` and `SLOTS` of the kernels.
const ROWS: usize = 4;
const SLOTS: usize = 8;

/// Panels need rows of B of at least `MIN_ROW_BYTES`. Below `WIDE_ROW_BYTES`, a cache line, at least
/// `PERCENT_FOR_NARROW_ROWS` percent of the places of a panel must have an entry. Measured on an H200 with K = 8 in
/// f32: 0.65 and 0.75 of the time of other algorithms where 93 % and more have one (bands of 101 and of 41), 1.12 to
/// 1.47 where fewer.
///
/// That percentage includes the empty places of a panel's last group: 1.21 and 1.33 on meshes of four unknowns, whose
/// 28 slots have four groups of eight.
const MIN_ROW_BYTES: usize = 32;
const WIDE_ROW_BYTES: usize = 128;
const PERCENT_FOR_NARROW_ROWS: usize = 90;

/// With fewer teams per compute unit, latency is not hidden, and at least `PERCENT_FOR_FEW_TEAMS` percent of the places
/// must have an entry. Measured on an H200 with 27 to 45 and K = 32: 1.11 and 1.15 of the time of chunks where 49 and
/// 52 % have one, 0.54 to 0.96 from 63 % on.
const MANY_TEAMS_PER_UNIT: usize = 64;
const PERCENT_FOR_FEW_TEAMS: usize = 60;

/// The fewest entries per row on average: `[a row of B is at most one cache line, longer]`. With fewer, groups are
/// mostly empty. Measured on an H200: 1.10 to 1.17 with rows of 3 entries; with 5 0.82 on a band with K = 32, and 1.02
/// to 1.17 with K = 64 to 256; with 6 0.90 to 0.95.
const MIN_LENGTH: [usize; 2] = [4, 6];

/// The fewest teams (panels × slices) per compute unit for which panels are chosen. Measured on an H200 on blocks and
/// bands of 200 to 1000 entries a row, over chunks: 1.14 and 1.69 with 15 and K = 64 and 32, 0.41 to 0.75 with 22 to 47
/// and K = 32 to 128, 0.74 to 0.99 with 56 to 66.
const TEAMS_PER_UNIT: usize = 20;

/// The longest row, as a multiple of the average, for which panels are chosen: a longer one would delay its team.
const LONGEST: usize = 4;

/// Panels that are sampled for the choice, by their first [`SAMPLED_SLOTS`] slots.
const SAMPLES: usize = 1024;
const SAMPLED_SLOTS: usize = 64;

/// The plan: for each panel the columns of its slots, and the rows that have an entry there.
#[derive(Debug)]
pub(super) struct RowPanels {
    kernels: TeamKernels,
    panels: usize,
    columns: PanelColumns,
    /// The bits of each group.
    places: Buffer<u32>,
}

/// The team that takes a panel, for rows of B with this number of columns.
fn team(dtype: DType, columns: usize) -> Team {
    let words = columns.div_ceil(vector(dtype.bytes()));
    if 2 * words <= MIN_LANES {
        Team::of_columns(columns, MIN_LANES)
    } else {
        Team::of_words(words, 1, MIN_LANES)
    }
}

impl PlannedRows<'_> {
    /// True if panels are chosen: the rows of a panel have most columns in common, so that at least `percent` of its
    /// places have an entry, or more where rows of B are short.
    pub(super) fn are_alike(&self, columns: usize, percent: usize) -> Result<bool> {
        let &Self { backend, a, ref lengths, .. } = self;
        let row_bytes = columns * a.dtype.bytes();
        let teams = team(a.dtype, columns).teams(a.dtype, a.rows.div_ceil(ROWS), columns);
        let min_length = MIN_LENGTH[usize::from(row_bytes > WIDE_ROW_BYTES)];
        if row_bytes < MIN_ROW_BYTES
            || a.nnz() < a.rows.saturating_mul(min_length)
            || teams < backend.caps().compute_units * TEAMS_PER_UNIT
            || lengths.longest()? > a.mean_length().saturating_mul(LONGEST)
        {
            return Ok(false);
        }
        let is_narrow = row_bytes < WIDE_ROW_BYTES;
        let are_few = teams < backend.caps().compute_units * MANY_TEAMS_PER_UNIT;
        let percent = match (is_narrow, are_few) {
            (true, _) => percent.max(PERCENT_FOR_NARROW_ROWS),
            (false, true) => percent.max(PERCENT_FOR_FEW_TEAMS),
            (false, false) => percent,
        };
        let panels = a.rows.div_ceil(ROWS);
        let samples = panels.min(SAMPLES);
        let (slots, entries) = (backend.allocate::<i64>(samples)?, backend.allocate::<i64>(samples)?);
        let sample = backend.kernel(PLAN_FILE, "csr_panels_sample", a.defines())?;
        let launch = backend.launch(&sample).size(samples).size(panels / samples).size(SAMPLED_SLOTS);
        let launch = launch.size(a.rows).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&slots).buffer(&entries).items(samples)?;
        let unit = if is_narrow { SLOTS } else { 1 };
        let slots =
            backend.download(&slots)?.into_iter().map(|slots| (slots as usize).next_multiple_of(unit));
        let entries: i64 = backend.download(&entries)?.into_iter().sum();
        Ok(entries as usize * 100 > slots.sum::<usize>() * ROWS * percent)
    }
}

impl RowPanels {
    pub(super) fn new(rows: &PlannedRows<'_>, columns: usize) -> Result<Self> {
        let &PlannedRows { backend, a, op, .. } = rows;
        let kernel = |entry| backend.kernel(PLAN_FILE, entry, a.defines());
        let panels = a.rows.div_ceil(ROWS);
        let count = kernel("csr_panels_count")?;
        let panel_columns =
            PanelColumns::allocate(backend, a, (panels, SLOTS), &count, |launch| launch.items(panels + 1))?;
        let places = backend.allocate(panel_columns.groups)?;
        let fill = kernel("csr_panels_fill")?;
        panel_columns.fill(backend, a, &fill).buffer(&places).items(panels)?;
        let teams = (team(a.dtype, columns), columns, MIN_LANES);
        Ok(Self {
            kernels: TeamKernels::new(backend, KERNEL, a.dtype, teams, &a.product_defines(op))?,
            panels,
            columns: panel_columns,
            places,
        })
    }
}

impl RowProduct for RowPanels {
    fn bytes(&self) -> usize {
        self.columns.bytes() + self.places.bytes()
    }

    fn run(&self, backend: &Device, a: RawCompressed<'_>, operands: DenseOperands<'_>) -> Result<()> {
        let (rows, cols) = (operands.c.rows, operands.c.cols);
        let team = self.kernels.for_operands(operands);
        let launch = backend.launch(&team.kernel).size(rows).size(cols);
        let launch = self.columns.arguments(launch.buffer(a.offsets));
        let launch = launch.buffer(&self.places).buffer(a.values).matrices(operands);
        launch.exchanging_warps(team.warps(self.panels, cols))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_half_of_a_team_is_idle() {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            for columns in 8..=128 {
                let team = team(dtype, columns);
                let words = columns.div_ceil(vector(dtype.bytes()));
                let has_columns = team == Team::of_columns(columns, MIN_LANES);
                let busy = if has_columns { columns } else { words };
                assert!(team.lanes() < 2 * busy, "{dtype:?} {columns}: {team:?}");
            }
        }
        assert_eq!(team(DType::F32, 8), Team::of_columns(8, MIN_LANES));
        assert_eq!(team(DType::F32, 32), Team::of_words(8, 1, MIN_LANES));
    }
}
