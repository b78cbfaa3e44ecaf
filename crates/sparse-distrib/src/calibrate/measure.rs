//! Measurements of the link, of compression and of messages.

use super::Target;
use super::memory::memory_rates;
use super::passes::{BLOCK, SMALLEST_BLOCK, rate, rate_of_threads};
use crate::dispatch::compress_whole;
use crate::engine::message::{self, HostCompressor, MatrixCompressor, PackedBatch};
use crate::engine::worker::{DEVICE_STREAMS, UNPACKING_STREAMS};
use crate::partition::Part;
use crate::scheme::{Density, Rates, Scheme};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCsrKernel, Keep};
use sparse_core::{Backend, DenseView, Host, Order, Result, Row, Space};
use std::hint::black_box;
use std::iter::repeat_n;

const COLUMNS: usize = 1024;
/// One element in this many is not zero.
const SPACING: usize = 10;
/// Elements of a matrix that a thread of the host compresses, 4 MiB: the arrays of larger ones may be newly mapped
/// memory each time.
const MESSAGE_BLOCK: usize = BLOCK / 4;
/// One element in this many is not zero in the blocks that tell scan and packing apart.
const FEW: usize = 64;
const MANY: usize = 2;

/// Measures the rates of this machine; `host` is the backend that compresses on the host.
///
/// # Errors
/// [`OutOfMemory`](sparse_core::Error::OutOfMemory) and other errors of the device's runtime.
pub fn measure<H, B>(host: &H, target: &Target<'_, B>) -> Result<Rates>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
    B: DenseToCsrKernel<f32, i32, i32>,
{
    let mut block = vec![0.0_f32; BLOCK];
    block.iter_mut().step_by(SPACING).for_each(|element| *element = 1.0);
    let backend = target.backend;
    let (link, host_unpack, device) = match SpaceOf::<B>::host_view(&block) {
        Some(view) => (f64::INFINITY, f64::INFINITY, scan_rate(backend, view)?),
        None => {
            let uploaded = backend.upload(&block)?;
            let device = scan_rate(backend, SpaceOf::<B>::view(&uploaded))?;
            (link_rate(backend, &block)?, unpack_rate(host, backend, &block)?, device)
        }
    };
    let threads = host.caps().compute_units.max(1);
    let (host_memory, host_copy) = memory_rates(threads);
    // The streams of a device need processors in addition to the threads that compress.
    let share = threads as f64 / (threads + DEVICE_STREAMS) as f64;
    let (host_scan, host_pack) = host_rates(host)?;
    let (host_scan, host_pack) = (share * host_scan, share * host_pack);
    let devices = target.devices;
    Ok(Rates { devices, link, host_scan, host_pack, host_unpack, host_copy, host_memory, device })
}

/// Bytes per second of copies from the memory of slots to the memory of a backend.
fn link_rate<B: Backend>(backend: &B, block: &[f32]) -> Result<f64> {
    let mut slot = backend.host_buffer(block.len())?;
    slot.copy_from_slice(block);
    rate(BLOCK, |elements| {
        let buffer = backend.upload(&slot[..elements])?;
        backend.synchronize()?;
        drop(black_box(buffer));
        Ok(())
    })
}

/// Dense bytes per second of a backend that compresses a block in its memory.
fn scan_rate<B: DenseToCsrKernel<f32, i32, i32>>(
    backend: &B,
    block: <SpaceOf<B> as Space>::View<'_, f32>,
) -> Result<f64> {
    rate(BLOCK, |elements| {
        let part = SpaceOf::<B>::slice(block, 0..elements);
        let view = DenseView::new(part, elements / COLUMNS, COLUMNS, COLUMNS, Order::RowMajor)?;
        let compressed = compress_whole::<B, Row, f32, i32, i32>(backend, view)?;
        backend.synchronize()?;
        drop(black_box(compressed));
        Ok(())
    })
}

/// The rates of the scan and the packing of the host: the time of a dense byte is linear in the bytes of the messages.
fn host_rates<H>(host: &H) -> Result<(f64, f64)>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
{
    let mut block = vec![0.0_f32; MESSAGE_BLOCK];
    let mut seconds_per_byte = |spacing: usize| -> Result<f64> {
        block.iter_mut().step_by(spacing).for_each(|element| *element = 1.0);
        Ok(1.0 / message_rate(host, &block)?)
    };
    let (few, many) = (seconds_per_byte(FEW)?, seconds_per_byte(MANY)?);
    let wire_ratio = |spacing: usize| {
        let nonzeros = 1.0 / spacing as f64;
        (Scheme::Ed2.info().wire_ratio)(Density { nonzeros, value_bytes: 4.0, index_bytes: 4.0 })
    };
    let packing = (many - few) / (wire_ratio(MANY) - wire_ratio(FEW));
    // If the measurements contradict this, the scan takes at least half of the shorter time.
    let scan = (few - packing * wire_ratio(FEW)).max(few / 2.0);
    Ok((1.0 / scan, if packing > 0.0 { 1.0 / packing } else { f64::INFINITY }))
}

/// Dense bytes per second of all threads of the host, each of which compresses the block to messages.
fn message_rate<H>(host: &H, block: &[f32]) -> Result<f64>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
{
    let (threads, host) = (host.caps().compute_units.max(1), host.single_threaded());
    rate_of_threads(threads, |team| {
        let mut compressor = HostCompressor::<f32, i32, i32>::start(&host);
        let (mut message, mut batch) = (vec![], PackedBatch::default());
        team.rate(block.len(), |elements| {
            let part = compress_to_message(compressor.as_mut(), &block[..elements], &mut message)?;
            pack(&mut batch, part, std::slice::from_ref(&message))?;
            black_box(&batch);
            Ok(())
        })
    })
}

/// Encodes these elements to `message`; returns their part.
fn compress_to_message(
    compressor: &mut dyn MatrixCompressor<f32, i32, i32>,
    elements: &[f32],
    message: &mut Vec<u8>,
) -> Result<Part> {
    let (rows, cols) = (elements.len() / COLUMNS, COLUMNS);
    let compressed = compressor.compress(DenseView::row_major(elements, rows, cols)?, Keep::NonZero)?;
    let part = Part::whole((rows, cols));
    message::encode(Scheme::Ed2, &part, &compressed, message)?;
    Ok(part)
}

/// Splits messages of equal parts into the planes of a batch.
fn pack(batch: &mut PackedBatch<f32, i32>, part: Part, messages: &[Vec<u8>]) -> Result<()> {
    batch.refill::<i32>(Scheme::Ed2, repeat_n(part, messages.len()), messages)
}

/// Bytes of messages per second whose planes a device's streams upload.
fn unpack_rate<H, B>(host: &H, backend: &B, block: &[f32]) -> Result<f64>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
    B: Backend,
{
    let mut message = vec![];
    let mut compressor = HostCompressor::<f32, i32, i32>::start(host);
    let part = compress_to_message(compressor.as_mut(), &block[..SMALLEST_BLOCK], &mut message)?;
    let ratio = message.len() as f64 / size_of_val(&block[..SMALLEST_BLOCK]) as f64;
    let mut batch = PackedBatch::default();
    pack(&mut batch, part, &vec![message; BLOCK / SMALLEST_BLOCK])?;
    let upload = |batch: &PackedBatch<f32, i32>| -> Result<()> {
        let planes = batch.upload(backend)?;
        backend.synchronize()?;
        drop(black_box(planes));
        Ok(())
    };
    let dense_rate = rate_of_threads(UNPACKING_STREAMS, |team| {
        // Creating a stream and its pinned memory for each thread is no part of the rate.
        upload(&batch)?;
        let (mut members, mut part) = (0, batch.members(0..0));
        team.rate(BLOCK, |elements| {
            // Copied only in the first pass of this size.
            if members != elements / SMALLEST_BLOCK {
                members = elements / SMALLEST_BLOCK;
                part = batch.members(0..members);
            }
            upload(&part)
        })
    })?;
    Ok(ratio * dense_rate)
}
