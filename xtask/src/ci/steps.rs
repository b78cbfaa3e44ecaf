//! The steps of CI.

use super::{compile, programs, tables};
use crate::parallel_steps::Step;

/// The steps, in the order in which they are started where nothing that they need is missing.
pub(super) const STEPS: &[Step] = &[
    Step { name: "format", about: "rustfmt", budget: 5, needs: &[], run: compile::format },
    Step {
        name: "harness",
        about: "the build of the harness that the steps behind it run",
        budget: 620,
        needs: &[],
        run: compile::build_harness,
    },
    Step { name: "clippy", about: "clippy, warnings denied", budget: 260, needs: &[], run: compile::clippy },
    Step {
        name: "features",
        about: "each crate alone, without default features",
        budget: 180,
        needs: &["clippy"],
        run: compile::features,
    },
    Step {
        name: "portability",
        about: "the minimum Rust and AArch64 compile it, warnings denied",
        budget: 160,
        needs: &["features"],
        run: compile::portability,
    },
    Step {
        name: "kernels",
        about: "every kernel compiles with every set of defines; CUDA's use what their snapshot says",
        budget: 130,
        needs: &["harness"],
        run: tables::kernels,
    },
    Step {
        name: "build",
        about: "every program of the tests compiles",
        budget: 900,
        needs: &["portability"],
        run: compile::build_tests,
    },
    Step {
        name: "test",
        about: "unit, property, snapshot and command tests; with MPI, distributions and solvers over 1 to 8 ranks",
        budget: 480,
        needs: &["build"],
        run: programs::test,
    },
    Step {
        name: "conformance",
        about: "the conformance table, with the corpus where it is",
        budget: 300,
        needs: &["harness"],
        run: tables::conformance,
    },
    Step {
        name: "oclgrind",
        about: "no kernel races or reads what nothing wrote",
        budget: 460,
        needs: &["harness"],
        run: tables::oclgrind,
    },
    Step {
        name: "doc",
        about: "documentation builds without warnings; its algorithm tables are those of the code",
        budget: 25,
        needs: &["harness", "test"],
        run: compile::doc,
    },
    Step {
        name: "opencl",
        about: "tests of devices on PoCL, and the conformance table on PoCL and on Intel's runtime",
        budget: 530,
        needs: &["harness", "doc"],
        run: tables::opencl,
    },
    Step {
        name: "sycl",
        about: "the conformance table and the shim on SYCL queues of the same runtimes; a C++ program with its own queue",
        budget: 200,
        needs: &["harness", "opencl"],
        run: tables::sycl,
    },
    Step {
        name: "scipy",
        about: "the command against SciPy",
        budget: 390,
        needs: &["build"],
        run: programs::scipy,
    },
    Step {
        name: "python",
        about: "the Python package in a fresh environment, its tests and SciPy's own",
        budget: 90,
        needs: &["build"],
        run: programs::python,
    },
    Step {
        name: "bench",
        about: "every benchmark of the CPU runs, those of OpenCL on PoCL, and those of SYCL on Intel's runtime",
        budget: 280,
        needs: &["build"],
        run: programs::benchmarks,
    },
    Step {
        name: "package",
        about: "every crate that is published packages",
        budget: 25,
        needs: &["build"],
        run: compile::package,
    },
];

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn steps_need_steps_before_them() {
        for (index, step) in STEPS.iter().enumerate() {
            for needed in step.needs {
                assert!(STEPS[..index].iter().any(|step| step.name == *needed), "{}: {needed}", step.name);
            }
        }
    }
}
