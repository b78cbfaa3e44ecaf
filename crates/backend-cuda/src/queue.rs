//! A stream and its context: entering it on a thread, and recording its work.
//!
//! While a stream is captured, work of every thread would become part of the graph. So other threads wait until the
//! recording ends, and calls of the recording thread that cannot be recorded are refused before they reach the driver,
//! which would invalidate the capture.

use crate::error::failed;
use cudarc::driver::{result, sys};
use sparse_core::{Error, Result, backend};
use sparse_device::{Arg, Kernel, Memory};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The primary context of a device and a stream.
#[derive(Debug)]
pub(crate) struct Queue {
    device: sys::CUdevice,
    context: sys::CUcontext,
    pub(crate) stream: sys::CUstream,
    owns_stream: bool,
    /// Locked for reading to enqueue, and for writing during a recording.
    turn: RwLock<()>,
}

// SAFETY: the driver API may be called from any thread; the handles are not changed after they were made.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

thread_local! {
    /// The recordings of this thread, of different queues.
    static RECORDINGS: RefCell<Vec<Recording>> = const { RefCell::new(vec![]) };
}

/// A recording in progress.
#[derive(Debug)]
struct Recording {
    queue: *const Queue,
    named: Named,
    /// Memory that was dropped during the recording: a captured stream frees none.
    dropped: Vec<sys::CUdeviceptr>,
}

/// Memory and kernels that the launches of a graph name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    memory: Vec<Memory>,
    kernels: Vec<Kernel>,
}

impl Named {
    /// Adds the memory and kernel of a launch.
    pub(crate) fn launch(&mut self, kernel: &Kernel, args: &[Arg<'_>]) {
        self.kernels.push(kernel.clone());
        self.memory(args.iter().filter_map(|arg| match arg {
            Arg::Memory(memory) => Some(*memory),
            Arg::Value(_) => None,
        }));
    }

    /// Adds memory.
    pub(crate) fn memory<'a>(&mut self, memory: impl IntoIterator<Item = &'a Memory>) {
        self.memory.extend(memory.into_iter().map(Memory::share));
    }
}

/// Makes the queue's context the calling thread's until this is dropped, and then restores the one before.
#[derive(Debug)]
pub(crate) struct Entered {
    before: Option<sys::CUcontext>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: the context was this thread's, or is none.
            let _ = unsafe { result::ctx::set_current(before) };
        }
    }
}

/// Permission of the calling thread to enqueue until this is dropped. It must not ask again before that.
#[derive(Debug)]
pub(crate) struct Enqueues<'a> {
    // Fields are dropped in this order.
    _entered: Entered,
    /// None in a recording, which has the lock.
    _turn: Option<RwLockReadGuard<'a, ()>>,
}

impl Queue {
    /// A queue on the caller's stream, or on one of its own.
    pub(crate) fn new(device: sys::CUdevice, stream: Option<sys::CUstream>) -> Result<Self> {
        // SAFETY: the device was found, and the context is released when the queue is dropped.
        let context =
            unsafe { result::primary_ctx::retain(device) }.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        let turn = RwLock::default();
        let mut queue = Self { device, context, stream: ptr::null_mut(), owns_stream: false, turn };
        let _entered = queue.enter()?;
        queue.stream = match stream {
            Some(stream) => stream,
            None => result::stream::create(result::stream::StreamKind::NonBlocking)
                .map_err(failed("cuStreamCreate"))?,
        };
        queue.owns_stream = stream.is_none();
        Ok(queue)
    }

    /// The number of the device.
    pub(crate) fn device(&self) -> sys::CUdevice {
        self.device
    }

    /// True if the stream was made here, so that it does not wait for the default stream, nor that for it.
    pub(crate) fn owns_stream(&self) -> bool {
        self.owns_stream
    }

    /// The primary context of the device.
    pub(crate) fn context(&self) -> sys::CUcontext {
        self.context
    }

