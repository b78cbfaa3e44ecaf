//! The functions that the fuzz targets in `fuzz/` call, one for each parser of the server that a request reaches; the
//! parsers of files are in `sparse-io`. Tests call them with the seeds of the corpus.

use crate::answer::accept::accepted_form;
use crate::answer::encoding::accepted;
use crate::connection::request_head;
use crate::objects::Object;
use crate::operation_requests::{prefers_async, time_limit};
use crate::operations::{MemberSelection, OPERATIONS};
use crate::problem::Problem;
use crate::program;
use crate::request::etag::Tags;
use crate::request::idempotency::key_of;
use crate::request::labels::{Labels, Selector};
use crate::request::parameters::Parameters;
use crate::request::put_options::{new_name, put_options};
use crate::security::caller::{check_local, token_of};
use crate::upload::{DeviceArray, DeviceCsr, Frames, check_headers, kind_of};
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, header};
use serde_json::json;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// Parses the steps of a program, of which any matrix is there.
///
/// # Panics
/// On an error of the parser.
pub fn program(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = object();
    check(program::parse(text, |_| Ok(object.clone())));
    #[cfg(unix)]
    assert!(program::stored_names(text).iter().all(|name| !name.starts_with('$')));
}

fn object() -> Arc<Object> {
    let description = json!({ "format": "csr", "dtype": "f64", "rows": 3, "cols": 3, "nnz": 5, "bytes": 76 });
    let record = json!({ "tenant": "lab", "name": "a", "version": 1, "description": description });
    Arc::new(Object::of(&serde_json::from_value(record).expect("it is a record"), false))
}

/// Parses a query as each operation does.
///
/// # Panics
/// On an error of the parser.
pub fn query(data: &[u8]) {
    const EXTENT: usize = 10;
    let Some(pairs) = pairs(data) else { return };
    for operation in OPERATIONS {
        check(Parameters::new(pairs.clone(), &operation.known_parameters()));
    }
    let parameters = Parameters::checked(pairs);
    for name in ["rows", "columns"] {
        if let Some(positions) = check(parameters.positions(name, EXTENT)) {
            assert!(positions.len() <= 1 << 16 && positions.iter().all(|position| position < EXTENT));
            assert!(positions.most_repeats() <= positions.len());
        }
    }
    check(parameters.factor("alpha"));
    check(parameters.op());
    check(MemberSelection::of(&parameters));
    check(parameters.flag("durable"));
    check(parameters.get::<f64>("tol"));
    check(put_options(&parameters, &HeaderMap::new()));
    check(time_limit(&parameters, Duration::from_secs(600)));
    check(new_name(parameters.text("into").unwrap_or_default()));
    if let Some(labels) = check(Labels::parse(parameters.text("labels").unwrap_or_default())) {
        check(Selector::parse("")).into_iter().for_each(|all| assert!(all.matches(&labels)));
    }
    check(Selector::parse(parameters.text("label").unwrap_or_default()));
}

fn pairs(data: &[u8]) -> Option<Vec<(String, String)>> {
    let uri: Uri = format!("/?{}", std::str::from_utf8(data).ok()?).parse().ok()?;
    Query::try_from_uri(&uri).ok().map(|Query(pairs)| pairs)
}

/// Parses the lines as the headers of a request, each of which the server reads.
///
/// # Panics
/// On an error of the parser.
pub fn headers(data: &[u8]) {
    const NAMES: [HeaderName; 11] = [
        header::ACCEPT,
        header::AUTHORIZATION,
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::HOST,
        header::IF_MATCH,
        header::ORIGIN,
        HeaderName::from_static(crate::request::idempotency::KEY),
        HeaderName::from_static("prefer"),
        header::ACCEPT_ENCODING,
    ];
    let lines = data.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let headers: HeaderMap =
        NAMES.into_iter().zip(lines).filter_map(|(name, line)| Some((name, line.ok()?))).collect();
    check(accepted_form(&headers));
    check(kind_of(&headers));
    check(check_headers(&headers, 1000));
    check(check_local(&headers));
    check(request_head::check_host(Version::HTTP_11, &Uri::from_static("/"), &headers));
    check(key_of(&headers));
    prefers_async(&headers);
    accepted(&headers);
    check(token_of(&headers));
    let tags = Tags::of(&headers, header::IF_MATCH);
    tags.map(|tags| tags.contain(&HeaderValue::from_static("\"1\"")));
}

/// Reads the contents of a body with `Content-Encoding: zstd`, up to some bytes.
///
/// # Panics
/// On an error of the decoder.
pub fn zstd(data: &[u8]) {
    const MAX_BYTES: u64 = 1 << 20;
    // What is no frame is refused.
    let _ = std::io::copy(&mut Frames::new(data).take(MAX_BYTES), &mut std::io::sink());
}

/// Parses a body that names arrays of the client on the device.
///
/// # Panics
/// On an error of the parser.
pub fn device_arrays(data: &[u8]) {
    check(DeviceArray::parse(data));
    check(DeviceCsr::parse(data));
}

/// The parsed value. What is refused is the client's fault, and the document that says so can be written.
fn check<T>(parsed: Result<T, Problem>) -> Option<T> {
    parsed
        .inspect_err(|problem| {
            assert!(problem.status.is_client_error(), "{problem:?}");
            assert!(serde_json::to_string(&problem.document()).is_ok(), "{problem:?}");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    type Target = fn(&[u8]);

    /// The targets; the folders of the corpus have the same names.
    const TARGETS: [(&str, Target); 5] = [
        ("program", program),
        ("query", query),
        ("headers", headers),
        ("zstd", zstd),
        ("device_arrays", device_arrays),
    ];

    /// Bytes that mean something in one of the texts, or nothing in any.
    const BYTES: [u8; 8] = [0, b'"', b',', b'.', b'%', b'-', b'9', 0xff];

    #[test]
    fn the_corpus_and_its_neighbours_do_no_harm() {
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
            let seeds: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
            assert!(!seeds.is_empty(), "{name} has seeds");
            for seed in seeds.iter().map(|path| std::fs::read(path).unwrap()) {
                target(&seed);
                for at in 0..seed.len() {
                    target(&seed[..at]);
                    for byte in BYTES {
                        let mut changed = seed.clone();
                        changed[at] = byte;
                        target(&changed);
                    }
                }
            }
        }
    }

    #[test]
    fn the_seeds_are_right() {
        let seed = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
            std::fs::read_to_string(path).unwrap()
        };
        assert_eq!(program::parse(&seed("program/steps"), |_| Ok(object())).unwrap().len(), 3);
        let frame = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/zstd/frame");
        let mut text = String::new();
        Frames::new(&std::fs::read(frame).unwrap()[..]).read_to_string(&mut text).unwrap();
        assert!(text.starts_with("%%MatrixMarket"), "{text}");
        assert_eq!(DeviceArray::parse(seed("device_arrays/array").as_bytes()).unwrap().shape, [3, 2]);
        assert!(DeviceCsr::parse(seed("device_arrays/csr").as_bytes()).is_ok());
        let pairs = pairs(seed("query/select").as_bytes()).unwrap();
        assert_eq!(Parameters::checked(pairs).positions("rows", 10).unwrap().len(), 5);
    }
}
