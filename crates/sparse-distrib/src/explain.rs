//! The predictions of all schemes side by side, as a table.

use crate::scheme::{Compressor, Density, Rates, SCHEMES, Scheme, Stage, choose, slowest};
use std::fmt::{Display, Formatter};

/// The predicted times of all schemes for one amount of data, and the scheme that the model prefers.
///
/// ```
/// use sparse_distrib::{Density, Explanation, Rates, Scheme};
///
/// let density = Density { nonzeros: 0.01, value_bytes: 4.0, index_bytes: 4.0 };
/// let rates = Rates { devices: 1, link: 55e9, host_scan: 100e9, host_memory: 250e9, device: 3e12 };
/// let explanation = Explanation::new(density, 25.17e9, &rates);
/// assert_eq!(explanation.chosen, Scheme::Ed2);
/// assert!(explanation.to_string().contains("ed2     sender              0.020     252 ms  host scan    chosen"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The data's density and sizes.
    pub density: Density,
    /// The bytes of the dense data.
    pub dense_bytes: f64,
    /// The rates that the times follow from.
    pub rates: Rates,
    /// A prediction for each scheme, in the order of [`SCHEMES`].
    pub predictions: Vec<Prediction>,
    /// The scheme of [`choose`].
    pub chosen: Scheme,
}

/// The predicted time of one scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The scheme.
    pub scheme: Scheme,
    /// Bytes sent over bytes of the dense data.
    pub wire_ratio: f64,
    /// The time in seconds.
    pub seconds: f64,
    /// The stage that sets the time.
    pub limit: Stage,
}

impl Explanation {
    /// The predictions of [`predict`](crate::predict) and the choice of [`choose`].
    pub fn new(density: Density, dense_bytes: f64, rates: &Rates) -> Self {
        let predictions = SCHEMES.iter().map(|info| {
            let (limit, seconds_per_byte) = slowest(info.scheme, density, rates);
            Prediction {
                scheme: info.scheme,
                wire_ratio: (info.wire_ratio)(density),
                seconds: dense_bytes * seconds_per_byte,
                limit,
            }
        });
        let predictions = predictions.collect();
        Self { density, dense_bytes, rates: *rates, predictions, chosen: choose(density, rates) }
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Density { nonzeros, value_bytes, index_bytes } = self.density;
        let Rates { devices, link, host_scan, host_memory, device } = self.rates;
        let (dense, nonzeros) = (self.dense_bytes / 1e9, 100.0 * nonzeros);
        writeln!(
            f,
            "data   {dense:.3} GB dense, {nonzeros:.3} % nonzeros, {value_bytes} + {index_bytes} bytes each"
        )?;
        writeln!(
            f,
            "rates  {devices} x link {}, host scan {}, host memory {}, {devices} x device {}",
            rate(link),
            rate(host_scan),
            rate(host_memory),
            rate(device)
        )?;
        write!(f, "\nscheme  compressed by  wire ratio  predicted  limited by")?;
        for Prediction { scheme, wire_ratio, seconds, limit } in &self.predictions {
            let compressor = match scheme.info().compressor {
                Compressor::Sender => "sender",
                Compressor::Receiver => "receiver",
            };
            let milliseconds = format!("{:.3} ms", seconds * 1e3);
            let line =
                format!("{scheme:<6}  {compressor:<13}  {wire_ratio:>10.3}  {milliseconds:>9}  {limit:<11}");
            let chosen = if *scheme == self.chosen { "  chosen" } else { "" };
            write!(f, "\n{}", format!("{line}{chosen}").trim_end())?;
        }
        Ok(())
    }
}

/// A rate in GB/s.
fn rate(bytes_per_second: f64) -> String {
    if bytes_per_second.is_infinite() {
        return "unlimited".into();
    }
    format!("{:.1} GB/s", bytes_per_second / 1e9)
}
