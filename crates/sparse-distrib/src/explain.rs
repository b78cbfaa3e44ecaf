//! The predictions of all schemes side by side, as a table.

use crate::scheme::{Compressor, Density, Rates, SCHEMES, Scheme, SchemeInfo, Stage, fastest, slowest};
use std::fmt::{Display, Formatter};

/// The predicted times of all schemes for one amount of data, and the scheme that the model prefers.
///
/// ```
/// use sparse_distrib::{Density, Explanation, Rates, Scheme};
///
/// let density = Density { nonzeros: 0.01, value_bytes: 4.0, index_bytes: 4.0 };
/// let rates = Rates { link: 55e9, host_scan: 100e9, host_memory: 250e9, ..Rates::UNLIMITED };
/// let explanation = Explanation::new(density, 25.17e9, &rates);
/// assert_eq!(explanation.chosen, Scheme::Ed2);
/// let table = explanation.to_string();
/// let line = table.lines().find(|line| line.starts_with("ed2")).unwrap();
/// assert!(line.split_whitespace().eq("ed2 sender 0.020 251.700 ms host scan chosen".split(' ')));
///
/// let table = explanation.with_outcome(Scheme::Ed2, 0.28).to_string();
/// let line = table.lines().find(|line| line.starts_with("ed2")).unwrap();
/// assert!(line.split_whitespace().eq("ed2 sender 0.020 251.700 ms 280.000 ms host scan chosen".split(' ')));
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
    /// The scheme of [`choose`](crate::choose).
    pub chosen: Scheme,
    /// The scheme that was taken, and its time in seconds.
    pub outcome: Option<(Scheme, f64)>,
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
    /// The predictions of [`predict`](crate::predict) and the choice of [`choose`](crate::choose).
    pub fn new(density: Density, dense_bytes: f64, rates: &Rates) -> Self {
        Self::with_ratios(density, dense_bytes, rates, |info| (info.wire_ratio)(density))
    }

    /// The predictions for messages that are decoded in the host's memory, as the [`engine`](crate::engine) does for
    /// devices that do not [unpack](crate::Worker::unpacks) them: with every scheme, the arrays of the compressed
    /// matrix cross the link.
    ///
    /// ```
    /// use sparse_distrib::{Density, Explanation, Rates};
    ///
    /// let density = Density { nonzeros: 0.1, value_bytes: 4.0, index_bytes: 4.0 };
    /// let rates = Rates { link: 55e9, host_scan: 100e9, host_memory: 250e9, ..Rates::UNLIMITED };
    /// let explanation = Explanation::decoded_on_host(density, 1e9, &rates);
    /// let ratios: Vec<f64> = explanation.predictions.iter().map(|prediction| prediction.wire_ratio).collect();
    /// assert_eq!(ratios, [1.0, 0.2, 0.2, 0.2, 0.2]); // a bitmap alone would have 0.13
    /// ```
    pub fn decoded_on_host(density: Density, dense_bytes: f64, rates: &Rates) -> Self {
        Self::with_ratios(density, dense_bytes, rates, |info| match info.compressor {
            Compressor::Receiver => (info.wire_ratio)(density),
            Compressor::Sender => (Scheme::Cfs.info().wire_ratio)(density),
        })
    }

    fn with_ratios(
        density: Density,
        dense_bytes: f64,
        rates: &Rates,
        ratio: impl Fn(&SchemeInfo) -> f64,
    ) -> Self {
        let predictions = SCHEMES.iter().map(|info| {
            let wire_ratio = ratio(info);
            let (limit, seconds_per_byte) = slowest(info.compressor, wire_ratio, rates);
            Prediction { scheme: info.scheme, wire_ratio, seconds: dense_bytes * seconds_per_byte, limit }
        });
        let predictions = predictions.collect();
        let chosen = fastest(ratio, rates);
        Self { density, dense_bytes, rates: *rates, predictions, chosen, outcome: None }
    }

    /// The explanation with the scheme that was taken and its time, which the table shows beside the prediction.
    #[must_use]
    pub fn with_outcome(self, scheme: Scheme, seconds: f64) -> Self {
        Self { outcome: Some((scheme, seconds)), ..self }
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Density { nonzeros, value_bytes, index_bytes } = self.density;
        let Rates { devices, link, host_scan, host_pack, host_unpack, host_copy, host_memory, device } =
            self.rates;
        let (dense, nonzeros) = (self.dense_bytes / 1e9, 100.0 * nonzeros);
        writeln!(
            f,
            "data   {dense:.3} GB dense, {nonzeros:.3} % nonzeros, {value_bytes} + {index_bytes} bytes each"
        )?;
        writeln!(
            f,
            "rates  {devices} x link {}, host scan {}, packing {}, {devices} x unpacking {}, copies {}, memory {}, {devices} x device {}",
            rate(link),
            rate(host_scan),
            rate(host_pack),
            rate(host_unpack),
            rate(host_copy),
            rate(host_memory),
            rate(device)
        )?;
        let measured = if self.outcome.is_some() { "      measured" } else { "" };
        write!(f, "\nscheme  compressed by  wire ratio     predicted{measured}  limited by")?;
        for Prediction { scheme, wire_ratio, seconds, limit } in &self.predictions {
            let compressor = match scheme.info().compressor {
                Compressor::Sender => "sender",
                Compressor::Receiver => "receiver",
            };
            let predicted = milliseconds(*seconds);
            let measured = match self.outcome {
                Some((taken, seconds)) if taken == *scheme => format!("  {:>12}", milliseconds(seconds)),
                Some(_) => " ".repeat(14),
                None => String::new(),
            };
            let line = format!(
                "{scheme:<6}  {compressor:<13}  {wire_ratio:>10.3}  {predicted:>12}{measured}  {limit:<11}"
            );
            let chosen = if *scheme == self.chosen { "  chosen" } else { "" };
            write!(f, "\n{}", format!("{line}{chosen}").trim_end())?;
        }
        Ok(())
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// A rate in GB/s.
fn rate(bytes_per_second: f64) -> String {
    if bytes_per_second.is_infinite() {
        return "unlimited".into();
    }
    format!("{:.1} GB/s", bytes_per_second / 1e9)
}
