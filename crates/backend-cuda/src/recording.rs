//! Recordings of a queue's work: captured as a graph, or listed to be compared with one.
//!
//! While a stream is captured, work of every thread would become part of the graph. So other threads wait until the
//! recording ends, and calls of the recording thread that cannot be recorded are refused before they reach the driver,
//! which would invalidate the capture.

use crate::error::failed;
use crate::queue::Queue;
use cudarc::driver::{result, sys};
use sparse_core::{Error, Result, backend};
use sparse_device::{Arg, Grid, Kernel, Memory};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, RwLockWriteGuard};

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
    /// True if calls are only listed, and nothing reaches the library.
    is_list: bool,
}

/// A launch or a copy, down to its bytes: equal ones do the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A launch.
    Launch {
        /// The kernel's handle.
        function: usize,
        /// The launch's configuration.
        grid: Grid,
        /// The bytes of all arguments, of memory its address.
        args: Vec<u8>,
    },
    /// A copy on the device.
    Copy {
        /// The address of its source.
        from: sys::CUdeviceptr,
        /// The address of its target.
        to: sys::CUdeviceptr,
        /// The length in bytes.
        bytes: usize,
    },
}

/// The calls of a recording, and the memory and kernels that they name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    calls: Vec<Call>,
    memory: Vec<Memory>,
    kernels: Vec<Kernel>,
}

impl Named {
    /// Adds a launch.
    pub(crate) fn launch(&mut self, call: Call, kernel: &Kernel, args: &[Arg<'_>]) {
        self.calls.push(call);
        self.kernels.push(kernel.clone());
        self.memory(args.iter().filter_map(|arg| match arg {
            Arg::Memory(memory) => Some(*memory),
            Arg::Value(_) => None,
        }));
    }

    /// Adds a copy.
    pub(crate) fn copy(&mut self, call: Call, from: &Memory, to: &Memory) {
        self.calls.push(call);
        self.memory([from, to]);
    }

    /// Adds memory.
    fn memory<'a>(&mut self, memory: impl IntoIterator<Item = &'a Memory>) {
        self.memory.extend(memory.into_iter().map(Memory::share));
    }
}

impl Queue {
    /// Adds a call to the recording of this thread, if it makes one. True if the call is only listed.
    pub(crate) fn record_call(&self, name: impl FnOnce(&mut Named)) -> bool {
        let add = |recording: &mut Recording| {
            name(&mut recording.named);
            recording.is_list
        };
        self.recording(add).unwrap_or(false)
    }