    /// A queue of the same context, on a stream of its own.
    pub(crate) fn sibling(&self) -> Result<Self> {
        Self::new(self.device, None)
    }

    /// As [`sibling`](Self::sibling), whose kernels the device prefers to those of other streams.
    pub(crate) fn urgent_sibling(&self) -> Result<Self> {
        let stream = {
            let _entered = self.enter()?;
            // The driver takes the highest priority that it has.
            result::stream::create_with_priority(result::stream::StreamKind::NonBlocking, i32::MIN)
                .map_err(failed("cuStreamCreateWithPriority"))?
        };
        let mut queue = Self::new(self.device, Some(stream))?;
        queue.owns_stream = true;
        Ok(queue)
    }

    /// Makes the context that of the calling thread, for calls that enqueue nothing.
    pub(crate) fn enter(&self) -> Result<Entered> {
        let before = result::ctx::get_current().map_err(failed("cuCtxGetCurrent"))?;
        let before = before.unwrap_or(ptr::null_mut());
        if before == self.context {
            return Ok(Entered { before: None });
        }
        // SAFETY: the context is alive as long as the queue.
        unsafe { result::ctx::set_current(self.context) }.map_err(failed("cuCtxSetCurrent"))?;
        Ok(Entered { before: Some(before) })
    }

