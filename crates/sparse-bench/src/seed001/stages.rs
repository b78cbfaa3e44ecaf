//! The stages of a distribution: copy and compression on the device, and the five schemes.

use super::data::Data;
use super::figure::Figure;
use super::processor::{Compresses, with_backend};
use super::sweeps::ratio;
use super::{AMOUNT, Context, PERCENTS};
use anyhow::{Result, ensure};
use backend_cpu::Cpu;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCompressedPlan, Keep};
use sparse_core::{
    BatchCsr, ContextId, Csr, DenseBatchView, DenseView, Order, PlanOptions, Row, Space, SparseFormat,
};
use sparse_distrib::partition::Part;
use sparse_distrib::wire::{bitmap, cfs, ed1, ed2};
use sparse_distrib::{SCHEMES, Scheme};
use std::time::Instant;

/// Bytes of a chunk, as the engine's.
pub(super) const CHUNK_BYTES: usize = 64 << 20;

/// Adds the seconds of `work` to a sum.
fn add_seconds<R>(sum: &mut f64, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let start = Instant::now();
    let result = work()?;
    *sum += start.elapsed().as_secs_f64();
    Ok(result)
}

/// The percentages of a device's time for copies and for compression.
pub(super) fn shares(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let title =
        format!("shares of copy and compression, {count} matrices of order {}", context.order(super::ORDER));
    let mut figure = Figure::new("shares", title, "ratio", "% of the time of a device");
    figure.note("copy: the dense chunk to the device, and on devices the result to memory of its exact size");
    for percent in PERCENTS {
        let data = context.data(percent)?;
        for processor in &context.processors[1..] {
            let mut allowance = context.allowance();
            let name = &processor.name;
            let point = format!("{name} at {}", ratio(percent));
            let stages = allowance.measure(
                &mut figure,
                &point,
                data.dense_bytes(count),
                || with_backend!(processor, backend => copy_and_compress(backend, &data, count)),
            )?;
            let Some([copy, compress]) = stages else { continue };
            figure.add(format!("{name}: copy"), ratio(percent), 100.0 * copy / (copy + compress));
            figure.add(format!("{name}: compress"), ratio(percent), 100.0 * compress / (copy + compress));
            figure.add_to_table(format!("{name}: both, ms"), ratio(percent), (copy + compress) * 1e3);
        }
    }
    Ok(vec![figure])
}

/// Seconds of copies and of compression, chunk after chunk, without overlap.
fn copy_and_compress<B: Compresses>(backend: &B, data: &Data, count: usize) -> Result<[f64; 2]> {
    let (n, size) = (data.order, data.order * data.order);
    let in_chunk = (CHUNK_BYTES / (size * size_of::<f32>())).clamp(1, count);
    let elements = data.elements(in_chunk);
    let (mut copy, mut compress) = (0.0, 0.0);
    let mut plan = None;
    // The first chunk is not counted: it compiles kernels and touches memory.
    for chunk in 0..=count / in_chunk {
        if chunk == 1 {
            (copy, compress) = (0.0, 0.0);
        }
        let uploaded = add_seconds(&mut copy, || {
            let uploaded = backend.upload(&elements)?;
            backend.synchronize()?;
            Ok(uploaded)
        })?;
        let view =
            DenseBatchView::new(SpaceOf::<B>::view(&uploaded), in_chunk, size, (n, n), n, Order::RowMajor)?;
        let plan = match &mut plan {
            Some(plan) => plan,
            none => none.insert(DenseToCompressedPlan::<_, Row, _, _, i32>::new(
                backend,
                view,
                Keep::NonZero,
                &PlanOptions::default(),
            )?),
        };
        let batch: BatchCsr<f32, SpaceOf<B>> = add_seconds(&mut compress, || {
            let batch = plan.run_batch(view)?;
            backend.synchronize()?;
            Ok(batch)
        })?;
        ensure!(batch.nnz() == data.nnz(in_chunk), "{} entries in a chunk", batch.nnz());
        if backend.context() != ContextId::HOST {
            add_seconds(&mut copy, || {
                let exact = batch.to_exact(backend)?;
                backend.synchronize()?;
                drop(exact);
                Ok(())
            })?;
        }
    }
    Ok([copy, compress])
}

/// The five schemes by ratio: matrices one after the other from the host's memory to CSR in the device's.
pub(super) fn schemes(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let title =
        format!("schemes, {count} matrices of order {}, one after the other", context.order(super::ORDER));
    let mut figure = Figure::new("schemes", title, "ratio", "ms");
    figure.note("senders compress and encode with all threads of the host; stages do not overlap");
    figure.note("measured: as many matrices as take 0.3 s, two at least; the rest in proportion");
    let (host, receivers) = (Cpu::new()?, &context.processors[1..]);
    for percent in PERCENTS {
        let (data, x) = (context.data(percent)?, ratio(percent));
        for (receiver, info) in
            receivers.iter().flat_map(|receiver| SCHEMES.iter().map(move |info| (receiver, info)))
        {
            let series = format!("{} to {}", info.name, receiver.name);
            if context.is_late() {
                figure.note(format!("left out for want of time: {series} at {x}"));
                continue;
            }
            let sent = with_backend!(receiver, backend => Transfer::new(&host, backend, info.scheme, &data)?.sample(count)?);
            figure.add(&series, x, sent.seconds * 1e3);
            if receiver.name == receivers[0].name {
                figure.add_to_table(format!("MB sent by {}", info.name), x, sent.bytes / 1e6);
            }
        }
    }
    Ok(vec![figure])
}

