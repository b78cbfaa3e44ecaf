//! Storage of rates: seven numbers, under a key of everything that they depend on.

use super::Target;
use crate::scheme::Rates;
use sparse_core::Backend;

/// The key: everything that rates depend on.
pub(super) fn key<H: Backend, B: Backend>(host: &H, target: &Target<'_, B>) -> String {
    let (host, device) = (host.caps(), target.backend.caps());
    format!(
        "processor: {}\nhost: {} x {} {} {}\ndevice: {} {}\ndriver: {}",
        processor(),
        host.compute_units,
        host.backend,
        host.device,
        host.features.join(" "),
        device.backend,
        device.device,
        target.driver
    )
}

/// The model of the processor, as far as the system says it.
fn processor() -> String {
    if let Ok(name) = std::env::var("PROCESSOR_IDENTIFIER") {
        return name; // Windows
    }
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first_line = |key: &str| about.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    ["model name", "CPU implementer", "CPU part"].map(first_line).join("")
}

pub(super) fn rates_to_bytes(rates: &Rates) -> Vec<u8> {
    let Rates { link, host_scan, host_pack, host_unpack, host_copy, host_memory, device, .. } = *rates;
    let numbers = [link, host_scan, host_pack, host_unpack, host_copy, host_memory, device];
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Stored rates, if they are seven positive numbers.
pub(super) fn rates_from_bytes(bytes: &[u8], devices: usize) -> Option<Rates> {
    let numbers = bytes.chunks(8).map(|chunk| Some(f64::from_le_bytes(chunk.try_into().ok()?)));
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    let [link, host_scan, host_pack, host_unpack, host_copy, host_memory, device] = numbers[..] else {
        return None;
    };
    numbers.iter().all(|&number| number > 0.0).then_some(Rates {
        devices,
        link,
        host_scan,
        host_pack,
        host_unpack,
        host_copy,
        host_memory,
        device,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::Calibration;
    use sparse_core::reference::Reference;

    const STORED: Rates = Rates {
        devices: 3,
        link: f64::INFINITY,
        host_scan: 2.0,
        host_pack: 5.0,
        host_unpack: 6.0,
        host_copy: 7.0,
        host_memory: 3.0,
        device: 4.0,
    };

    #[test]
    fn stored_rates_are_taken_as_long_as_the_machine_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target { backend: &Reference, devices: 3, driver: "1" };
        let calibration = Calibration::in_folder(folder.path());
        let cache = calibration.cache.as_ref().unwrap();
        cache.write(&key(&Reference, &target), &rates_to_bytes(&STORED)).unwrap();
        assert_eq!(calibration.rates(&Reference, &target).unwrap(), STORED);
        let four = Target { devices: 4, ..target.clone() };
        assert_eq!(calibration.rates(&Reference, &four).unwrap(), Rates { devices: 4, ..STORED });
        let newer = Target { driver: "2", ..target.clone() };
        assert_eq!(cache.read(&key(&Reference, &newer)), None);

        let measured = calibration.refresh(&Reference, &target).unwrap();
        assert_ne!(measured, STORED);
        assert_eq!(calibration.rates(&Reference, &target).unwrap(), measured);
        assert!(measured.link.is_infinite());
        let rates = [measured.host_scan, measured.host_memory, measured.device];
        assert!(rates.iter().all(|rate| (1e3..1e15).contains(rate)), "{measured:?}");
    }

    #[test]
    fn what_is_no_rate_is_not_read() {
        let bytes = rates_to_bytes(&STORED);
        assert_eq!(rates_from_bytes(&bytes, 3), Some(STORED));
        assert!((0..bytes.len()).all(|len| rates_from_bytes(&bytes[..len], 3).is_none()));
        for wrong in [0.0, -1.0, f64::NAN] {
            assert_eq!(rates_from_bytes(&rates_to_bytes(&Rates { device: wrong, ..STORED }), 3), None);
        }
    }
}
