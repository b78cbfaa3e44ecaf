//! The gathers of a product alone, as a limit: a kernel over the same indices without rows.

use super::device_timer::DeviceTimer;
use crate::product::Product;
use kernels_core::File;
use sparse_core::{Backend, Element, Error, Result, Scalar, Space};
use sparse_device::{Arg, Defines, Device, Grid, Memory, Value, View};

/// Work-items of a work-group.
const GROUP: usize = 256;
/// Work-groups for each compute unit.
const GROUPS_PER_UNIT: usize = 8;
/// A sum that no kernel reaches: it adds less than 2⁶³.
const NEVER: i64 = -1;

/// The kernel under a name with its language.
fn file(name: &'static str) -> File {
    let text = include_str!("gather.c");
    File { name, entries: &["gather"], defines: &[], needs: &[], text, headers: &[] }
}

/// Reads the row of `table`, of `width` elements, for each of `indices`. Writes nothing.
pub(super) fn gathers<'a, D: DeviceTimer, T: Scalar>(
    device: &'a Device,
    indices: View<'a, i32>,
    table: View<'a, T>,
    width: usize,
) -> Result<Product<'a, T>> {
    let row = width * size_of::<T>();
    let word = [16, 8, 4].into_iter().find(|word| row.is_multiple_of(*word)).unwrap_or(row);
    let defines = Defines::default().set("BYTES", word).set("WORDS", row / word);
    let driver = device.driver();
    let kernel = driver.kernel(&driver.build(&file(D::GATHER), &defines)?, "gather")?;
    let sink = device.zeros::<u64>(1)?;
    let count = sparse_core::space::View::len(&indices);
    let local = GROUP.min(driver.properties().largest_group);
    let groups = (count * row / word).div_ceil(local).min(device.caps().compute_units * GROUPS_PER_UNIT);
    let (indices, table) = (whole(indices)?, whole(table)?);
    Ok(Product::new("limit:gather", 0.0, move |_| {
        let args = [
            Arg::Memory(indices),
            Arg::Memory(table),
            Arg::Value(Value::from(count as i64)),
            Arg::Value(Value::from(NEVER)),
            Arg::Memory(whole(Device::view(&sink))?),
        ];
        let grid = Grid { groups, local, shared: 0, early: false };
        // SAFETY: the arguments are those of `gather.c`; indices are columns of a checked matrix, rows of the table.
        unsafe { device.driver().launch(&kernel, grid, &args) }
    }))
}

/// The memory of a view that begins at its first byte.
fn whole<'a, T: Element>(view: View<'a, T>) -> Result<&'a Memory> {
    match view.place() {
        (memory, 0) => Ok(memory),
        (_, byte) => {
            Err(Error::unsupported("the gather limit", format!("a view that begins at byte {byte}")))
        }
    }
}