    /// The calls of `work`, which reach nothing.
    fn list(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<Named> {
        self.refuse_in_recording("listing work")?;
        let list = List::begin(self);
        work()?;
        Ok(list.finish())
    }

    /// Begins a recording of this thread.
    fn begin_recording(&self, is_list: bool) {
        let recording = Recording { queue: self, named: Named::default(), dropped: vec![], is_list };
        RECORDINGS.with(|recordings| recordings.borrow_mut().push(recording));
    }

    /// Ends this thread's recording of the queue, and returns its calls and the memory that was dropped meanwhile.
    fn end_recording(&self) -> (Named, Vec<sys::CUdeviceptr>) {
        let ended = RECORDINGS.with(|recordings| {
            let mut recordings = recordings.borrow_mut();
            let position = recordings.iter().position(|recording| ptr::eq(recording.queue, self));
            position.map(|position| recordings.swap_remove(position))
        });
        ended.map(|ended| (ended.named, ended.dropped)).unwrap_or_default()
    }

    /// Frees memory that was dropped during a recording.
    fn free_all(&self, dropped: Vec<sys::CUdeviceptr>) {
        for pointer in dropped {
            // SAFETY: its owner was dropped.
            unsafe { self.free(pointer) };
        }
    }

    /// An error if this thread records the queue.
    pub(crate) fn refuse_in_recording(&self, what: &str) -> Result<()> {
        if !self.is_recorded_here() {
            return Ok(());
        }
        let reason = "a graph is being recorded, which takes launches and copies on the device alone";
        Err(Error::unsupported(what, reason))
    }

    /// True if this thread records the queue's work.
    pub(crate) fn is_recorded_here(&self) -> bool {
        self.recording(|_| ()).is_some()
    }

    /// True if this thread lists the queue's work.
    pub(crate) fn is_listed_here(&self) -> bool {
        self.recording(|recording| recording.is_list) == Some(true)
    }

    /// Notes that memory was dropped if this thread records the queue's work: a captured stream frees none.
    pub(crate) fn drops_in_recording(&self, pointer: sys::CUdeviceptr) -> bool {
        self.recording(|recording| recording.dropped.push(pointer)).is_some()
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

/// A list of a thread's calls, which ends when this is dropped.
struct List<'a> {
    queue: &'a Queue,
    is_open: bool,
}

impl<'a> List<'a> {
    fn begin(queue: &'a Queue) -> Self {
        queue.begin_recording(true);
        Self { queue, is_open: true }
    }

    fn finish(mut self) -> Named {
        self.end()
    }

    fn end(&mut self) -> Named {
        self.is_open = false;
        let (named, dropped) = self.queue.end_recording();
        self.queue.free_all(dropped);
        named
    }
}

impl Drop for List<'_> {
    fn drop(&mut self) {
        if self.is_open {
            drop(self.end());
        }
    }
}

/// A capture of a stream, which ends when this is dropped.
struct Capture<'a> {
    queue: &'a Queue,
    turn: Option<RwLockWriteGuard<'a, ()>>,
}

impl<'a> Capture<'a> {
    fn begin(queue: &'a Queue) -> Result<Self> {
        let turn = queue.lock();
        let _entered = queue.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive; what breaks the capture is reported by its end.
        unsafe { result::stream::begin_capture(queue.stream, mode) }
            .map_err(failed("cuStreamBeginCapture"))?;
        queue.begin_recording(false);
        Ok(Self { queue, turn: Some(turn) })
    }

    /// Ends the capture; returns the graph, and the memory and kernels that it names.
    fn end(mut self) -> Result<(CapturedGraph, Named)> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(CapturedGraph, Named)> {
        let Self { queue, .. } = *self;
        let (named, dropped) = queue.end_recording();
        let ended = queue.enter().and_then(|_entered| {
            // SAFETY: the capture was begun, by this thread.
            unsafe { result::stream::end_capture(queue.stream) }.map_err(failed("cuStreamEndCapture"))
        });
        // Dropping memory and freeing it take the lock too.
        self.turn = None;
        queue.free_all(dropped);
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
    named: Named,
    /// True if the memory that the graph names may be gone.
    is_released: bool,
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
        Ok(Self { graph, queue: queue.clone(), named, is_released: false })
    }

    /// True if it is of this queue.
    pub(crate) fn is_on(&self, queue: &Queue) -> bool {
        ptr::eq(&raw const *self.queue, queue)
    }

    /// True if `work` makes the calls of this graph, which then has its memory.
    pub(crate) fn is_of(&mut self, work: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
        let named = self.queue.list(work)?;
        let is_same = named.calls == self.named.calls;
        if is_same {
            (self.named, self.is_released) = (named, false);
        }
        Ok(is_same)
    }

    /// Enqueues all of it.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.queue.refuse_in_recording("launching a graph")?;
        if self.is_released {
            return Err(Error::unsupported("launching a graph", "its memory was released"));
        }
        let _enqueues = self.queue.enqueue()?;
        // SAFETY: graph and stream are alive, and so are the memory and kernels that the graph names.
        unsafe { result::graph::launch(self.graph, self.queue.stream) }.map_err(failed("cuGraphLaunch"))
    }
}

impl backend::Recording for Executable {
    fn enqueue(&mut self) -> Result<()> {
        self.launch()
    }

    /// The kernels stay, so that no other gets the handle of one.
    fn release(&mut self) {
        self.is_released = true;
        self.named.memory.clear();
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
