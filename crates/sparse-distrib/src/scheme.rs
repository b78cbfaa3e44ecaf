//! Distribution schemes, and the model of their times that chooses among them.
//!
//! Lin, Chung and Liu found ED faster than CFS and CFS faster than SFC between processors; on GPUs SFC won. One model
//! gives both: the slowest stage of a pipeline sets the time, and compressing before sending pays where a host's scan
//! is faster than its links.
//!
//! ```text
//! T(SFC)  = D · max(1 / (N · link), 1 / memory, 1 / (N · device))
//! T(else) = D · max(1 / scan + c / pack, c / (N · link), c / (N · unpack), (1 + 2c) / memory)
//! ```
//!
//! D is the size of the dense data, N the number of devices, c the wire ratio: the bytes sent over the bytes of the
//! dense data. Row pointers, one for each row, are left out of c. The host reads all elements to find the nonzeros, and
//! takes longer the more bytes it writes: at 10 % nonzeros a bitmap has 2/3 of the bytes of `ed2`, and 16 to 64 threads
//! took 0.66 to 0.74 of the time.
//!
//! The engine takes elements from where a source lends them. Those that it writes to slots first cross the links at the
//! rate of these copies at most: N · link is the least of N · link and copy. Where the source lends none, the host also
//! writes what it compresses, and 1 / scan becomes 1 / scan + 1 / copy. A thread of the host compresses whole matrices:
//! of fewer matrices than threads, scan is the rate of as many threads.
//!
//! Source: Lin, Chung, Liu: Data distribution schemes of sparse arrays on distributed memory multicomputers. ICPP
//! Workshops 2002; J. Supercomputing 41 (2007).

use sparse_core::Error;
use std::fmt::Display;
use std::str::FromStr;

/// The form in which parts of a matrix travel, and who compresses them.
///
/// ```
/// use sparse_distrib::Scheme;
///
/// assert_eq!("ed2".parse::<Scheme>()?, Scheme::Ed2);
/// assert!("zip".parse::<Scheme>().unwrap_err().to_string().contains("sfc, cfs, ed1, ed2, bitmap"));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Send followed compress.
    Sfc,
    /// Compress followed send.
    Cfs,
    /// Encoding-decoding with interleaved indices and values.
    Ed1,
    /// Encoding-decoding in planes, with a checksum.
    Ed2,
    /// A bit for each element, and values.
    Bitmap,
}

/// The end of a transfer that compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// The rank that has the matrix.
    Sender,
    /// The rank that gets the part.
    Receiver,
}

/// A row of the table of schemes.
#[derive(Debug, Clone, Copy)]
pub struct SchemeInfo {
    /// The scheme.
    pub scheme: Scheme,
    /// The name in options and reports.
    pub name: &'static str,
    /// The contents of a message.
    pub sends: &'static str,
    /// The end that compresses.
    pub compressor: Compressor,
    /// Bytes sent over bytes of the dense data, row pointers left out.
    pub wire_ratio: fn(Density) -> f64,
    /// The density at which a message is as long as the dense data; `None` where it always is.
    pub break_even: fn(Density) -> Option<f64>,
}

/// All schemes.
pub static SCHEMES: [SchemeInfo; 5] = [
    SchemeInfo {
        scheme: Scheme::Sfc,
        name: "sfc",
        sends: "the dense part",
        compressor: Compressor::Receiver,
        wire_ratio: |_| 1.0,
        break_even: |_| None,
    },
    compressed(Scheme::Cfs, "cfs", "row pointers, indices, values"),
    compressed(Scheme::Ed1, "ed1", "for each row its count and its (index, value) pairs"),
    compressed(Scheme::Ed2, "ed2", "header with checksum, counts, indices, values"),
    SchemeInfo {
        scheme: Scheme::Bitmap,
        name: "bitmap",
        sends: "a bit for each element, values",
        compressor: Compressor::Sender,
        wire_ratio: |d| d.nonzeros + 1.0 / (8.0 * d.value_bytes),
        break_even: |d| Some(1.0 - 1.0 / (8.0 * d.value_bytes)),
    },
];

