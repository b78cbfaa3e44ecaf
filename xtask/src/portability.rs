//! The checks of the step `portability`, which a job of `.github/workflows/ci.yml` repeats line by line.

/// The compiler's flags for them: warnings are denied, since clippy sees the code of x86-64 alone.
pub(crate) const RUSTFLAGS: &str = "-D warnings";

/// A check, and the toolchain or target that it needs from rustup.
pub(crate) struct Check {
    /// The toolchain or target that it needs.
    pub(crate) needs: &'static str,
    /// Lists the toolchains or targets that are installed.
    pub(crate) list: &'static str,
    /// The command that installs it.
    pub(crate) install: &'static str,
    /// The check itself.
    pub(crate) run: &'static str,
}

/// The minimum Rust, for x86-64 and AArch64.
///
/// Libraries and programs are checked, not tests: clippy's `incompatible_msrv` already refuses newer functions of the
/// standard library everywhere, so that the minimum Rust is left to find newer syntax and dependencies that need more.
/// Code that both targets compile is checked for AArch64; for x86-64 the crate with code for it alone, and the server,
/// whose cryptography would need a C compiler for AArch64. The benchmark, whose peers are large, is left out. Nothing
/// is linked, which takes no cross compiler.
pub(crate) const CHECKS: [Check; 3] = [
    Check {
        needs: "1.89",
        list: "rustup toolchain list",
        install: "rustup toolchain install 1.89 --profile minimal",
        run: "rustup run 1.89 cargo check -p backend-cpu -p sparse-server",
    },
    Check {
        needs: "aarch64-unknown-linux-gnu",
        list: "rustup target list --installed --toolchain 1.89",
        install: "rustup toolchain install 1.89 --profile minimal --target aarch64-unknown-linux-gnu",
        run: "rustup run 1.89 cargo check --workspace --exclude sparse-bench --exclude sparse-cli --exclude sparse-server --lib --bins --target aarch64-unknown-linux-gnu",
    },
    Check {
        needs: "aarch64-unknown-linux-gnu",
        list: "rustup target list --installed --toolchain 1.89",
        install: "rustup toolchain install 1.89 --profile minimal --target aarch64-unknown-linux-gnu",
        run: "rustup run 1.89 cargo check -p sparse-cli --no-default-features --features cpu,opencl,sycl,cuda --target aarch64-unknown-linux-gnu",
    },
];
