//! The scheme by which each device gets its matrices.

use super::Options;
use super::item::Item;
use super::run::available_threads;
use super::source::{Source, resize};
use super::worker::Worker;
use crate::explain::Explanation;
use crate::partition::Part;
use crate::scheme::{Density, Rates, Scheme};
use sparse_core::op::Keep;
use sparse_core::{Index, Scalar};

/// Items whose elements are counted to estimate the density of all.
const SAMPLES: usize = 4;
/// Bytes that are read of each sampled item, at least one row.
const SAMPLE_BYTES: usize = 1 << 20;

/// The scheme of each device, and the model's table where the rates are known.
///
/// Without a request, devices that compute in the host's memory compress what they read, and so do all without rates.
/// Items in the memory of a device cross no link: if all are there, a requested scheme is ignored.
pub(super) fn choose<T: Scalar, I: Index, O: Index>(
    workers: &[Box<dyn Worker<T, I, O>>],
    source: &dyn Source<T>,
    items: &[Item],
    options: &Options<'_, T>,
) -> (Vec<Scheme>, Option<Explanation>) {
    let is_in_place = !items.is_empty() && items.iter().all(|item| item.device.is_some());
    let explain = |rates: Rates| {
        let density = Density {
            nonzeros: density(source, items, options.keep),
            value_bytes: size_of::<T>() as f64,
            index_bytes: size_of::<I>() as f64,
        };
        let crossing = items.iter().filter(|item| is_in_place || item.device.is_none());
        let bytes = crossing.map(|item| u128::from(item.bytes)).sum::<u128>() as f64;
        let rates = match is_in_place {
            true => Rates { link: f64::INFINITY, host_memory: f64::INFINITY, ..rates },
            false => of_source(rates, workers, source, items).with_items(items.len(), available_threads()),
        };
        let mut devices = workers.iter().filter(|worker| !worker.is_host());
        match devices.all(|worker| worker.unpacks()) {
            true => Explanation::new(density, bytes, &rates),
            false => Explanation::decoded_on_host(density, bytes, &rates),
        }
    };
    let explanation = options.rates.map(explain);
    let scheme = |worker: &dyn Worker<T, I, O>| match (options.scheme, &explanation) {
        _ if is_in_place => Scheme::Sfc,
        (Some(scheme), _) => scheme,
        (None, Some(explanation)) if !worker.is_host() => explanation.chosen,
        _ => Scheme::Sfc,
    };
    (workers.iter().map(|worker| scheme(worker.as_ref())).collect(), explanation)
}

/// The rates for a source, judged by its first matrix: lent in memory that devices copy from directly, lent in other
/// memory, or not lent.
fn of_source<T: Scalar, I: Index, O: Index>(
    rates: Rates,
    workers: &[Box<dyn Worker<T, I, O>>],
    source: &dyn Source<T>,
    items: &[Item],
) -> Rates {
    let device = workers.iter().find(|worker| !worker.is_host());
    let (Some(device), Some(item)) = (device, items.iter().find(|item| item.device.is_none())) else {
        return rates;
    };
    match source.lend(item.matrix..item.matrix + 1) {
        Some(lent) if device.staging().is_direct(lent) => rates,
        lent => rates.by_slots(lent.is_some()),
    }
}

/// Nonzeros over elements of the middle rows of some items. Items that the source fails to read are left out.
fn density<T: Scalar>(source: &dyn Source<T>, items: &[Item], keep: Keep<T>) -> f64 {
    let (mut nonzeros, mut total) = (0, 0);
    let mut elements: Vec<T> = vec![];
    for item in items.iter().step_by(items.len().div_ceil(SAMPLES).max(1)) {
        let part = middle_rows(&item.part, size_of::<T>());
        let len = part.rows.len() * part.cols.len();
        let is_read = resize(&mut elements, len)
            .and_then(|()| source.fill_part(item.matrix, &part, &mut elements[..len]))
            .is_ok();
        if is_read {
            nonzeros += elements[..len].iter().filter(|&&element| keep.keeps(element)).count();
            total += len;
        }
    }
    nonzeros as f64 / total.max(1) as f64
}

/// Rows in the middle of the part: as many as fit a sample, at least one.
fn middle_rows(part: &Part, element_bytes: usize) -> Part {
    let rows = SAMPLE_BYTES / part.cols.len().saturating_mul(element_bytes).max(1);
    let rows = rows.max(1).min(part.rows.len());
    let start = part.rows.start + (part.rows.len() - rows) / 2;
    Part { rows: start..start + rows, cols: part.cols.clone() }
}
