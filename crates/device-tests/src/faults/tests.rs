//! Checks of the list of faults that need no device.

use super::idle_driver::IdleDriver;
use super::*;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Every changed text occurs once in its file: planting asserts it.
#[test]
fn every_fault_can_be_planted() {
    for fault in faults() {
        for (language, files) in [("cl", kernels_cl::FILES), ("cu", kernels_cu::FILES)] {
            let planted = files.iter().filter_map(|file| fault.plant(file)).count();
            assert_eq!(
                planted,
                usize::from(fault.change(language).is_some()),
                "{} in {language}",
                fault.name()
            );
        }
    }
}

#[test]
fn every_operation_has_a_fault_in_each_language() {
    let operations: BTreeSet<_> = suite(&Reference).subjects().map(|subject| subject.key().name()).collect();
    for language in ["cl", "cu"] {
        let here = |fault: &&Fault| matches!(fault.place, Site::Read) || fault.change(language).is_some();
        let found: BTreeSet<_> = faults()
            .filter(here)
            .flat_map(|fault| fault.found_by.iter().map(|(operation, _)| operation.to_string()))
            .collect();
        assert_eq!(found, operations, "{language}");
    }
}

/// Which kernel multiplies depends on the columns of U and V, and few cases are for many.
#[test]
fn the_cases_of_sampled_products_launch_the_kernels_with_faults() {
    for (backend, files) in [("opencl", kernels_cl::FILES), ("cuda", kernels_cu::FILES)] {
        for fault in faults() {
            let Site::Kernel { file, .. } = fault.place else { continue };
            if !files.iter().any(|file| fault.plant(file).is_some()) {
                continue;
            }
            for find in fault.found_by.iter().filter(|(operation, _)| operation.starts_with("sddmm/")) {
                let device = IdleDriver::device(backend, files);
                DeviceTable::new(&device).records(fault.case, find);
                let launched = device.driver_as::<IdleDriver>().unwrap().launched();
                assert!(launched.contains(file), "{}: {find:?} launches {launched:?}", fault.name());
            }
        }
    }
}

#[test]
fn names_are_unique_in_each_language() {
    for language in ["cl", "cu"] {
        let names = faults().filter(|fault| fault.change(language).is_some()).map(Fault::name);
        let names: Vec<_> = names.collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
}

#[test]
fn the_page_lists_every_fault() {
    let mut lines =
        String::from("| kernels | fault | kind | planted in | found by | on |\n|---|---|---|---|---|---|\n");
    for fault in faults() {
        let file = match fault.place {
            Site::Kernel { file, .. } => format!("`{file}`"),
            Site::Read => "reads".into(),
        };
        let languages = match (fault.change("cl"), fault.change("cu")) {
            (Some(_), None) => "opencl, sycl",
            (None, Some(_)) => "cuda",
            _ => "opencl, sycl, cuda",
        };
        let found_by = fault.found_by.iter().map(|(operation, algorithm)| match algorithm {
            Some(algorithm) => format!("`{operation}` {algorithm}"),
            None => format!("`{operation}`"),
        });
        let found_by = found_by.collect::<Vec<_>>().join(", ");
        writeln!(
            lines,
            "| {file} | {} | {} | {languages} | {found_by} | `{}` |",
            fault.what, fault.kind, fault.case
        )
        .unwrap();
    }
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md")).unwrap();
    assert!(page.contains(&lines), "docs/faults.md should have this table:\n{lines}");
}
