//! A simulation of the [`engine`](crate::engine): when each chunk passes the host, a link and its device.
//!
//! | stage | work | rate |
//! |---|---|---|
//! | host | a thread of each device fills a slot, or compresses where the scheme sends compressed parts | [`Machine::host`] |
//! | link | the chunk is copied to the device | [`Machine::link`], for [`Machine::wire_ratio`] of the bytes |
//! | device | the chunk is compressed, after its copy | [`Device::rate`] and [`Machine::chunk_seconds`] |
//!
//! A device fills the next slots while it copies and compresses a chunk; it copies none meanwhile, as the engine on a
//! device with one stream. Shared resources serve devices first come, first served. O(chunks · devices).
//!
//! It follows a schedule from event to event, where [`predict`](crate::predict) divides all bytes by the slowest rate:
//! so it knows of chunks, of unequal devices and of the pipeline's start and end.

use crate::schedule::{CHUNK_BYTES, Device, Job, Policy, biggest_first, check_devices, chunk_limit, chunks};
use sparse_core::{Error, Result};
use std::collections::VecDeque;

/// The rates of a stage in bytes per second; [`f64::INFINITY`] where nothing limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// The rate of one device alone.
    pub each: f64,
    /// The rate of all devices together.
    pub shared: f64,
}

impl Stage {
    /// A stage that never limits.
    pub const UNLIMITED: Self = Self { each: f64::INFINITY, shared: f64::INFINITY };

    /// Every device has its own stage of this rate.
    pub fn each(rate: f64) -> Self {
        Self { each: rate, ..Self::UNLIMITED }
    }

    /// All devices share one stage of this rate.
    pub fn shared(rate: f64) -> Self {
        Self { shared: rate, ..Self::UNLIMITED }
    }

    /// The seconds of `bytes` from their start to their end.
    fn seconds(self, bytes: f64) -> f64 {
        bytes / self.each.min(self.shared)
    }
}

/// The devices of a run, and what they share.
///
/// ```
/// use sparse_distrib::schedule::{Device, Job, Policy};
/// use sparse_distrib::simulate::{Machine, Stage};
///
/// let device = Device { memory_bytes: 80 << 30, rate: 800e9 };
/// let jobs = [Job { bytes: 4 << 20, resident_bytes: 8 << 20 }; 6000];
/// let seconds = |link| {
///     let machine = Machine { link, ..Machine::new(vec![device; 12]) };
///     machine.simulate(&jobs, Policy::Pull { chunk_bytes: 16 << 20 }).map(|run| run.seconds())
/// };
/// // Twelve devices behind one link take the time of the link; with a link each, a twelfth of it.
/// assert!((seconds(Stage::shared(55e9))? - 0.458).abs() < 0.005);
/// assert!((seconds(Stage::each(55e9))? - 0.041).abs() < 0.005);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// The devices, with the rates at which they compress what has been copied to them.
    pub devices: Vec<Device>,
    /// The host, in dense bytes.
    pub host: Stage,
    /// The links from the host to the devices, in bytes sent.
    pub link: Stage,
    /// Bytes sent over bytes of the dense data.
    pub wire_ratio: f64,
    /// Seconds of a device for each chunk, in addition to the time of its bytes.
    pub chunk_seconds: f64,
    /// Slots of each device; at least 1.
    pub slots: usize,
}

/// The work of one device in a simulated run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceRun {
    /// Dense bytes of its chunks.
    pub bytes: u64,
    /// The number of its chunks.
    pub chunks: usize,
    /// Seconds in which it copied, with the wait for a shared link, and compressed.
    pub busy_seconds: f64,
    /// The end of its last chunk, in seconds from the start.
    pub end: f64,
}

/// A simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// The devices, in the order of the machine.
    pub devices: Vec<DeviceRun>,
    /// The seconds that the run would take if all devices worked at their rates from start to end.
    pub fluid_seconds: f64,
}

impl Simulation {
    /// The seconds until the last device ends.
    pub fn seconds(&self) -> f64 {
        self.devices.iter().map(|device| device.end).fold(0.0, f64::max)
    }

    /// The time of a fluid over the simulated one. 1 without jobs.
    pub fn efficiency(&self) -> f64 {
        if self.seconds() == 0.0 { 1.0 } else { self.fluid_seconds / self.seconds() }
    }
}

