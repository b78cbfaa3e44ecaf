//! Dumps of matrices and results: named arrays without types.

use sparse_core::{Element, Scalar, c64};
use std::borrow::Cow;
use std::fmt::Display;

/// Named arrays, compared bit for bit: patterns match exactly, moved values bit for bit.
#[derive(Debug, Clone, Default)]
pub struct ArrayDump<'a>(Vec<Array<'a>>);

/// The bytes of an array, with their interpretation.
#[derive(Debug, Clone)]
struct Array<'a> {
    name: &'static str,
    bytes: Cow<'a, [u8]>,
    /// Bytes of an element.
    width: usize,
    /// An element as text.
    text: fn(&[u8]) -> String,
}

impl<'a> Array<'a> {
    fn new<T: Element>(name: &'static str, elements: &'a [T], text: fn(&[u8]) -> String) -> Self {
        Self { name, bytes: bytemuck::cast_slice(elements).into(), width: size_of::<T>(), text }
    }

    fn into_owned(self) -> Array<'static> {
        let Self { name, bytes, width, text } = self;
        Array { name, bytes: bytes.into_owned().into(), width, text }
    }

    fn elements(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }

    fn difference(&self, expected: &Self) -> Option<String> {
        if self.bytes == expected.bytes {
            return None;
        }
        let (len, expected_len) = (self.elements().count(), expected.elements().count());
        if len != expected_len {
            return Some(format!("{} has {len} elements, expected {expected_len}", self.name));
        }
        let mut pairs = self.elements().zip(expected.elements()).enumerate();
        let (at, (found, wanted)) = pairs.find(|(_, (found, wanted))| found != wanted)?;
        Some(format!("{}[{at}] = {}, expected {}", self.name, (self.text)(found), (self.text)(wanted)))
    }
}

impl<'a> ArrayDump<'a> {
    /// Adds an array of integers.
    #[must_use]
    pub fn integers<T: Element + Display>(mut self, name: &'static str, integers: &'a [T]) -> Self {
        let text = |bytes: &[u8]| bytemuck::pod_read_unaligned::<T>(bytes).to_string();
        self.0.push(Array::new(name, integers, text));
        self
    }

    /// Adds sizes, which are copied.
    #[must_use]
    pub fn sizes(self, name: &'static str, sizes: &[usize]) -> Self {
        let array = ArrayDump::default().integers(name, sizes).into_owned();
        self.and(array)
    }

    /// Adds an array of values.
    #[must_use]
    pub fn values<T: Scalar>(mut self, name: &'static str, values: &'a [T]) -> Self {
        let text = |bytes: &[u8]| text(bytemuck::pod_read_unaligned::<T>(bytes).to_c64());
        self.0.push(Array::new(name, values, text));
        self
    }

    /// The arrays, copied where they are borrowed.
    pub fn into_owned(self) -> ArrayDump<'static> {
        ArrayDump(self.0.into_iter().map(Array::into_owned).collect())
    }

    /// The arrays of both dumps.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The bytes of all arrays.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|array| array.bytes.as_ref())
    }

    /// The first difference between `self` and `expected`, in words.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        self.0.iter().zip(&expected.0).find_map(|(found, expected)| found.difference(expected))
    }

    /// The arrays as text, for snapshots.
    pub(crate) fn text(&self) -> String {
        join(self.0.iter().map(|array| format!("{}[{}]", array.name, join(array.elements().map(array.text)))))
    }
}

/// Joins words by blanks.
pub(crate) fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// A value as text: integers without a point, complex values with both parts, and one zero.
pub(crate) fn text(value: c64) -> String {
    let part = |x: f64| if x == 0.0 { "0".to_string() } else { x.to_string() };
    if value.im == 0.0 {
        part(value.re)
    } else {
        format!("{}{}{}i", part(value.re), if value.im < 0.0 { "" } else { "+" }, part(value.im))
    }
}
