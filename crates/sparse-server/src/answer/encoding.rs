//! `Content-Encoding` of answers, for clients that accept one: a body is compressed part by part as it is sent.

use crate::answer::accept::qualities;
use crate::front_end::FrontEnd;
use crate::request::media::kind_of_media;
use crate::upload::Encoding;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::BodyExt;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;

/// Bytes of the smallest answer that is compressed.
const MIN_BYTES: u64 = 1024;
/// Bytes that are compressed at once.
const PART: usize = 1 << 20;
/// Compressed parts that wait for the client.
const WAITING: usize = 2;

/// Compresses matrices, arrays and descriptions for a client that accepts it.
pub(crate) async fn encode(State(front_end): State<FrontEnd>, request: Request, next: Next) -> Response {
    let accepted = accepted(request.headers());
    let mut response = next.run(request).await;
    if !may_be_compressed(&response) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    match accepted {
        Some(encoding) => compressed(response, encoding, front_end.encoders.clone()),
        None => response,
    }
}

/// The encoding that a client likes best of those that it names; none where it likes the bytes as they are no less.
pub(crate) fn accepted(headers: &HeaderMap) -> Option<Encoding> {
    let text = headers.get(header::ACCEPT_ENCODING)?.to_str().ok()?;
    let qualities = qualities(text);
    let quality =
        |name| qualities.iter().find(|(found, _)| found == name).map_or(0.0, |(_, quality)| *quality);
    let mut best = (None, quality("identity"));
    for encoding in [Encoding::Zstd, Encoding::Gzip, Encoding::Deflate] {
        if quality(encoding.name()) > best.1 {
            best = (Some(encoding), quality(encoding.name()));
        }
    }
    best.0
}

fn may_be_compressed(response: &Response) -> bool {
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let media = text(header::CONTENT_TYPE).unwrap_or_default();
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    response.status() == StatusCode::OK
        && (kind_of_media(media).is_some() || media == "application/json")
        && length.is_some_and(|length| length >= MIN_BYTES)
}

fn compressed(response: Response, encoding: Encoding, running: Arc<Semaphore>) -> Response {
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    // Its bytes are others than those that the tag is of.
    let weak = head
        .headers
        .get(header::ETAG)
        .and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok());
    weak.into_iter().for_each(|tag| drop(head.headers.insert(header::ETAG, tag)));
    let (sender, parts) = channel(WAITING);
    tokio::spawn(async move {
        let failed = send_parts(body, Encoder::new(encoding), &running, &sender).await.err();
        if let Some(error) = failed {
            // Nobody hears it if the client is gone.
            let _ = sender.send(Err(error)).await;
        }
    });
    Response::from_parts(head, Body::from_stream(ReceiverStream::new(parts)))
}

/// Sends a body as it is compressed, by as many threads at once as there are permits.
async fn send_parts(
    mut body: Body,
    mut encoder: Encoder,
    running: &Semaphore,
    sender: &Sender<io::Result<Bytes>>,
) -> io::Result<()> {
    let mut part = vec![];
    while let Some(frame) = body.frame().await {
        let Ok(mut data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        while !data.is_empty() {
            part.extend_from_slice(&data.split_to(data.len().min(PART - part.len())));
            if part.len() == PART {
                encoder = send_part(std::mem::take(&mut part), encoder, running, sender).await?;
            }
        }
    }
    let encoder = send_part(part, encoder, running, sender).await?;
    send(encoder.finish()?, sender).await
}

async fn send_part(
    part: Vec<u8>,
    mut encoder: Encoder,
    running: &Semaphore,
    sender: &Sender<io::Result<Bytes>>,
) -> io::Result<Encoder> {
    let permit = running.acquire().await.map_err(io::Error::other)?;
    let encoded = spawn_blocking(move || encoder.push(&part).map(|bytes| (encoder, bytes)));
    let (encoder, bytes) = encoded.await.map_err(io::Error::other)??;
    // Not while the client is waited for.
    drop(permit);
    send(bytes, sender).await.map(|()| encoder)
}

async fn send(bytes: Vec<u8>, sender: &Sender<io::Result<Bytes>>) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    sender.send(Ok(bytes.into())).await.map_err(|_| io::Error::other("the client is gone"))
}

enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    /// Each part is a frame.
    Zstd,
}

impl Encoder {
    fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Gzip => Self::Gzip(GzEncoder::new(vec![], Compression::fast())),
            Encoding::Deflate => Self::Deflate(ZlibEncoder::new(vec![], Compression::fast())),
            Encoding::Zstd | Encoding::Identity => Self::Zstd,
        }
    }

    /// Takes bytes of a body; returns compressed ones, which may be those of bytes before.
    fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.write_all(bytes).map(|()| std::mem::take(encoder.get_mut())),
            Self::Deflate(encoder) => encoder.write_all(bytes).map(|()| std::mem::take(encoder.get_mut())),
            Self::Zstd if bytes.is_empty() => Ok(vec![]),
            Self::Zstd => Ok(compress_to_vec(bytes, CompressionLevel::Fastest)),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Deflate(encoder) => encoder.finish(),
            Self::Zstd => Ok(vec![]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_that_a_client_likes_best_is_taken() {
        for (text, encoding) in [
            ("gzip, deflate, br, zstd", Some(Encoding::Zstd)),
            ("gzip;q=1.0, zstd;q=0.5", Some(Encoding::Gzip)),
            ("DEFLATE", Some(Encoding::Deflate)),
            ("gzip;q=0", None),
            ("identity, gzip;q=0.5", None),
            ("identity, gzip", None),
            ("*", None),
            ("br", None),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(text))]);
            assert_eq!(accepted(&headers), encoding, "{text}");
        }
        assert_eq!(accepted(&HeaderMap::new()), None);
    }
}
