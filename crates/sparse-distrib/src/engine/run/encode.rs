//! Chunks that the host compresses to messages.

use super::Run;
use super::fill::Filler;
use crate::engine::chunk::Chunk;
use crate::engine::item::Item;
use crate::engine::message;
use crate::engine::slots::TakenSlot;
use crate::engine::source::resize;
use crate::partition::Part;
use crate::scheme::Scheme;
use sparse_core::{DenseView, Error, Index, Order, Result, Scalar};

impl<'a, T: Scalar> Run<'a, T> {
    /// Compresses the items of a chunk on the host, one by one, to the messages of a slot.
    pub(super) fn encode<I: Index, O: Index>(
        &self,
        scheme: Scheme,
        Filler { host, elements, .. }: &mut Filler<'_, T, I, O>,
        chunk: &Chunk,
        slot: &mut TakenSlot<T, I>,
    ) -> Result<(), (usize, Error)> {
        let messages = slot.messages_mut(chunk.items.len());
        let lent = self.lend(chunk);
        for (position, (&item, message)) in chunk.items.iter().zip(messages).enumerate() {
            let mut encode = || {
                let Item { elements: len, order, .. } = self.items[item];
                let (rows, cols) = self.items[item].shape();
                self.check_extents::<I>(&self.items[item])?;
                let elements = match lent {
                    Some(lent) => &lent[position * len..][..len],
                    None => {
                        resize(elements, len)?;
                        self.fill_item(item, &mut elements[..len])?;
                        &elements[..len]
                    }
                };
                let ld = if order == Order::RowMajor { cols } else { rows };
                let matrix = DenseView::new(elements, rows, cols, ld, order)?;
                let matrix = if self.is_by_rows { matrix } else { matrix.transposed() };
                let block = host.compress(matrix, self.options.keep)?;
                message::encode(scheme, &self.message_part(item), &block, message)
            };
            encode().map_err(|error| (position, error))?;
        }
        Ok(())
    }

    /// Checks the messages of a slot and splits them into planes on this thread, so that the device's streams need not.
    pub(super) fn pack<I: Index, O: Index>(
        &self,
        scheme: Scheme,
        chunk: &Chunk,
        slot: &mut TakenSlot<T, I>,
    ) -> Result<(), (usize, Error)> {
        let parts = chunk.items.iter().map(|&item| self.message_part(item));
        slot.pack::<O>(scheme, parts).map_err(|error| (0, error))
    }

    /// The part of an item in messages, which have rows: matrices that are compressed by columns travel as their
    /// transposes.
    pub(crate) fn message_part(&self, item: usize) -> Part {
        let Part { rows, cols } = self.items[item].part.clone();
        if self.is_by_rows { Part { rows, cols } } else { Part { rows: cols, cols: rows } }
    }

    /// An error if an extent of the item does not fit `I`. A plan would name the extents of the transpose.
    pub(crate) fn check_extents<I: Index>(&self, item: &Item) -> Result<()> {
        I::try_new("rows", item.shape().0)?;
        I::try_new("columns", item.shape().1)?;
        Ok(())
    }
}
