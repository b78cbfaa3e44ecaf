//! Instruction sets, found at run time.

/// An instruction set that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Simd {
    /// What the compiler makes of portable code.
    Portable,
    /// 256-bit vectors with gathers and FMA.
    Avx2,
    /// 512-bit vectors with masks and compress-store (F, BW, DQ, VL).
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

    /// Whether this processor has the instruction set.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
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
}