impl Machine {
    /// A machine that is limited only by its devices, which have two slots each; everything is sent dense.
    pub fn new(devices: Vec<Device>) -> Self {
        let (host, link) = (Stage::UNLIMITED, Stage::UNLIMITED);
        Self { devices, host, link, wire_ratio: 1.0, chunk_seconds: 0.0, slots: 2 }
    }

    /// Follows a run of `policy`. Chunks have 64 MiB at most, unless the policy names its own.
    ///
    /// # Errors
    /// [`Error::Shape`] if a rate is not positive; the errors of [`Policy::schedule`].
    pub fn simulate(&self, jobs: &[Job], policy: Policy) -> Result<Simulation> {
        self.check()?;
        let mut queues = Queues::new(jobs, policy, &self.devices)?;
        let mut run = Run::new(self);
        while let Some(event) = run.next(&queues) {
            match event {
                Event::Fill(device) => {
                    if let Some(bytes) = queues.take(device) {
                        run.fill(device, bytes);
                    }
                }
                Event::Compress(device) => run.compress(device),
            }
        }
        let bytes = jobs.iter().map(|job| job.bytes as f64).sum();
        Ok(Simulation {
            devices: run.states.into_iter().map(|state| state.run).collect(),
            fluid_seconds: self.fluid_seconds(bytes),
        })
    }

    /// The seconds of `bytes` if they could be divided at will, without chunks.
    fn fluid_seconds(&self, bytes: f64) -> f64 {
        let rate = |device: &Device| {
            let copied_and_compressed = 1.0 / (self.wire_ratio / self.link.each + 1.0 / device.rate);
            copied_and_compressed.min(self.host.each)
        };
        let devices: f64 = self.devices.iter().map(rate).sum();
        bytes / devices.min(self.host.shared).min(self.link.shared / self.wire_ratio)
    }

    fn check(&self) -> Result<()> {
        check_devices(&self.devices)?;
        let rates = [
            ("host", self.host.each),
            ("host", self.host.shared),
            ("link", self.link.each),
            ("link", self.link.shared),
            ("wire", self.wire_ratio),
        ];
        match rates.into_iter().find(|(_, rate)| rate.is_nan() || *rate <= 0.0) {
            None => Ok(()),
            Some((name, rate)) => {
                Err(Error::shape("simulate", format!("the {name} has rate {rate}; it must be positive")))
            }
        }
    }
}

/// The dense bytes of the chunks that are not yet taken.
struct Queues {
    own: Vec<VecDeque<u64>>,
    shared: VecDeque<u64>,
}

impl Queues {
    fn new(jobs: &[Job], policy: Policy, devices: &[Device]) -> Result<Self> {
        let total = jobs.iter().map(|job| job.bytes).fold(0, u64::saturating_add);
        let mut own = vec![VecDeque::new(); devices.len()];
        if let Policy::Pull { chunk_bytes } = policy {
            let mut shared = chunks(jobs, chunk_limit(chunk_bytes, total, devices.len()));
            biggest_first(&mut shared, devices.len(), |chunk| chunk.1);
            return Ok(Self { own, shared: shared.into_iter().map(|chunk| chunk.1).collect() });
        }
        let limit = chunk_limit(CHUNK_BYTES, total, devices.len());
        for (own, queue) in own.iter_mut().zip(policy.schedule(jobs, devices)?.queues()) {
            let jobs: Vec<Job> = queue.iter().map(|&job| jobs[job]).collect();
            own.extend(chunks(&jobs, limit).into_iter().map(|chunk| chunk.1));
        }
        Ok(Self { own, shared: VecDeque::new() })
    }

    fn has_chunk(&self, device: usize) -> bool {
        !(self.own[device].is_empty() && self.shared.is_empty())
    }

    fn take(&mut self, device: usize) -> Option<u64> {
        self.own[device].pop_front().or_else(|| self.shared.pop_front())
    }
}

/// The next step of a device.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Fill a free slot.
    Fill(usize),
    /// Copy and compress the chunk of the slot that was filled first.
    Compress(usize),
}

