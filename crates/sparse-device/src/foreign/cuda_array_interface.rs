//! The CUDA array interface, version 3: the dictionary `__cuda_array_interface__` of Python's libraries.

use super::array::WHAT;
use super::{ForeignArray, MemoryKind};
use sparse_core::{DType, Error, Result};

impl ForeignArray {
    /// The array of a CUDA array interface: its entries `typestr`, `data` (address and read-only), `shape`, `strides`
    /// in bytes and `stream`. A type that NumPy lacks, bfloat16, has no name there.
    ///
    /// ```
    /// use sparse_core::DType;
    /// use sparse_device::foreign::ForeignArray;
    ///
    /// let data = (0x7f00_0000_0000, false);
    /// let array = ForeignArray::from_cuda_array_interface("<f4", data, &[3, 4], Some(&[32, 4]), Some(1))?;
    /// assert_eq!((array.dtype, array.stack()?.leading_dimension), (DType::F32, 8));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a type that no matrix has, for strides that are no whole elements, and for the stream
    /// 0, which the interface leaves undefined.
    pub fn from_cuda_array_interface(
        typestr: &str,
        (address, is_read_only): (usize, bool),
        shape: &[usize],
        strides: Option<&[isize]>,
        stream: Option<usize>,
    ) -> Result<Self> {
        let dtype = match typestr {
            "<f2" => DType::F16,
            "<f4" => DType::F32,
            "<f8" => DType::F64,
            "<c8" => DType::C32,
            "<c16" => DType::C64,
            other => {
                let reason = format!("the type `{other}` is none of <f2, <f4, <f8, <c8 and <c16");
                return Err(Error::unsupported(WHAT, reason));
            }
        };
        if stream == Some(0) {
            let reason = "0 is not a stream: 1 is the legacy default stream, 2 that of the thread";
            return Err(Error::unsupported("the stream of a foreign array", reason));
        }
        let in_elements = |&bytes: &isize| match bytes % dtype.bytes() as isize {
            0 => Ok(bytes / dtype.bytes() as isize),
            _ => {
                let reason =
                    format!("a stride of {bytes} bytes is not a multiple of an element's {}", dtype.bytes());
                Err(Error::unsupported(WHAT, reason))
            }
        };
        let strides = strides.map(|strides| strides.iter().map(in_elements).collect()).transpose()?;
        Ok(Self {
            memory: MemoryKind::Cuda,
            device: 0,
            handle: address,
            byte_offset: 0,
            dtype,
            shape: shape.to_vec(),
            strides,
            is_read_only,
            stream,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_interface_leaves_out_is_refused() {
        let reported = |typestr: &str, strides: &[isize], stream| {
            ForeignArray::from_cuda_array_interface(typestr, (64, true), &[2, 2], Some(strides), stream)
                .unwrap_err()
                .to_string()
        };
        assert!(reported("<i4", &[8, 4], None).contains("`<i4` is none of"));
        assert!(reported(">f4", &[8, 4], None).contains("`>f4` is none of"));
        assert!(reported("<f8", &[20, 8], None).contains("20 bytes is not a multiple of an element's 8"));
        assert!(reported("<f4", &[8, 4], Some(0)).contains("0 is not a stream"));
    }
}