/// The row of a scheme that sends an index with every value.
const fn compressed(scheme: Scheme, name: &'static str, sends: &'static str) -> SchemeInfo {
    SchemeInfo {
        scheme,
        name,
        sends,
        compressor: Compressor::Sender,
        wire_ratio: |d| d.nonzeros * (d.value_bytes + d.index_bytes) / d.value_bytes,
        break_even: |d| Some(d.value_bytes / (d.value_bytes + d.index_bytes)),
    }
}

/// The fraction of elements that are not zero, and the sizes that decide what they take when sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Density {
    /// Nonzeros over elements.
    pub nonzeros: f64,
    /// Bytes of a value.
    pub value_bytes: f64,
    /// Bytes of an index.
    pub index_bytes: f64,
}

impl Density {
    /// The density above which the bitmap is shorter than a format with indices: 1 / (8 · bytes of an index).
    pub fn bitmap_beats_indices(&self) -> f64 {
        1.0 / (8.0 * self.index_bytes)
    }
}

impl Scheme {
    /// The row of [`SCHEMES`] for this scheme.
    ///
    /// ```
    /// use sparse_distrib::{Compressor, Density, Scheme};
    ///
    /// let half = Density { nonzeros: 0.5, value_bytes: 4.0, index_bytes: 4.0 };
    /// assert_eq!((Scheme::Ed2.info().wire_ratio)(half), 1.0); // as long as the dense data
    /// assert_eq!((Scheme::Bitmap.info().wire_ratio)(half), 0.53125);
    /// assert_eq!(Scheme::Sfc.info().compressor, Compressor::Receiver);
    /// ```
    pub fn info(self) -> &'static SchemeInfo {
        &SCHEMES[self as usize]
    }
}

impl Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.info().name)
    }
}

impl FromStr for Scheme {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        SCHEMES.iter().find(|info| info.name == name).map(|info| info.scheme).ok_or_else(|| {
            let names = SCHEMES.map(|info| info.name).join(", ");
            Error::unsupported(format_args!("the scheme `{name}`"), format_args!("use one of {names}"))
        })
    }
}

/// Rates of a machine, in bytes of dense data per second.
///
/// A rate that does not limit is [`f64::INFINITY`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Devices, each with a link of its own.
    pub devices: usize,
    /// One link from the host to a device.
    pub link: f64,
    /// The rate of all cores of the host finding nonzeros.
    pub host_scan: f64,
    /// All cores of the host writing messages, in bytes of these: with `host_scan` it makes the time of a dense byte
    /// 1 / `host_scan` + wire ratio / `host_pack`.
    pub host_pack: f64,
    /// The threads of the host that hand the planes of messages to one device, in bytes of messages.
    pub host_unpack: f64,
    /// All cores of the host writing elements to slots, from which devices copy them.
    pub host_copy: f64,
    /// The host's memory.
    pub host_memory: f64,
    /// One device compressing.
    pub device: f64,
}

impl Rates {
    /// One device, no rate limits.
    pub const UNLIMITED: Self = Self {
        devices: 1,
        link: f64::INFINITY,
        host_scan: f64::INFINITY,
        host_pack: f64::INFINITY,
        host_unpack: f64::INFINITY,
        host_copy: f64::INFINITY,
        host_memory: f64::INFINITY,
        device: f64::INFINITY,
    };

    fn links(&self) -> f64 {
        self.devices as f64 * self.link
    }

    fn unpacks(&self) -> f64 {
        self.devices as f64 * self.host_unpack
    }

    /// The rates for a source whose elements the host copies to slots, from which devices copy them. A host that
    /// compresses reads them in the source's memory if the source `lends` them; otherwise it copies them first.
    pub(crate) fn by_slots(self, lends: bool) -> Self {
        let link = self.link.min(self.host_copy / self.devices as f64);
        let host_scan = match lends {
            true => self.host_scan,
            false => 1.0 / (1.0 / self.host_scan + 1.0 / self.host_copy),
        };
        Self { link, host_scan, ..self }
    }

    /// The rates for `items` items, each compressed by one of `threads` threads of the host.
    pub(crate) fn with_items(self, items: usize, threads: usize) -> Self {
        let busy = (items.max(1) as f64 / threads as f64).min(1.0);
        Self { host_scan: busy * self.host_scan, host_pack: busy * self.host_pack, ..self }
    }
}