/// A device during the simulation; all times are in seconds from the start.
#[derive(Debug, Clone)]
struct DeviceState {
    rate: f64,
    /// The times from which slots are free.
    free_slots: VecDeque<f64>,
    /// The times at which slots are full, and the bytes in them.
    full_slots: VecDeque<(f64, u64)>,
    /// The time from which the thread that fills slots is free.
    filler_free: f64,
    run: DeviceRun,
}

/// The state of a simulation.
struct Run<'a> {
    machine: &'a Machine,
    states: Vec<DeviceState>,
    /// The times from which the shared parts of host and link are free.
    host_free: f64,
    link_free: f64,
}

impl<'a> Run<'a> {
    fn new(machine: &'a Machine) -> Self {
        let state = |device: &Device| DeviceState {
            rate: device.rate,
            free_slots: vec![0.0; machine.slots.max(1)].into(),
            full_slots: VecDeque::new(),
            filler_free: 0.0,
            run: DeviceRun::default(),
        };
        let states = machine.devices.iter().map(state).collect();
        Self { machine, states, host_free: 0.0, link_free: 0.0 }
    }

    /// The earliest event; of several at one time a compression, and that of the first device.
    fn next(&self, queues: &Queues) -> Option<Event> {
        let mut earliest: Option<(f64, Event)> = None;
        let mut offer = |time: f64, event| {
            if earliest.is_none_or(|(first, _)| time < first) {
                earliest = Some((time, event));
            }
        };
        for (device, state) in self.states.iter().enumerate() {
            if let Some(&(full, _)) = state.full_slots.front() {
                offer(full.max(state.run.end), Event::Compress(device));
            }
        }
        for (device, state) in self.states.iter().enumerate().filter(|(device, _)| queues.has_chunk(*device))
        {
            if let Some(free) = state.free_slots.front() {
                offer(free.max(state.filler_free), Event::Fill(device));
            }
        }
        earliest.map(|(_, event)| event)
    }

    fn fill(&mut self, device: usize, bytes: u64) {
        let (host, state) = (self.machine.host, &mut self.states[device]);
        let slot = state.free_slots.pop_front().unwrap_or_default();
        let start = slot.max(state.filler_free).max(self.host_free);
        self.host_free = start + bytes as f64 / host.shared;
        state.filler_free = start + host.seconds(bytes as f64);
        state.full_slots.push_back((state.filler_free, bytes));
    }

