//! The tables of the model: break-even densities, and times of 6000 matrices of 1024² `f32`.

use sparse_distrib::{Density, Rates, Scheme, choose, predict};

fn density(nonzeros: f64) -> Density {
    Density { nonzeros, value_bytes: 4.0, index_bytes: 4.0 }
}

#[test]
fn break_even_densities() {
    let table = [
        (4.0, 2.0, 0.667, 0.969, 0.0625),
        (4.0, 4.0, 0.500, 0.969, 0.031),
        (8.0, 4.0, 0.667, 0.984, 0.031),
        (8.0, 8.0, 0.500, 0.984, 0.016),
    ];
    for (value_bytes, index_bytes, crs, bitmap, bitmap_beats_crs) in table {
        let sizes = Density { nonzeros: 0.0, value_bytes, index_bytes };
        let break_even = |scheme: Scheme| (scheme.info().break_even)(sizes).unwrap();
        assert!((break_even(Scheme::Cfs) - crs).abs() <= 0.0005);
        assert!((break_even(Scheme::Bitmap) - bitmap).abs() <= 0.0005);
        assert!((sizes.bitmap_beats_indices() - bitmap_beats_crs).abs() <= 0.0005);

        // At the break-even the ratios are equal.
        let ratio = |scheme: Scheme, nonzeros| (scheme.info().wire_ratio)(Density { nonzeros, ..sizes });
        for scheme in [Scheme::Cfs, Scheme::Ed1, Scheme::Ed2, Scheme::Bitmap] {
            assert!((ratio(scheme, break_even(scheme)) - 1.0).abs() < 1e-12);
        }
        let even = sizes.bitmap_beats_indices();
        assert!((ratio(Scheme::Ed2, even) - ratio(Scheme::Bitmap, even)).abs() < 1e-12);
    }
    assert_eq!((Scheme::Sfc.info().break_even)(density(0.5)), None);
}

/// Rates in GB/s; nothing else limits.
fn rates(link: f64, host_scan: f64) -> Rates {
    Rates { link: link * 1e9, host_scan: host_scan * 1e9, ..Rates::UNLIMITED }
}

#[test]
fn times_of_6000_matrices() {
    let bytes = 6000.0 * 1024.0 * 1024.0 * 4.0;
    // Seconds at densities 0.01, 0.1 and 0.5 and how far the table rounds them.
    let table = [
        ("M2070, 1 core", rates(5.7, 1.2), [4.4; 3], [21.0; 3], [21.0; 3], [0.05, 0.5]),
        ("M2070, 12 cores", rates(5.7, 10.0), [4.4; 3], [2.5, 2.5, 4.4], [2.5; 3], [0.05, 0.05]),
        ("H100, 1 core", rates(55.0, 2.3), [0.46; 3], [11.0; 3], [11.0; 3], [0.005, 0.5]),
        ("H100, 16 cores", rates(55.0, 100.0), [0.46; 3], [0.25, 0.25, 0.46], [0.25; 3], [0.005, 0.005]),
        ("GH200", rates(400.0, 300.0), [0.06; 3], [0.08; 3], [0.08; 3], [0.005, 0.005]),
    ];
    for (name, rates, sfc, ed2, bitmap, [sfc_unit, unit]) in table {
        for (k, nonzeros) in [0.01, 0.1, 0.5].into_iter().enumerate() {
            let seconds = |scheme| predict(scheme, density(nonzeros), bytes, &rates);
            assert!((seconds(Scheme::Sfc) - sfc[k]).abs() <= sfc_unit, "{name}: {}", seconds(Scheme::Sfc));
            assert!((seconds(Scheme::Ed2) - ed2[k]).abs() <= unit, "{name}: {}", seconds(Scheme::Ed2));
            assert_eq!(seconds(Scheme::Cfs), seconds(Scheme::Ed2));
            assert!(
                (seconds(Scheme::Bitmap) - bitmap[k]).abs() <= unit,
                "{name}: {}",
                seconds(Scheme::Bitmap)
            );
        }
    }
}

#[test]
fn memory_and_devices_limit_too() {
    let bytes = 2_f64.powi(36);
    let memory = Rates { host_memory: bytes, ..rates(1000.0, 1000.0) };
    let seconds = |scheme, rates| predict(scheme, density(0.5), bytes, &rates);
    assert_eq!(seconds(Scheme::Sfc, memory), 1.0);
    assert_eq!(seconds(Scheme::Ed2, memory), 3.0); // reads the dense data, writes and reads as much
    assert_eq!(seconds(Scheme::Bitmap, memory), 1.0 + 2.0 * 0.53125);
    let slow_devices = Rates { devices: 2, device: bytes / 16.0, ..memory };
    assert_eq!(seconds(Scheme::Sfc, slow_devices), 8.0);
    assert_eq!(seconds(Scheme::Ed2, slow_devices), 3.0);
}

#[test]
fn packing_takes_time_by_the_bytes_of_messages() {
    let rates = Rates { host_pack: 25e9, ..rates(55.0, 100.0) };
    let seconds = |scheme, nonzeros| predict(scheme, density(nonzeros), 1e9, &rates);
    assert!((seconds(Scheme::Ed2, 0.1) - (0.01 + 0.2 * 0.04)).abs() < 1e-12);
    assert!((seconds(Scheme::Bitmap, 0.1) - (0.01 + 0.13125 * 0.04)).abs() < 1e-12);
    // The link takes 0.018 s.
    assert_eq!([0.1, 0.5].map(|nonzeros| choose(density(nonzeros), &rates)), [Scheme::Bitmap, Scheme::Sfc]);
}

