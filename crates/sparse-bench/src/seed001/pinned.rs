//! The engine on matrices in pinned memory, which CUDA devices copy at the full rate of their link: dense, and compressed
//! by the host before.

use super::data::{DIFFERENT, Data};
use super::figure::Figure;
use super::processor::{AnyBackend, Compressor};
use super::stages::CHUNK_BYTES;
use super::sweeps::{WARM_UP, ratio};
use super::{Context, PERCENTS};
use anyhow::Result;
use backend_cuda::{CUDA, PinnedVec};
use sparse_core::Backend;
use sparse_device::Device;
use sparse_distrib::{Options, Scheme, Source};
use std::hint::black_box;
use std::ops::Range;

/// The matrices of the largest amount.
const AMOUNT: usize = 6000;

const SCHEMES: [Scheme; 3] = [Scheme::Sfc, Scheme::Bitmap, Scheme::Ed2];

/// Any amount of matrices, a chunk of which lies in pinned memory whichever is its first.
struct PinnedMatrices<'a> {
    data: &'a Data,
    elements: PinnedVec<f32>,
    count: usize,
}

impl<'a> PinnedMatrices<'a> {
    fn new(device: &Device, data: &'a Data, count: usize) -> Result<Self> {
        let held = CHUNK_BYTES / data.dense_bytes(1) + DIFFERENT;
        let mut elements = PinnedVec::zeros(device, held * data.order * data.order)?;
        for (item, target) in elements.chunks_exact_mut(data.order * data.order).enumerate() {
            target.copy_from_slice(data.member(item));
        }
        Ok(Self { data, elements, count })
    }
}

impl Source<f32> for PinnedMatrices<'_> {
    fn len(&self) -> usize {
        self.count
    }

    fn shape(&self, _item: usize) -> (usize, usize) {
        (self.data.order, self.data.order)
    }

    fn fill(&self, item: usize, elements: &mut [f32]) -> sparse_core::Result<()> {
        elements.copy_from_slice(self.data.member(item));
        Ok(())
    }

    fn lend(&self, items: Range<usize>) -> Option<&[f32]> {
        let size = self.data.order * self.data.order;
        let first = items.start % DIFFERENT;
        self.elements.get(first * size..(first + items.len()) * size)
    }
}

/// 6000 matrices of 1024² in pinned memory, by their ratio of nonzeros and by scheme.
pub(super) fn by_scheme(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let title =
        format!("total time of {count} matrices of order {} in pinned memory", context.order(super::ORDER));
    let mut figure = Figure::new("pinned", title, "ratio", "ms");
    let of_cuda = |name: &str| name.starts_with(CUDA.name);
    for processor in context.processors.iter().filter(|processor| of_cuda(&processor.name)) {
        let AnyBackend::Device(device) = &processor.backend else { continue };
        let mut compressor = Compressor::new(std::slice::from_ref(processor))?;
        let rate = pinned_rate(context, device)?;
        let name = &processor.name;
        figure.note(format!("{name}: pinned copies at {:.1} GB/s", rate / 1e9));
        for percent in PERCENTS {
            let data = context.data(percent)?;
            let source = PinnedMatrices::new(device, &data, count)?;
            figure.add(
                format!("floor: pinned copies to {name}"),
                ratio(percent),
                data.dense_bytes(count) as f64 / rate * 1e3,
            );
            // Half of the memory is left to chunks and to what the pool has not joined.
            if data.csr_bytes(count) as u64 > device.caps().memory_bytes.unwrap_or(u64::MAX) / 2 {
                figure.note(format!("left out for want of memory: {name} at {}", ratio(percent)));
                continue;
            }
            let mut allowance = context.allowance();
            for scheme in SCHEMES {
                let options = Options { scheme: Some(scheme), ..Options::default() };
                let point = format!("{name}, {scheme} at {}", ratio(percent));
                let seconds = allowance.measure(&mut figure, &point, data.dense_bytes(count), || {
                    // The first run also makes the device's pool of memory grow.
                    let first = if context.arguments.smoke { count.min(WARM_UP) } else { count };
                    compressor.compress(&data, &PinnedMatrices::new(device, &data, first)?, &options)?;
                    context.median(|| Ok(compressor.compress(&data, &source, &options)?.seconds))
                })?;
                if let Some(seconds) = seconds {
                    figure.add(format!("{name}, {scheme}"), ratio(percent), seconds * 1e3);
                }
            }
        }
    }
    Ok(vec![figure])
}

/// Bytes per second from pinned memory to a device, in copies of a chunk.
fn pinned_rate(context: &Context<'_>, device: &Device) -> Result<f64> {
    let bytes = if context.arguments.smoke { 1 << 20 } else { CHUNK_BYTES };
    let elements = PinnedVec::<f32>::zeros(device, bytes / size_of::<f32>())?;
    let upload = || -> Result<()> {
        drop(black_box(device.upload(&elements)?));
        Ok(device.synchronize()?)
    };
    upload()?;
    Ok(bytes as f64 / context.timed(upload)?)
}
