//! Every operation, serially and simply: what all backends are compared with.

use crate::backend::{Backend, Buf, Caps, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::space::{ContextId, Element, Host};
use std::sync::LazyLock;

/// The serial reference: one algorithm, `sequential`, for every operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reference;

impl Backend for Reference {
    type Space = Host;

    fn caps(&self) -> &Caps {
        static CAPS: LazyLock<Caps> = LazyLock::new(|| Caps {
            backend: "reference",
            device: "serial".into(),
            compute_units: 1,
            memory_bytes: None,
            f64: true,
            flushes_subnormals: false,
            features: vec![],
        });
        &CAPS
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        Ok(host.to_vec())
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        host.copy_from_slice(device);
        Ok(())
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        to.copy_from_slice(from);
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}
