//! Compressed bodies and answers.

use super::common::{MTX, NPY, Running, mtx, npy};
use super::matrix;
use sparse_server::Config;
use std::io::{Read, Write};
use std::time::Duration;

pub(super) fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bodies_and_answers_are_compressed_as_headers_say() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 8 << 20);
    config.limits.upload_bytes = 1 << 20;
    let server = Running::start(config);
    let zstd = |body: &[u8]| compress_to_vec(body, CompressionLevel::Fastest);
    let put = |body: &[u8]| server.send("PUT /v1/matrices/a", &[NPY, "Content-Encoding: zstd"], body);
    let values: Vec<f64> = (0..100 * 100).map(|k| f64::from(k % 7)).collect();
    let body = npy(&[100, 100], &values);
    // Frames stand one after the other, and others are skipped.
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    let (first, second) = body.split_at(5000);
    put(&[&zstd(first)[..], skipped, &zstd(second)].concat()).expect(201);
    let dense = |headers: &[&str]| server.send("POST /v1/matrices/a/dense", headers, &[]).expect(200);
    let plain = dense(&[]);
    assert_eq!(plain.array(), values);

    // What is damaged, or larger than a body or a window may be, is refused.
    let mut damaged = zstd(&body);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    put(&damaged).expect(422);
    for length in [6, middle, zstd(&body).len() - 1] {
        let refused = put(&zstd(&body)[..length]).expect(422);
        assert!(refused.text().contains("zstd: unexpected end of file"), "{length}: {}", refused.text());
    }
    put(b"no frame").expect(422);
    put(&zstd(&vec![0; 2 << 20])).expect(413);
    // Its header claims a window of 16 MiB, and that of the second 8 MiB.
    let frame = |window: u8| [&b"\x28\xb5\x2f\xfd\0"[..], &[window], &[1, 0, 0]].concat();
    assert!(put(&frame(14 << 3)).expect(422).text().contains("window"));
    assert!(!put(&frame(13 << 3)).expect(422).text().contains("window"), "it is allowed, and empty");

    for (encoding, least) in [("gzip", 10), ("deflate", 10), ("zstd", 10)] {
        let answer = dense(&[&format!("Accept-Encoding: {encoding}"), "Connection: close"]);
        assert!(answer.head.contains(&format!("content-encoding: {encoding}")), "{}", answer.head);
        let mut found = vec![];
        let body = &unchunked(&answer.body)[..];
        let read = match encoding {
            "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut found),
            "deflate" => flate2::read::ZlibDecoder::new(body).read_to_end(&mut found),
            _ => ruzstd::decoding::StreamingDecoder::new(body).unwrap().read_to_end(&mut found),
        };
        assert!(read.is_ok() && found == plain.body && body.len() * least < found.len(), "{encoding}");
    }
    let accept = "Accept-Encoding: gzip";
    let file = server.send("GET /v1/matrices/a/data", &[accept], &[]).expect(200);
    let tag = file.tag();
    let is_weak = tag.starts_with("W/\"a@1-") && tag.ends_with(".npz\"");
    assert!(is_weak && file.head.contains("vary: accept-encoding"), "{}", file.head);
    server.send("GET /v1/matrices/a/data", &[accept, &format!("If-None-Match: {tag}")], &[]).expect(304);
    let plain = server.send("GET /v1/matrices/a/data", &["Accept: application/x-npy"], &[]).expect(200);
    assert!(plain.head.contains("vary: accept-encoding"), "another client has it compressed: {}", plain.head);
    let small = server.send("POST /v1/matrices/a/norm", &[accept], &[]).expect(200);
    assert!(!small.head.contains("content-encoding"), "{}", small.head);
}

/// The contents of a chunked body.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut contents = vec![];
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return contents;
        }
        contents.extend(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
}

#[test]
fn bodies_that_inflate_to_much_take_no_memory_no_disk_and_no_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 4 << 20));
    let gzip = "Content-Encoding: gzip";
    let began = std::time::Instant::now();
    let put = |name: &str, media, body: &[u8]| {
        server.send(&format!("PUT /v1/matrices/{name}"), &[media, gzip], &gzipped(body))
    };
    let spmv = |body: &[u8]| server.send("POST /v1/matrices/a/spmv", &[NPY, gzip], &gzipped(body));

    // Of a dense array the zeros are not stored, as without compression.
    let mut values = vec![0.0; 500 * 2000];
    values[7] = 2.0;
    let stored = put("a", NPY, &npy(&[500, 2000], &values)).expect(201).json();
    assert_eq!((&stored["nnz"], &stored["rows"]), (&1.into(), &500.into()));
    let column: Vec<f64> = (0..2000).map(f64::from).collect();
    assert_eq!(spmv(&npy(&[2000], &column)).array()[0], 14.0);
    let stack: Vec<f64> = (0..3000).map(f64::from).collect();
    assert_eq!(put("stack", NPY, &npy(&[3, 25, 40], &stack)).expect(201).json()["members"], 3);

    // What an array claims is refused before it is inflated, and no more than that is inflated.
    let refused = spmv(&npy(&[1 << 20], &[0.0; 1 << 20])).expect(507).json();
    assert!(refused["needed_bytes"].as_u64() >= Some(3 << 23), "{refused}");
    assert!(spmv(&npy(&[1 << 40], &[1.0])).expect(413).text().contains("are allowed"));
    let refused = spmv(&npy(&[2000], &[0.0; 1 << 20])).expect(422);
    assert!(refused.text().contains("its header says that it has 16128 bytes"), "{}", refused.text());
    assert!(spmv(&npy(&[2000], &[0.0; 3])).expect(422).text().contains("24 follow"));

    // A text is decoded as it is inflated and as it comes: it may be longer than the memory, if its entries are not.
    let long = [&mtx(2, 2, &[(0, 0, 1.0), (1, 1, 7.0)])[..], &b"% a note\n".repeat(1 << 20)].concat();
    assert_eq!(put("text", MTX, &long).expect(201).json()["nnz"], 2);
    assert_eq!(server.send("PUT /v1/matrices/text", &[MTX], &long).expect(201).json()["nnz"], 2);
    let line = [b"%%MatrixMarket", &vec![b'%'; 8 << 20][..]].concat();
    let entries: Vec<_> = (0..200_000).map(|k| (k, k, 1.0)).collect();
    let entries = mtx(200_000, 200_000, &entries);
    for (status, reason, body) in [(422, "line 1: the line has more than", &line), (507, "bytes", &entries)] {
        let packed = put("b", MTX, body).expect(status);
        let plain = server.send("PUT /v1/matrices/b", &[MTX], body).expect(status);
        assert!(packed.text().contains(reason) && plain.text().contains(reason), "{}", packed.text());
    }

    // What an array has beside its zeros is not more than the memory.
    put("b", NPY, &npy(&[1000, 1000], &[1.0; 1_000_000])).expect(507);
    assert_eq!(std::fs::read_dir(data.path().join("uploads")).unwrap().count(), 0);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn bytes_after_a_compressed_body_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(&matrix()).unwrap();
    let body = encoder.finish().unwrap();
    let put = |body: &[u8]| server.send("PUT /v1/matrices/a", &[MTX, "Content-Encoding: deflate"], body);
    put(&body).expect(201);
    let refused = put(&[&body[..], b"more"].concat()).expect(422);
    assert!(refused.text().contains("bytes follow"), "{}", refused.text());
}
