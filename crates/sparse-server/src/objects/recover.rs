//! Objects of the process before this one.

use super::object::{Content, Defect, Object};
use crate::durable::{Disk, Record, Segment};
use std::sync::Mutex;

/// A durable object, which is read when it is first used.
pub(super) fn recover_durable(disk: &Disk, record: &Record) -> Object {
    match disk.segment(record) {
        Ok(segment) => recover(record, true, Some(segment), None),
        Err(reason) => {
            tracing::error!(tenant = record.tenant, "{}@{}: {reason}", record.name, record.version);
            recover(record, true, None, Some(Defect::Corrupt(reason)))
        }
    }
}

/// An object of the worker process before this one: lost, unless it was spilled.
pub(super) fn recover_volatile(disk: &Disk, record: &Record) -> Object {
    let segment = disk.spilled_segment(record);
    let defect = segment.is_none().then_some(Defect::Lost);
    recover(record, false, segment, defect)
}

fn recover(record: &Record, is_durable: bool, segment: Option<Segment>, defect: Option<Defect>) -> Object {
    let content = Content { segment, defect, ..Content::default() };
    Object { content: Mutex::new(content), ..Object::of(record, is_durable) }
}