/// Seconds of one scheme at one ratio to one receiver, at most.
const SCHEME_SECONDS: f64 = 0.3;

/// The time of a scheme, and the bytes that it sends.
struct Sent {
    seconds: f64,
    bytes: f64,
}

type Encode = fn(&Part, &Csr<f32>, &mut Vec<u8>) -> sparse_core::Result<()>;
type Decode = fn(&Part, &[u8]) -> sparse_core::Result<Csr<f32>>;

/// Encoder and decoder of a scheme whose sender compresses.
fn codec(scheme: Scheme) -> Option<(Encode, Decode)> {
    let ed1_encode: Encode = |part, block, message| {
        *message = ed1::encode(part, block)?;
        Ok(())
    };
    match scheme {
        Scheme::Sfc => None,
        Scheme::Cfs => Some((cfs::encode_into, cfs::decode)),
        Scheme::Ed1 => Some((ed1_encode, ed1::decode)),
        Scheme::Ed2 => Some((ed2::encode_into, ed2::decode)),
        Scheme::Bitmap => Some((bitmap::encode_into, bitmap::decode)),
    }
}

/// A sender, a receiver, and a message that is used again.
struct Transfer<'a, B: Compresses> {
    receiver: &'a B,
    scheme: Scheme,
    data: &'a Data,
    part: Part,
    message: Vec<u8>,
    bytes_sent: usize,
    sender_plan: DenseToCompressedPlan<Cpu, Row, f32, i32, i32>,
    receiver_plan: Option<DenseToCompressedPlan<B, Row, f32, i32, i32>>,
}

impl<'a, B: Compresses> Transfer<'a, B> {
    fn new(host: &Cpu, receiver: &'a B, scheme: Scheme, data: &'a Data) -> Result<Self> {
        let n = data.order;
        let first = DenseView::row_major(data.member(0), n, n)?;
        let sender_plan = DenseToCompressedPlan::new(host, first, Keep::NonZero, &PlanOptions::default())?;
        let (part, message) = (Part::whole((n, n)), vec![]);
        Ok(Self { receiver, scheme, data, part, message, bytes_sent: 0, sender_plan, receiver_plan: None })
    }

    /// Seconds and bytes of `count` matrices, extrapolated from as many of them as there is time for.
    fn sample(&mut self, count: usize) -> Result<Sent> {
        let first = self.run(2)?;
        let affordable = (2.0 * SCHEME_SECONDS / first.seconds) as usize;
        let measured = count.min(affordable.max(2));
        let Sent { seconds, bytes } = self.run(measured)?;
        let scale = count as f64 / measured as f64;
        Ok(Sent { seconds: seconds * scale, bytes: bytes * scale })
    }

    /// Sends `count` matrices; the last is compared with the reference's.
    fn run(&mut self, count: usize) -> Result<Sent> {
        let mut seconds = 0.0;
        self.bytes_sent = 0;
        for item in 0..count {
            let made = add_seconds(&mut seconds, || {
                let made = self.send(item)?;
                self.receiver.synchronize()?;
                Ok(made)
            })?;
            if item + 1 == count {
                self.data.check(self.scheme.info().name, item, &made.to_host(self.receiver)?)?;
            }
        }
        Ok(Sent { seconds, bytes: self.bytes_sent as f64 })
    }

    fn send(&mut self, item: usize) -> Result<Csr<f32, SpaceOf<B>>> {
        let n = self.data.order;
        let elements = self.data.member(item);
        let Some((encode, decode)) = codec(self.scheme) else {
            self.bytes_sent += size_of_val(elements);
            return self.compress_at_receiver(elements);
        };
        let block: Csr<f32> = self.sender_plan.run(DenseView::row_major(elements, n, n)?)?;
        encode(&self.part, &block, &mut self.message)?;
        drop(block);
        self.bytes_sent += self.message.len();
        Ok(decode(&self.part, &self.message)?.to_device(self.receiver)?)
    }

    /// Copies a dense matrix to the receiver, which compresses it.
    fn compress_at_receiver(&mut self, elements: &[f32]) -> Result<Csr<f32, SpaceOf<B>>> {
        let n = self.data.order;
        let uploaded = self.receiver.upload(elements)?;
        let view = DenseView::new(SpaceOf::<B>::view(&uploaded), n, n, n, Order::RowMajor)?;
        let plan = match &mut self.receiver_plan {
            Some(plan) => plan,
            none => none.insert(DenseToCompressedPlan::new(
                self.receiver,
                view,
                Keep::NonZero,
                &PlanOptions::default(),
            )?),
        };
        let made = plan.run(view)?;
        self.receiver.synchronize()?;
        Ok(made)
    }
}
