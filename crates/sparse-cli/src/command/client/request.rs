//! HTTP requests from the arguments.

use super::arguments::{Computation, Request};
use crate::failure::usage;
use crate::file;
use anyhow::{Context as _, Result};
use nnz::io::FileKind;
use sparse_server::{ClientRequest, HttpMethod};
use std::fs;
use std::path::{Path, PathBuf};

impl Request {
    /// The upload that goes on, or None for a new one, where the body is sent in parts.
    pub(super) fn parts(&self) -> Option<Option<String>> {
        match self {
            Self::Put { resumable, upload, .. } if *resumable || upload.is_some() => Some(upload.clone()),
            _ => None,
        }
    }

    /// The request, and the file of its answer.
    pub(super) fn into_parts(self) -> Result<(ClientRequest, Option<PathBuf>)> {
        let ask = ClientRequest::without_body;
        let get = |path: String| ask(HttpMethod::GET, path);
        let matrix = |name: &str| format!("/v1/matrices/{}", encoded(name));
        let job = |id: &str| format!("/v1/jobs/{}", encoded(id));
        Ok(match self {
            Self::Status => (get("/v1/status".into()), None),
            Self::List { label } => {
                let pairs: Vec<_> = label.map(|label| ("label".into(), label)).into_iter().collect();
                (get(format!("/v1/matrices{}", query(&pairs))), None)
            }
            Self::Describe { name } => (get(matrix(&name)), None),
            Self::Get { name, out, last } => {
                let file = file::named_output(out, last)?;
                let accept = answer_media(&file, "text/x-matrix-market")?;
                (ClientRequest { accept, ..get(format!("{}/data", matrix(&name))) }, Some(file))
            }
            Self::Delete { name } => (ask(HttpMethod::DELETE, matrix(&name)), None),
            Self::Aliases => (get("/v1/aliases".into()), None),
            Self::Alias { alias, name, parameters } => {
                let parameters = [vec![("to".into(), name)], parameters].concat();
                let path = format!("/v1/aliases/{}{}", encoded(&alias), query(&parameters));
                (ask(HttpMethod::PUT, path), None)
            }
            Self::DeleteAlias { alias } => {
                (ask(HttpMethod::DELETE, format!("/v1/aliases/{}", encoded(&alias))), None)
            }
            Self::Put { file, name, parameters, .. } => {
                let (media, encoding) = (media(&file)?, is_packed(&file).then_some("gzip"));
                let path = matrix(&name) + &query(&parameters);
                (ClientRequest { body: Some((file, media)), encoding, ..ask(HttpMethod::PUT, path) }, None)
            }
            Self::Pin { name } => (ask(HttpMethod::PUT, format!("{}/pin", matrix(&name))), None),
            Self::Unpin { name } => (ask(HttpMethod::PUT, format!("{}/pin?pinned=0", matrix(&name))), None),
            Self::Label { name, labels } => {
                let path = format!("{}/labels{}", matrix(&name), query(&[("labels".into(), labels)]));
                (ask(HttpMethod::PUT, path), None)
            }
            Self::Run { name, operation, computation } => {
                computation.request(format!("{}/{}", matrix(&name), encoded(&operation)), vec![])?
            }
            Self::Program { steps, computation } => {
                let program = fs::read_to_string(&steps).with_context(|| steps.display().to_string())?;
                computation.request("/v1/programs".into(), vec![("program".into(), program)])?
            }
            Self::Jobs => (get("/v1/jobs".into()), None),
            Self::Job { id, wait } => (get(format!("{}?wait={wait}", job(&id))), None),
            Self::Result { id, out } => (get(format!("{}/result", job(&id))), out),
            Self::Cancel { id } => (ask(HttpMethod::DELETE, job(&id)), None),
            Self::Requests => (get("/v1/requests".into()), None),
            Self::Metrics => (get("/metrics".into()), None),
        })
    }
}

impl Computation {
    /// The request to this path with these parameters and its own, and the file of its answer.
    fn request(
        self,
        path: String,
        mut parameters: Vec<(String, String)>,
    ) -> Result<(ClientRequest, Option<PathBuf>)> {
        let Self { parameters: own, operand, out, to_array } = self;
        parameters.extend(own);
        let body = operand.map(|file| anyhow::Ok((file.clone(), media(&file)?))).transpose()?;
        let accept = out.as_deref().map_or(Ok("*/*"), |file| answer_media(file, "*/*"))?;
        let array =
            to_array.map(|file| fs::read_to_string(&file).with_context(|| file.display().to_string()));
        let result_array = array.transpose()?.map(|text| text.trim().replace('\n', " "));
        let path = path + &query(&parameters);
        let request = ClientRequest::without_body(HttpMethod::POST, path);
        Ok((ClientRequest { body, accept, result_array, ..request }, out))
    }
}

/// The media type of a file, by its name.
fn media(file: &Path) -> Result<&'static str> {
    match FileKind::of(file) {
        Ok(FileKind::Npz) => Ok("application/x-npz"),
        Ok(FileKind::Npy) => Ok("application/x-npy"),
        Ok(FileKind::MatrixMarket) => Ok("text/x-matrix-market"),
        Err(_) if file.extension().is_some_and(|extension| extension == "json") => {
            Ok("application/x-nnz-cuda")
        }
        Err(_) => Err(usage(format_args!(
            "{}: a name with .npz, .npy, .mtx, .mtx.gz or, for arrays on the GPU, .json is needed",
            file.display()
        ))),
    }
}

/// The media type of the answer that goes to a file, by its name; `of_stream` for a stream, whose name says nothing.
fn answer_media(file: &Path, of_stream: &'static str) -> Result<&'static str> {
    if file::is_stream(file) {
        return Ok(of_stream);
    }
    if is_packed(file) {
        let name = file.display();
        return Err(usage(format_args!("{name}: what a server answers is not packed: leave out .gz")));
    }
    media(file)
}

/// True for the name of a packed file.
fn is_packed(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The query of these parameters, with its question mark if there are any.
fn query(pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> =
        pairs.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@,".contains(&byte);
    let encode = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}
