//! The name of a scalar type at run time.

use crate::error::Error;
use std::fmt::Display;
use std::str::FromStr;

/// The name of a scalar type at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE half precision, accumulated in `f32`.
    F16,
    /// bfloat16, accumulated in `f32`.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Complex of two `f32`.
    C32,
    /// Complex of two `f64`.
    C64,
}

impl DType {
    /// The name of the type in this workspace.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!(DType::C64.name(), "c64");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C32 => "c32",
            Self::C64 => "c64",
        }
    }

    /// The type of files that holds the values of all these types exactly: of single precision unless one is wider,
    /// complex if one is.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!(DType::common([DType::F32, DType::F16]), DType::F32);
    /// assert_eq!(DType::common([DType::F32, DType::F64]), DType::F64);
    /// assert_eq!(DType::common([DType::F32, DType::C32]), DType::C32);
    /// assert_eq!(DType::common([DType::C32, DType::F64]), DType::C64);
    /// ```
    pub fn common(types: impl IntoIterator<Item = Self>) -> Self {
        let (mut complex, mut double) = (false, false);
        for dtype in types {
            complex |= dtype.is_complex();
            double |= matches!(dtype, Self::F64 | Self::C64);
        }
        match (complex, double) {
            (false, false) => Self::F32,
            (false, true) => Self::F64,
            (true, false) => Self::C32,
            (true, true) => Self::C64,
        }
    }

    /// True if values have an imaginary part.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert!(DType::C32.is_complex() && !DType::F16.is_complex());
    /// ```
    pub fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The bytes of a value.
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!((DType::Bf16.bytes(), DType::C64.bytes()), (2, 16));
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
        }
    }

    /// The type that products are summed in: [`Scalar::Acc`](crate::Scalar::Acc).
    ///
    /// ```
    /// # use sparse_core::DType;
    /// assert_eq!((DType::F16.accumulator(), DType::F64.accumulator()), (DType::F32, DType::F64));
    /// ```
    pub fn accumulator(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 => Self::F32,
            other => other,
        }
    }
}

impl Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [Self::F16, Self::Bf16, Self::F32, Self::F64, Self::C32, Self::C64];
        let unknown = || Error::unknown_name("type", name, &all.map(Self::name));
        all.into_iter().find(|dtype| dtype.name() == name).ok_or_else(unknown)
    }
}