/// Milliseconds that 6000 matrices of 1024² took from pinned memory, at 1 and at 10 % nonzeros: of the records
/// `2026-11-26-four-gpus-seed-001-h200` and `docs/notes/many-matrices.md`.
struct Measured {
    sfc: [f64; 2],
    ed2: [f64; 2],
    bitmap: [f64; 2],
}

const MEASURED: [(&str, Measured); 4] = [
    ("1 x H100, 16 cores", Measured { sfc: [461.0, 458.0], ed2: [180.0, 524.0], bitmap: [215.0, 381.0] }),
    ("1 x H100, 32 cores", Measured { sfc: [467.0, 462.0], ed2: [109.0, 409.0], bitmap: [124.0, 270.0] }),
    ("2 x H100, 32 cores", Measured { sfc: [240.0, 232.0], ed2: [111.0, 316.0], bitmap: [130.0, 220.0] }),
    ("4 x H200, 64 cores", Measured { sfc: [150.0, 171.0], ed2: [111.0, 316.0], bitmap: [131.0, 234.0] }),
];

/// From the times of `sfc` and `ed2` the model predicts those of bitmaps within 17 %, and chooses a scheme that takes
/// at most 6 % longer than the fastest.
#[test]
fn the_model_agrees_with_measurements() {
    const NONZEROS: [f64; 2] = [0.01, 0.1];
    for (name, measured) in MEASURED {
        let ratios = NONZEROS.map(|nonzeros| (Scheme::Ed2.info().wire_ratio)(density(nonzeros)));
        let of_ratio = (measured.ed2[1] - measured.ed2[0]) / (ratios[1] - ratios[0]);
        let rates = Rates {
            link: 1.0 / measured.sfc[1],
            host_scan: 1.0 / (measured.ed2[0] - of_ratio * ratios[0]),
            host_pack: 1.0 / of_ratio,
            ..Rates::UNLIMITED
        };
        for (k, nonzeros) in NONZEROS.into_iter().enumerate() {
            let bitmap = predict(Scheme::Bitmap, density(nonzeros), 1.0, &rates);
            let error = bitmap / measured.bitmap[k] - 1.0;
            assert!(error.abs() < 0.17, "{name}, {nonzeros}: {bitmap} ms");
            let taken = match choose(density(nonzeros), &rates) {
                Scheme::Sfc => measured.sfc[k],
                Scheme::Bitmap => measured.bitmap[k],
                _ => measured.ed2[k],
            };
            let fastest = measured.sfc[k].min(measured.ed2[k]).min(measured.bitmap[k]);
            assert!(taken <= 1.06 * fastest, "{name}, {nonzeros}: {taken} ms");
        }
    }
}

#[test]
fn unpacking_takes_time_by_the_bytes_of_messages() {
    let rates = Rates { host_unpack: 4e9, ..rates(50.0, 100.0) };
    let seconds = |scheme, nonzeros| predict(scheme, density(nonzeros), 1e9, &rates);
    assert!((seconds(Scheme::Ed2, 0.1) - 0.05).abs() < 1e-12); // 0.2 GB
    assert!((seconds(Scheme::Bitmap, 0.1) - 0.0328125).abs() < 1e-12);
    assert_eq!(seconds(Scheme::Sfc, 0.1), 0.02);
    assert_eq!([0.01, 0.1].map(|nonzeros| choose(density(nonzeros), &rates)), [Scheme::Ed2, Scheme::Sfc]);
    let two_devices = Rates { devices: 2, ..rates };
    assert!((predict(Scheme::Ed2, density(0.1), 1e9, &two_devices) - 0.025).abs() < 1e-12);
}

#[test]
fn the_choice_follows_the_rule() {
    assert_eq!(choose(density(0.01), &rates(55.0, 100.0)), Scheme::Ed2);
    assert_eq!(choose(density(0.1), &rates(55.0, 100.0)), Scheme::Bitmap);
    assert_eq!(choose(density(0.01), &rates(55.0, 2.3)), Scheme::Sfc);
    assert_eq!(choose(density(0.01), &rates(400.0, 300.0)), Scheme::Sfc);
    assert_eq!(choose(density(0.99), &rates(55.0, 100.0)), Scheme::Sfc); // a bitmap would be longer
    // Two devices have two links, which together are faster than the scan.
    assert_eq!(choose(density(0.01), &Rates { devices: 2, ..rates(55.0, 100.0) }), Scheme::Sfc);
    // The host's memory is read once more, and written, where it compresses.
    let memory = Rates { host_memory: 90e9, ..rates(55.0, 100.0) };
    assert_eq!(choose(density(0.01), &memory), Scheme::Ed2);
    assert_eq!(choose(density(0.5), &memory), Scheme::Sfc);
}

#[test]
fn the_choice_is_never_slower_than_sfc() {
    for link in [1.0, 5.7, 25.0, 55.0, 400.0] {
        for scan in [1.0, 10.0, 100.0, 1000.0] {
            for nonzeros in [0.0, 0.01, 0.03, 0.1, 0.5, 0.97, 1.0] {
                let rates = Rates { host_memory: 250e9, ..rates(link, scan) };
                let seconds = |scheme| predict(scheme, density(nonzeros), 1e9, &rates);
                let chosen = seconds(choose(density(nonzeros), &rates));
                assert!(chosen <= seconds(Scheme::Sfc), "link {link}, scan {scan}, {nonzeros}");
            }
        }
    }
}
