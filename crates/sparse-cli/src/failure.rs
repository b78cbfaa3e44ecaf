//! Errors and the exit status.

use anyhow::{Error, Result};
use std::fmt::{Display, Formatter};
use std::io::{self, Write};
use std::process::ExitCode;

/// A wrong call of the command: exit status 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl Display for Usage {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The requested backend or device is not available: exit status 3.
#[derive(Debug)]
pub(crate) struct Unavailable(pub(crate) nnz::Error);

impl Display for Unavailable {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unavailable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// An error that was printed, by this process or by the root of several ranks, and its exit status.
#[derive(Debug)]
pub(crate) struct Reported(pub(crate) u8);

impl Display for Reported {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("the error was printed")
    }
}

impl std::error::Error for Reported {}

/// A [`Usage`] error.
pub(crate) fn usage(message: impl Display) -> Error {
    Error::new(Usage(message.to_string()))
}

/// Prints the error, if any; returns the exit status.
pub(crate) fn exit_code(outcome: Result<()>) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let status = status(&error);
    if !error.is::<Reported>() {
        print(status, &chain(&error));
    }
    ExitCode::from(status)
}

/// Prints an error in one call, which no line of another process divides; nothing for the exit status 0.
pub(crate) fn print(status: u8, message: &str) {
    if status == 0 {
        return;
    }
    let line = format!("error: {message}\n");
    // Without stderr the message is lost; the status remains.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// True if the reader of a pipe has closed it, as `head` does when it has enough. It is no failure.
pub(crate) fn is_closed_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// The exit status of an error; 0 for output to a closed pipe.
pub(crate) fn status(error: &Error) -> u8 {
    if let Some(Reported(status)) = error.downcast_ref() {
        *status
    } else if let Some(nnz::Error::Io { source, .. }) = error.downcast_ref()
        && is_closed_pipe(source)
    {
        0
    } else if error.chain().any(|cause| cause.is::<Usage>()) {
        2
    } else if error.chain().any(|cause| cause.is::<Unavailable>()) {
        3
    } else {
        1
    }
}

/// The error and its causes; a cause that its effect already contains is left out.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn the_chain_says_everything_once() {
        let source = io::Error::other("the disk is full");
        let inner = nnz::Error::Io { path: "a.mtx".into(), source };
        let error = Error::new(inner).context("writing the result");
        assert_eq!(chain(&error), "writing the result: a.mtx: the disk is full");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let written = |kind: io::ErrorKind| nnz::Error::Io { path: "<stdout>".into(), source: kind.into() };
        assert_eq!(status(&Error::new(written(io::ErrorKind::BrokenPipe)).context("writing")), 0);
        assert_eq!(status(&Error::new(written(io::ErrorKind::StorageFull))), 1);
    }

    #[test]
    fn the_status_is_found_below_contexts() {
        let data = nnz::Error::format("csr", "row 1: column 2 is not below 2");
        assert_eq!(status(&Error::new(data)), 1);
        assert_eq!(status(&usage("no").context("outer")), 2);
        let gone = Unavailable(nnz::Error::unsupported("device cuda:0", "no driver"));
        assert_eq!(status(&Err::<(), _>(gone).context("outer").unwrap_err()), 3);
    }
}
