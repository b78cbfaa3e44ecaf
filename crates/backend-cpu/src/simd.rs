//! Instruction sets, detected at run time, and work that is compiled for each of them.

use bytemuck::{Pod, Zeroable};
#[cfg(target_arch = "x86_64")]
use sparse_core::{DType, Scalar};
use std::sync::LazyLock;

/// An instruction set that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Simd {
    /// Portable code as the compiler vectorizes it.
    Portable,
    /// 256-bit vectors with gathers and FMA, and POPCNT.
    Avx2,
    /// 512-bit vectors with masks and compress-store (F, BW, DQ, VL), and POPCNT.
    Avx512,
    /// 128-bit vectors of AArch64.
    Neon,
}

impl Simd {
    /// The widest instruction set of this processor.
    pub fn detect() -> Self {
        [Self::Avx512, Self::Avx2, Self::Neon]
            .into_iter()
            .find(|simd| simd.is_available())
            .unwrap_or(Self::Portable)
    }

    /// True if this processor has the instruction set.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            #[allow(unreachable_patterns, reason = "the other architectures' sets")]
            _ => false,
        }
    }

    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// True if a gather of this processor takes less time than a load for each of its lanes: not on AMD's.
    pub(crate) fn has_fast_gathers() -> bool {
        #[cfg(test)]
        if let Some(assumed) = ASSUMED_FAST_GATHERS.get() {
            return assumed;
        }
        *IS_INTEL
    }
}

#[cfg(test)]
thread_local! {
    /// The answer of [`Simd::has_fast_gathers`] in this thread, in place of the processor's.
    pub(crate) static ASSUMED_FAST_GATHERS: std::cell::Cell<Option<bool>> = const { std::cell::Cell::new(None) };
}

static IS_INTEL: LazyLock<bool> = LazyLock::new(|| is_made_by(b"GenuineIntel"));

/// True if the processor names this vendor.
#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "safe since Rust 1.94")]
fn is_made_by(vendor: &[u8; 12]) -> bool {
    // SAFETY: every processor of x86-64 has leaf 0.
    let leaf = unsafe { std::arch::x86_64::__cpuid(0) };
    [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).as_flattened() == vendor
}

#[cfg(not(target_arch = "x86_64"))]
fn is_made_by(_: &[u8; 12]) -> bool {
    true
}

/// An instruction set as a type parameter.
pub(crate) trait Isa {
    /// The instruction set as a value.
    const SIMD: Simd;
}

/// True if `S` is the instruction set `simd` and `T` the type `dtype`.
///
/// Kernels are called behind `if const` of it, so that they are compiled for the types that they take and no other.
#[cfg(target_arch = "x86_64")]
pub(crate) const fn is<S: Isa, T: Scalar>(simd: Simd, dtype: DType) -> bool {
    S::SIMD as u8 == simd as u8 && T::DTYPE as u8 == dtype as u8
}

/// Work that is compiled once for each instruction set. `run` is to be `#[inline(always)]`, as all that it calls in its
/// inner loops: code that is not inlined is compiled for the build's base instruction set.
pub(crate) trait Vectorize {
    /// The result of the work.
    type Out;

    /// Does the work with the instructions of `S`.
    fn run<S: Isa>(self) -> Self::Out;
}

macro_rules! isa {
    ($($name:ident),*) => {$(
        pub(crate) struct $name;

        impl Isa for $name {
            const SIMD: Simd = Simd::$name;
        }
    )*};
}

isa!(Portable);
#[cfg(target_arch = "x86_64")]
isa!(Avx2, Avx512);
#[cfg(target_arch = "aarch64")]
isa!(Neon);

impl Simd {
    /// Runs `work` compiled for this instruction set, which this processor has. Neon is part of AArch64's base.
    pub(crate) fn run<W: Vectorize>(self, work: W) -> W::Out {
        debug_assert!(self.is_available());
        match self {
            // SAFETY: a `Cpu` is only made with an instruction set that the processor has.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { run_avx2(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { run_avx512(work) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => work.run::<Neon>(),
            _ => work.run::<Portable>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn run_avx2<W: Vectorize>(work: W) -> W::Out {
    work.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,popcnt")]
fn run_avx512<W: Vectorize>(work: W) -> W::Out {
    work.run::<Avx512>()
}

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Memory aligned to cache lines, for elements of other types: vectors of a line's size then lie in one line each.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct CacheLine([u8; LINE]);

/// Prefetches the cache line of `address`, which need not be valid; does nothing where no such instruction is known.
#[inline(always)]
pub(crate) fn fetch_address<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: no address is wrong for it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Prefetches the cache line of the element at `position`, which need not be inside `data`, as [`fetch_address`] does.
#[inline(always)]
pub(crate) fn fetch_line<T>(data: &[T], position: usize) {
    fetch_address(data.as_ptr().wrapping_add(position));
}

/// Prefetches the cache lines of `len` elements from `start` on, as [`fetch_line`] does.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for kernels in registers"))]
pub(crate) fn fetch<T>(data: &[T], start: usize, len: usize) {
    for at in (0..len).step_by(LINE / size_of::<T>()) {
        fetch_line(data, start + at);
    }
    fetch_line(data, start + len.saturating_sub(1));
}
