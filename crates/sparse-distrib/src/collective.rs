//! Collective calls in which a rank may fail: then all ranks return an error.

use crate::transport::Transport;
use sparse_core::{Error, Result};

/// The last byte of a message: the bytes before it are the requested data, or with [`FAILED`] the text of an error.
const OK: u8 = 0;
const FAILED: u8 = 1;

/// Sends the `message` of every rank's `own` to the root; `join` combines the messages there, by rank, and all ranks
/// get the result.
///
/// # Errors
/// The rank's own error; [`Error::Operands`] with the first rank that failed where others did; errors of the
/// transport.
pub(crate) fn combine<R>(
    transport: &(impl Transport + ?Sized),
    root: usize,
    op: &'static str,
    own: Result<R>,
    message: impl FnOnce(&R) -> Vec<u8>,
    join: impl Fn(&[Vec<u8>]) -> Result<Vec<u8>>,
) -> Result<(R, Vec<u8>)> {
    let sent = tagged(own.as_ref().map(message).map_err(ToString::to_string));
    let answer = answer_of_root(transport, root, sent, &join)?;
    own.and_then(|own| match answer {
        Ok(answer) => Ok((own, answer)),
        Err(reason) => Err(Error::operands(op, reason)),
    })
}

/// The result of this rank where all ranks have one, else an error that names the first rank that failed: a collective
/// call, after which no rank waits for one that has given up. `op` is the operation in that error.
///
/// ```
/// use sparse_distrib::{Local, Transport, agree};
///
/// let reported = Local::run(2, |rank| {
///     let number = if rank.rank() == 0 { "7" } else { "seven" }.parse::<i32>();
///     let number = number.map_err(|error| sparse_core::Error::format("number", error));
///     agree(&rank, 0, "read", number).unwrap_err().to_string()
/// });
/// assert_eq!(reported[0], "read: rank 1: number: invalid digit found in string");
/// ```
///
/// # Errors
/// The rank's own error; [`Error::Operands`] with the first rank that failed where others did; errors of the transport.
pub fn agree<R>(
    transport: &(impl Transport + ?Sized),
    root: usize,
    op: &'static str,
    own: Result<R>,
) -> Result<R> {
    let failure = first_failure(transport, root, own.as_ref().err().map(ToString::to_string))?;
    own.and_then(|own| match failure {
        None => Ok(own),
        Some(reason) => Err(Error::operands(op, reason)),
    })
}

/// The first of all ranks' failures. It knows no type of [`agree`], so that it is compiled once for each transport.
fn first_failure(
    transport: &(impl Transport + ?Sized),
    root: usize,
    own: Option<String>,
) -> Result<Option<String>> {
    let sent = tagged(own.map_or(Ok(vec![]), Err));
    Ok(answer_of_root(transport, root, sent, &|_| Ok(vec![]))?.err())
}

/// The `words` of all ranks, by rank.
pub(crate) fn all_gather<R>(
    transport: &(impl Transport + ?Sized),
    op: &'static str,
    own: Result<R>,
    words: impl FnOnce(&R) -> Vec<u64>,
) -> Result<(R, Vec<Vec<u64>>)> {
    let message = |own: &R| bytemuck::cast_slice(&words(own)).to_vec();
    let (own, joined) = combine(transport, 0, op, own, message, |messages| Ok(with_lengths(messages)))?;
    let joined: Vec<u64> = bytemuck::pod_collect_to_vec(&joined);
    Ok((own, split(&joined)))
}

/// Sends a message of every rank to the root, and returns its answer to all of them, which is the same on every rank.
///
/// It knows no type of [`combine`], so that it is compiled once for each transport.
fn answer_of_root(
    transport: &(impl Transport + ?Sized),
    root: usize,
    sent: Vec<u8>,
    join: &Join<'_>,
) -> Result<Result<Vec<u8>, String>> {
    let answer = transport.gather(root, sent)?.map(|messages| tagged(joined(root, messages, join)));
    Ok(untagged(transport.broadcast(root, answer.unwrap_or_default())?))
}

/// The function by which the root answers the messages of all ranks.
type Join<'a> = dyn Fn(&[Vec<u8>]) -> Result<Vec<u8>> + 'a;

/// The answer by `join` to the messages, or the error of the first rank that failed.
fn joined(root: usize, messages: Vec<Vec<u8>>, join: &Join<'_>) -> Result<Vec<u8>, String> {
    let mut contributions = Vec::with_capacity(messages.len());
    for (rank, message) in messages.into_iter().enumerate() {
        contributions.push(untagged(message).map_err(|reason| format!("rank {rank}: {reason}"))?);
    }
    join(&contributions).map_err(|error| format!("rank {root}: {error}"))
}

pub(crate) fn tagged(message: Result<Vec<u8>, String>) -> Vec<u8> {
    let (mut bytes, tag) = match message {
        Ok(bytes) => (bytes, OK),
        Err(reason) => (reason.into_bytes(), FAILED),
    };
    bytes.push(tag);
    bytes
}

pub(crate) fn untagged(mut message: Vec<u8>) -> Result<Vec<u8>, String> {
    match message.pop() {
        Some(OK) => Ok(message),
        Some(_) => Err(String::from_utf8_lossy(&message).into_owned()),
        None => Err("sent an empty message where one with a status was needed".into()),
    }
}

/// The messages joined, each after its number of words.
fn with_lengths(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = vec![];
    for message in messages {
        joined.extend(((message.len() / size_of::<u64>()) as u64).to_le_bytes());
        joined.extend(message);
    }
    joined
}

/// The inverse of [`with_lengths`].
fn split(mut joined: &[u64]) -> Vec<Vec<u64>> {
    let mut messages = vec![];
    while let Some((&length, rest)) = joined.split_first() {
        let (message, rest) = rest.split_at((length as usize).min(rest.len()));
        messages.push(message.to_vec());
        joined = rest;
    }
    messages
}