/// A stage of the pipeline, whose rate limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The links from the host to the devices.
    Link,
    /// The host finding nonzeros, and writing messages.
    HostScan,
    /// The host handing messages to the devices.
    HostUnpack,
    /// The host's memory.
    HostMemory,
    /// The devices compressing.
    Device,
}

impl Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Link => "link",
            Self::HostScan => "host scan",
            Self::HostUnpack => "host unpack",
            Self::HostMemory => "host memory",
            Self::Device => "device",
        })
    }
}

/// The seconds that `scheme` takes for `dense_bytes`, with stages that overlap fully.
///
/// ```
/// use sparse_distrib::{Density, Rates, Scheme, predict};
///
/// let density = Density { nonzeros: 0.01, value_bytes: 4.0, index_bytes: 4.0 };
/// let rates = Rates { link: 55e9, host_scan: 100e9, ..Rates::UNLIMITED };
/// let seconds = predict(Scheme::Bitmap, density, 25.17e9, &rates);
/// assert!((seconds - 0.25).abs() < 0.005); // the scan of the host
/// ```
pub fn predict(scheme: Scheme, density: Density, dense_bytes: f64, rates: &Rates) -> f64 {
    let info = scheme.info();
    dense_bytes * slowest(info.compressor, (info.wire_ratio)(density), rates).1
}

/// The stage that sets the time of a scheme with this wire ratio, and its seconds for a byte of the dense data.
pub(crate) fn slowest(compressor: Compressor, ratio: f64, rates: &Rates) -> (Stage, f64) {
    let stages: &[(Stage, f64)] = match compressor {
        Compressor::Receiver => &[
            (Stage::Link, 1.0 / rates.links()),
            (Stage::HostMemory, 1.0 / rates.host_memory),
            (Stage::Device, 1.0 / (rates.devices as f64 * rates.device)),
        ],
        Compressor::Sender => &[
            (Stage::HostScan, 1.0 / rates.host_scan + ratio / rates.host_pack),
            (Stage::Link, ratio / rates.links()),
            (Stage::HostUnpack, ratio / rates.unpacks()),
            (Stage::HostMemory, (1.0 + 2.0 * ratio) / rates.host_memory),
        ],
    };
    stages
        .iter()
        .fold((Stage::Link, 0.0), |slowest, &stage| if stage.1 > slowest.1 { stage } else { slowest })
}

/// The fastest of `sfc`, `ed2` and `bitmap`, as the model predicts; of equally fast schemes, the one that sends fewer
/// bytes. The model predicts the same time for `cfs` and `ed1` as for `ed2`. Over an unlimited link, compressing first
/// gains nothing: then it is `sfc`.
///
/// ```
/// use sparse_distrib::{Density, Rates, Scheme, choose};
///
/// let density = Density { nonzeros: 0.1, value_bytes: 4.0, index_bytes: 4.0 };
/// let one_core = Rates { link: 55e9, host_scan: 2.3e9, host_memory: 250e9, ..Rates::UNLIMITED };
/// assert_eq!(choose(density, &one_core), Scheme::Sfc);
/// assert_eq!(choose(density, &Rates { host_scan: 100e9, ..one_core }), Scheme::Bitmap);
/// ```
pub fn choose(density: Density, rates: &Rates) -> Scheme {
    fastest(|info| (info.wire_ratio)(density), rates)
}

/// The choice of [`choose`] for other wire ratios.
pub(crate) fn fastest(ratio: impl Fn(&SchemeInfo) -> f64, rates: &Rates) -> Scheme {
    if rates.link.is_infinite() {
        return Scheme::Sfc;
    }
    let cost = |scheme: Scheme| {
        let ratio = ratio(scheme.info());
        (slowest(scheme.info().compressor, ratio, rates).1, ratio)
    };
    let faster = |best, scheme| if cost(scheme) < cost(best) { scheme } else { best };
    [Scheme::Ed2, Scheme::Bitmap].into_iter().fold(Scheme::Sfc, faster)
}