    /// Makes the context that of the calling thread, for calls that enqueue; waits until another thread's recording has
    /// ended.
    pub(crate) fn enqueue(&self) -> Result<Enqueues<'_>> {
        let turn = match self.is_recorded_here() {
            true => None,
            false => Some(self.turn.read().unwrap_or_else(PoisonError::into_inner)),
        };
        Ok(Enqueues { _entered: self.enter()?, _turn: turn })
    }

    /// Waits for all work.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let _enqueues = self.enqueue()?;
        // SAFETY: the stream is alive as long as the queue.
        unsafe { result::stream::synchronize(self.stream) }.map_err(failed("cuStreamSynchronize"))
    }

    /// Waits for all work of all streams of the context.
    pub(crate) fn synchronize_context(&self) -> Result<()> {
        self.refuse_in_recording("waiting for the device")?;
        let _enqueues = self.enqueue()?;
        result::ctx::synchronize().map_err(failed("cuCtxSynchronize"))
    }

    /// Frees memory in order with the work of the stream.
    ///
    /// # Safety
    /// The memory was allocated on this stream, or before all of its work, and nobody uses it any more.
    pub(crate) unsafe fn free(&self, pointer: sys::CUdeviceptr) {
        if self.recording(|recording| recording.dropped.push(pointer)).is_some() {
            return;
        }
        if let Ok(_enqueues) = self.enqueue() {
            // SAFETY: the caller promises the same.
            let _ = unsafe { result::free_async(pointer, self.stream) };
        }
    }

    /// Adds the memory and kernels of work to the recording of this thread, if it makes one.
    pub(crate) fn keep(&self, name: impl FnOnce(&mut Named)) {
        self.recording(|recording| name(&mut recording.named));
    }

    /// An error if this thread records the queue.
    pub(crate) fn refuse_in_recording(&self, what: &str) -> Result<()> {
        if !self.is_recorded_here() {
            return Ok(());
        }
        let reason = "a graph is being recorded, which takes launches and copies on the device alone";
        Err(Error::unsupported(what, reason))
    }

    fn is_recorded_here(&self) -> bool {
        self.recording(|_| ()).is_some()
    }

    /// Changes this thread's recording of the queue, if there is one.
    fn recording<R>(&self, change: impl FnOnce(&mut Recording) -> R) -> Option<R> {
        let of_this = |recordings: &RefCell<Vec<Recording>>| {
            let mut recordings = recordings.borrow_mut();
            recordings.iter_mut().find(|recording| ptr::eq(recording.queue, self)).map(change)
        };
        // A thread that ends has none.
        RECORDINGS.try_with(of_this).ok().flatten()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let (Ok(_entered), true) = (self.enter(), self.owns_stream) {
            // SAFETY: the stream was made here, and nothing uses it any more. Its work is finished first, since the
            // process may end next; errors cannot be reported.
            let _ = unsafe { result::stream::synchronize(self.stream) };
            // SAFETY: as above.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
        // SAFETY: the context was retained by `new`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// A capture of a stream, which ends when this is dropped.
struct Capture<'a> {
    queue: &'a Queue,
    turn: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Capture<'a> {
    fn begin(queue: &'a Queue) -> Result<Self> {
        let turn = queue.turn.write().unwrap_or_else(PoisonError::into_inner);
        let _entered = queue.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; what breaks the capture is reported by its end.
        unsafe { result::stream::begin_capture(queue.stream, mode) }
            .map_err(failed("cuStreamBeginCapture"))?;
        let recording = Recording { queue, named: Named::default(), dropped: vec![] };
        RECORDINGS.with(|recordings| recordings.borrow_mut().push(recording));
        Ok(Self { queue, turn: Some(turn) })
    }

    /// Ends the capture; returns the graph, and the memory and kernels that it names.
    fn end(mut self) -> Result<(CapturedGraph, Named)> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(CapturedGraph, Named)> {
        let Self { queue, .. } = *self;
        let recording = RECORDINGS.with(|recordings| {
            let mut recordings = recordings.borrow_mut();
            let position = recordings.iter().position(|recording| ptr::eq(recording.queue, queue));
            position.map(|position| recordings.swap_remove(position))
        });
        let (named, dropped) = recording.map(|ended| (ended.named, ended.dropped)).unwrap_or_default();
        let ended = queue.enter().and_then(|_entered| {
            // SAFETY: the capture was begun, by this thread.
            unsafe { result::stream::end_capture(queue.stream) }.map_err(failed("cuStreamEndCapture"))
        });
        // Dropping memory and freeing it take the lock too.
        self.turn = None;
        for pointer in dropped {
            // SAFETY: its owner was dropped.
            unsafe { queue.free(pointer) };
        }
        Ok((CapturedGraph(ended?), named))
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.turn.is_some() {
            drop(self.finish());
        }
    }
}

/// A captured graph.
struct CapturedGraph(sys::CUgraph);

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was captured; its executable does not need it.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

/// A graph of launches captured from a stream, with the memory and kernels that they name.
#[derive(Debug)]
pub(crate) struct Executable {
    graph: sys::CUgraphExec,
    queue: Arc<Queue>,
    _named: Named,
}

// SAFETY: the handle is not changed after it was made, and a graph is launched through `&mut self` alone.
unsafe impl Send for Executable {}

impl Executable {
    /// Records the launches and copies that `work` enqueues, without running them.
    pub(crate) fn capture(queue: Arc<Queue>, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        queue.refuse_in_recording("recording a graph")?;
        let capture = Capture::begin(&queue)?;
        work()?;
        let _entered = queue.enter()?;
        let (graph, named) = capture.end()?;
        let mut executable = MaybeUninit::uninit();
        // SAFETY: the graph was just captured, and the handle is a live variable.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(executable.as_mut_ptr(), graph.0, 0) };
        made.result().map_err(failed("cuGraphInstantiate"))?;
        // SAFETY: the call succeeded, so it wrote the handle.
        let graph = unsafe { executable.assume_init() };
        Ok(Self { graph, queue: queue.clone(), _named: named })
    }

    /// Enqueues all of it.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.queue.refuse_in_recording("launching a graph")?;
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: graph and stream are alive, and so are the memory and kernels that the graph names.
        unsafe { result::graph::launch(self.graph, self.queue.stream) }.map_err(failed("cuGraphLaunch"))
    }
}

impl backend::Recording for Executable {
    fn enqueue(&mut self) -> Result<()> {
        self.launch()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if let Ok(_entered) = self.queue.enter() {
            // SAFETY: the graph was made by `capture`, and the library keeps it until its launches are done.
            let _ = unsafe { result::graph::exec_destroy(self.graph) };
        }
    }
}