    fn compress(&mut self, device: usize) {
        let (machine, state) = (self.machine, &mut self.states[device]);
        let Some((full, bytes)) = state.full_slots.pop_front() else { return };
        let (ready, sent) = (full.max(state.run.end), bytes as f64 * machine.wire_ratio);
        let start = ready.max(self.link_free);
        self.link_free = start + sent / machine.link.shared;
        let end = start + machine.link.seconds(sent) + bytes as f64 / state.rate + machine.chunk_seconds;
        state.free_slots.push_back(end);
        let run = &mut state.run;
        (run.bytes, run.chunks) = (run.bytes + bytes, run.chunks + 1);
        (run.busy_seconds, run.end) = (run.busy_seconds + end - ready, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: Policy = Policy::Pull { chunk_bytes: 10 };

    fn jobs<const N: usize>(bytes: [u64; N]) -> [Job; N] {
        bytes.map(|bytes| Job { bytes, resident_bytes: bytes })
    }

    fn device(rate: f64) -> Device {
        Device { memory_bytes: 1 << 30, rate }
    }

    fn seconds(machine: &Machine, jobs: &[Job], policy: Policy) -> f64 {
        machine.simulate(jobs, policy).unwrap().seconds()
    }

    #[test]
    fn one_device_takes_the_sum_and_equal_ones_divide_it() {
        let jobs = jobs([10; 24]);
        for (devices, expected) in [(1, 120.0), (2, 60.0), (12, 10.0)] {
            let machine = Machine::new(vec![device(2.0); devices]);
            let simulation = machine.simulate(&jobs, PULL).unwrap();
            assert_eq!((simulation.seconds(), simulation.efficiency()), (expected, 1.0));
            let busy: f64 = simulation.devices.iter().map(|device| device.busy_seconds).sum();
            assert_eq!(busy, 120.0);
        }
    }

    #[test]
    fn nothing_is_faster_than_what_all_devices_share() {
        let jobs = jobs([10; 100]);
        let machine = Machine::new(vec![device(1e12); 7]);
        let by_link = Machine { link: Stage::shared(5.0), ..machine.clone() };
        let by_half = Machine { wire_ratio: 0.5, ..by_link.clone() };
        let by_host = Machine { host: Stage::shared(4.0), ..by_half.clone() };
        for (machine, expected) in [(by_link, 200.0), (by_half, 100.0), (by_host, 250.0)] {
            let simulation = machine.simulate(&jobs, PULL).unwrap();
            assert!((expected..expected * 1.01).contains(&simulation.seconds()), "{simulation:?}");
            assert!((simulation.fluid_seconds - expected).abs() < 1e-6);
        }
    }

    /// Two devices with two slots each, one at half the other's rate, behind one link of 10 bytes a second. The host
    /// fills at 20 bytes a second for each; chunks have 10 bytes.
    ///
    /// | chunk | device | filled | copied | compressed |
    /// |---|---|---|---|---|
    /// | 1 | fast | 0 – 0.5 | 0.5 – 1.5 | – 2.5 |
    /// | 2 | slow | 0 – 0.5 | 1.5 – 2.5 | – 4.5 |
    /// | 3 | fast | 0.5 – 1 | 2.5 – 3.5 | – 4.5 |
    /// | 5 | fast | 2.5 – 3 | 4.5 – 5.5 | – 6.5 |
    /// | 4 | slow | 0.5 – 1 | 5.5 – 6.5 | – 8.5 |
    #[test]
    fn a_schedule_computed_by_hand() {
        let machine = Machine {
            host: Stage::each(20.0),
            link: Stage::shared(10.0),
            ..Machine::new(vec![device(10.0), device(5.0)])
        };
        let simulation = machine.simulate(&jobs([10; 5]), PULL).unwrap();
        let [fast, slow] = simulation.devices[..] else { panic!("{simulation:?}") };
        assert_eq!((fast.chunks, fast.bytes, fast.end), (3, 30, 6.5));
        assert_eq!((slow.chunks, slow.bytes, slow.end), (2, 20, 8.5));
        assert_eq!((fast.busy_seconds, slow.busy_seconds), (6.0, 8.0));
    }

    #[test]
    fn a_chunk_costs_its_own_seconds_and_one_slot_forbids_filling_ahead() {
        let jobs = jobs([10; 8]);
        let machine =
            Machine { host: Stage::each(10.0), chunk_seconds: 0.5, ..Machine::new(vec![device(5.0)]) };
        assert_eq!(seconds(&machine, &jobs, PULL), 1.0 + 8.0 * 2.5);
        assert_eq!(seconds(&Machine { slots: 1, ..machine }, &jobs, PULL), 8.0 * 3.5);
    }

    #[test]
    fn without_host_and_link_a_run_takes_what_its_schedule_says() {
        let sizes: Vec<u64> = (0..50).map(|k| k * 37 % 23 + 1).collect();
        let jobs: Vec<Job> = sizes.iter().map(|&bytes| Job { bytes, resident_bytes: bytes }).collect();
        let devices = vec![device(3.0), device(1.0), device(2.0)];
        for policy in Policy::ALL {
            let expected = policy.schedule(&jobs, &devices).unwrap().makespan(&jobs, &devices);
            // With one slot, a device takes a chunk when it is free, as in the schedule.
            let machine = Machine { slots: 1, ..Machine::new(devices.clone()) };
            let simulated = seconds(&machine, &jobs, policy);
            assert!((simulated / expected - 1.0).abs() < 1e-12, "{policy}: {simulated}, {expected}");
        }
    }

    #[test]
    fn what_is_no_machine_is_refused() {
        let machine = Machine::new(vec![device(1.0)]);
        assert_eq!(machine.simulate(&[], PULL).unwrap().efficiency(), 1.0);
        for link in [Stage::each(0.0), Stage::shared(f64::NAN)] {
            let error = Machine { link, ..machine.clone() }.simulate(&jobs([1]), PULL).unwrap_err();
            assert!(error.to_string().contains("link"), "{error}");
        }
        assert!(Machine::new(vec![]).simulate(&[], PULL).is_err());
    }
}
