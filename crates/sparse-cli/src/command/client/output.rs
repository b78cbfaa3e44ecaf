//! Output of the client: answers are printed, or written to a file.

use crate::context::Context;
use crate::file::{is_stdout, output};
use anyhow::{Context as _, Result, bail};
use sparse_server::{ClientAnswer, ClientError};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The answer to a request whose body was written.
type Sent = Result<ClientAnswer, ClientError>;

/// Prints an answer, which must be text.
pub(super) fn print(send: impl Fn(&mut dyn Write) -> Sent, context: &Context) -> Result<()> {
    let mut answer = vec![];
    let head = send(&mut answer)?;
    match answer.is_empty() {
        true => Ok(()),
        false if is_text(&head.media) => {
            context.print(String::from_utf8_lossy(&answer))?;
            head.solution.as_ref().map_or(Ok(()), |solution| context.print(solution))
        }
        false => bail!("the result is {}, of {} bytes: name a file with -o", head.media, answer.len()),
    }
}

/// Prints JSON in addition to the result in `file`: to stderr if the result goes to standard output.
fn print_beside(file: &Path, text: &str, context: &Context) -> Result<()> {
    if is_stdout(file) {
        context.print_beside_data(text);
        return Ok(());
    }
    context.print(text)
}

/// Prints how an iteration has ended, where the answer is that of one.
fn print_solution(head: &ClientAnswer, file: &Path, context: &Context) -> Result<()> {
    head.solution.as_ref().map_or(Ok(()), |solution| print_beside(file, solution, context))
}

/// True for JSON and metrics.
fn is_text(media: &str) -> bool {
    ["application/json", "application/openmetrics-text"].iter().any(|text| media.starts_with(text))
}

/// Writes an answer to a file, which gets its name once it is complete; JSON is printed.
pub(super) fn write(send: impl Fn(&mut dyn Write) -> Sent, file: &Path, context: &Context) -> Result<()> {
    with_part(file, |part| {
        let mut sink = File::create(part).with_context(|| part.display().to_string())?;
        let head = send(&mut sink)?;
        sink.flush().with_context(|| part.display().to_string())?;
        if head.media.starts_with("application/json") {
            context.print(fs::read_to_string(part).with_context(|| part.display().to_string())?)?;
            return Ok(false);
        }
        print_solution(&head, file, context)?;
        Ok(true)
    })
}

/// As [`write`], where the server has the file open and writes the answer to it.
#[cfg(unix)]
pub(super) fn write_by_descriptor(
    send: impl Fn(Option<&File>, &mut dyn Write) -> Sent,
    file: &Path,
    context: &Context,
) -> Result<()> {
    with_part(file, |part| {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let result = options.open(part).with_context(|| part.display().to_string())?;
        let mut answer = vec![];
        let head = send(Some(&result), &mut answer)?;
        print_beside(file, &String::from_utf8_lossy(&answer), context)?;
        print_solution(&head, file, context)?;
        let is_empty = result.metadata().with_context(|| part.display().to_string())?.len() == 0;
        Ok(!is_empty)
    })
}

/// Lets `fill` write a temporary file, which is renamed to `file` if `fill` returns a result, and removed otherwise. A
/// pipe, a device and standard output get its bytes.
fn with_part(file: &Path, fill: impl FnOnce(&Path) -> Result<bool>) -> Result<()> {
    let found = fs::metadata(file).ok();
    let is_stream =
        is_stdout(file) || found.as_ref().is_some_and(|found| !found.is_file() && !found.is_dir());
    // A link to a file stays one.
    let target =
        if found.is_some() { fs::canonicalize(file).unwrap_or_else(|_| file.into()) } else { file.into() };
    // A folder that no other user can read or put links into.
    let private = is_stream.then(tempfile::tempdir).transpose()?;
    let folder = private.as_ref().map_or_else(|| target.with_file_name(""), |folder| folder.path().into());
    let part = folder.join(format!(".nnz-{}.part", std::process::id()));
    let done = fill(&part).and_then(|has_result| match has_result {
        true if is_stream => {
            let mut whole = File::open(&part).with_context(|| part.display().to_string())?;
            Ok(output(file).write(|out| io::copy(&mut whole, out).map(drop))?)
        }
        true => fs::rename(&part, &target).with_context(|| file.display().to_string()),
        false => Ok(()),
    });
    // The temporary file is missing if it was renamed or could not be created; the first error is the one to report.
    let _ = fs::remove_file(&part);
    done
}
