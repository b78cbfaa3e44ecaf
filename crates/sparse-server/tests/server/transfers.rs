//! Bodies and results in files, by descriptors, and in several parts.

use super::common::{MTX, NPY, Response, Running, npy};
use super::matrix;
#[cfg(target_os = "linux")]
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use sparse_server::Config;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::net::TcpStream;
use std::time::Duration;
#[cfg(target_os = "linux")]
use std::{
    io::IoSlice,
    mem::MaybeUninit,
    os::{fd::AsFd, unix::net::UnixStream},
};

#[cfg(unix)]
#[test]
fn bodies_and_results_are_files_of_the_tenant_s_folder_alone() {
    let data = tempfile::tempdir().unwrap();
    let shared = tempfile::tempdir().unwrap();
    let folder = shared.path().join("default");
    std::fs::create_dir(&folder).unwrap();
    let mut config = Config::new(data.path(), 1 << 20);
    config.shared = Some(shared.path().into());
    config.limits.operand_bytes = 1000;
    let server = Running::start(config);
    std::fs::write(folder.join("a.mtx"), matrix()).unwrap();
    server.send("PUT /v1/matrices/a", &[MTX, "nnz-body-file: a.mtx"], &[]).expect(201);
    std::fs::write(folder.join("x.npy"), npy(&[3], &[1.0, 2.0, 3.0])).unwrap();
    let spmv = |files: &[&str]| server.send("POST /v1/matrices/a/spmv", &[&[NPY], files].concat(), &[]);
    let (x, y) = ("nnz-body-file: x.npy", "nnz-result-file: y.npy");
    assert_eq!(spmv(&[x, y]).expect(200).json()["file"], "y.npy");
    let result = nnz::io::npy::read(folder.join("y.npy")).unwrap();
    assert_eq!(result.values.into_typed::<f64>().unwrap(), [6.0, 7.0, 6.0]);
    assert_eq!(spmv(&[x]).array(), [6.0, 7.0, 6.0]);
    spmv(&[x, y]).expect(409);
    // Numbers stay in the answer, and what fails leaves no file.
    let norm = server.send("POST /v1/matrices/a/norm?ord=1", &["nnz-result-file: norm.npy"], &[]).expect(200);
    assert_eq!(norm.json()["norm"], 5.0);
    server.send("POST /v1/matrices/b/spmv", &[NPY, x, "nnz-result-file: z.npy"], &[]).expect(404);
    assert!(!folder.join("norm.npy").exists() && !folder.join("z.npy").exists());

    // Nothing outside of the folder is read or written.
    std::fs::write(shared.path().join("secret.npy"), npy(&[3], &[1.0; 3])).unwrap();
    std::os::unix::fs::symlink("../secret.npy", folder.join("link.npy")).unwrap();
    std::fs::hard_link(shared.path().join("secret.npy"), folder.join("hard.npy")).unwrap();
    std::os::unix::fs::symlink(shared.path().join("made.npy"), folder.join("made.npy")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    for (status, file) in [
        (400, "../secret.npy"),
        (400, "/etc/passwd"),
        (400, ".."),
        (422, "link.npy"),
        (422, "hard.npy"),
        (422, "pipe"),
        (422, "none.npy"),
    ] {
        spmv(&[&format!("nnz-body-file: {file}")]).expect(status);
    }
    for (status, file) in [(400, "../made.npy"), (409, "made.npy")] {
        spmv(&[x, &format!("nnz-result-file: {file}")]).expect(status);
    }
    assert!(!shared.path().join("made.npy").exists());
    std::fs::write(folder.join("large.npy"), npy(&[200], &[1.0; 200])).unwrap();
    spmv(&["nnz-body-file: large.npy"]).expect(413);
    let both = server.send("POST /v1/matrices/a/spmv", &[NPY, x], &npy(&[3], &[1.0; 3]));
    assert!(both.expect(400).text().contains("without a body of its own"));
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let refused = server.send("PUT /v1/matrices/a", &[MTX, "nnz-body-file: a.mtx"], &[]).expect(400);
    assert!(refused.text().contains("--shared DIR"), "{}", refused.text());
}

/// Passes the descriptor of a file with a byte.
#[cfg(target_os = "linux")]
fn send_descriptor(stream: &UnixStream, file: impl AsFd) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [file.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(b"f")], &mut control, SendFlags::empty())
}

/// A memfd with these contents, which can be sealed.
#[cfg(target_os = "linux")]
fn memfd(contents: &[u8]) -> std::fs::File {
    let flags = rustix::fs::MemfdFlags::ALLOW_SEALING;
    let mut file: std::fs::File = rustix::fs::memfd_create("test", flags).unwrap().into();
    file.write_all(contents).unwrap();
    file
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_and_results_are_descriptors_that_the_client_has_passed() {
    let data = tempfile::tempdir().unwrap();
    let socket = data.path().join("descriptors");
    // That of a server that was killed.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let server =
        Running::start(Config { descriptors: Some(socket.clone()), ..Config::new(data.path(), 1 << 20) });
    let stream = UnixStream::connect(&socket).unwrap();
    let line = |stream: &UnixStream| {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let pass = |file: &dyn AsFd| {
        send_descriptor(&stream, file.as_fd()).unwrap();
        line(&stream)
    };
    let body = |file: &dyn AsFd| format!("nnz-body-descriptor: {}", pass(file));
    let result = |file: &dyn AsFd| format!("nnz-result-descriptor: {}", pass(file));
    server.send("PUT /v1/matrices/a", &[MTX, &body(&memfd(&matrix()))], &[]).expect(201);

    let spmv = |headers: &[&str]| server.send("POST /v1/matrices/a/spmv", &[&[NPY], headers].concat(), &[]);
    let (x, mut y) = (memfd(&npy(&[3], &[1.0, 2.0, 3.0])), memfd(&[b'?'; 1000]));
    let (from, to) = (body(&x), result(&y));
    let about = spmv(&[&from, &to]).expect(200).json();
    assert_eq!(about["descriptor"], to["nnz-result-descriptor: ".len()..]);
    let mut written = vec![];
    y.rewind().unwrap();
    y.read_to_end(&mut written).unwrap();
    assert_eq!(about["bytes"], written.len());
    let values = nnz::io::npy::parse(&written).unwrap().values;
    assert_eq!(values.into_typed::<f64>().unwrap(), [6.0, 7.0, 6.0]);
    assert_eq!(spmv(&[&body(&x)]).array(), [6.0, 7.0, 6.0]);
    let norm = server.send("POST /v1/matrices/a/norm?ord=1", &[&result(&y)], &[]).expect(200);
    assert_eq!(norm.json()["norm"], 5.0, "numbers stay in the answer");

    // An id is good for one request, and for as long as its connection.
    spmv(&[&from]).expect(422);
    let other = UnixStream::connect(&socket).unwrap();
    send_descriptor(&other, &x).unwrap();
    let closed = format!("nnz-body-descriptor: {}", line(&other));
    drop(other);
    std::thread::sleep(Duration::from_millis(300));
    spmv(&[&closed]).expect(422);
    spmv(&["nnz-body-descriptor: ../x"]).expect(400);
    spmv(&["nnz-body-descriptor: x", "nnz-body-file: x"]).expect(400);

    // One user has so many connections, and gets them back.
    let many: Vec<_> = (0..63).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let is_closed = |mut stream: UnixStream| stream.read(&mut [0]).is_ok_and(|read| read == 0);
    assert!(is_closed(UnixStream::connect(&socket).unwrap()));
    drop(many);
    let is_served = || {
        std::thread::sleep(Duration::from_millis(100));
        let again = UnixStream::connect(&socket).unwrap();
        // The server may have closed it by now.
        send_descriptor(&again, &x).is_ok()
            && BufReader::new(&again).read_line(&mut String::new()).is_ok_and(|read| read == 33)
    };
    assert!((0..100).any(|_| is_served()));

    // What is no file, or cannot be read or written.
    let read_only = std::fs::File::open("/proc/self/exe").unwrap();
    spmv(&[&body(&x), &result(&read_only)]).expect(422);
    let (pipe, _) = std::io::pipe().unwrap();
    assert!(pass(&pipe).starts_with("error: a memfd"));
    let write_only = std::fs::File::create(data.path().join("file")).unwrap();
    assert!(pass(&write_only).starts_with("error: a memfd"));
    let of_kernel = std::fs::File::open("/proc/self/status").unwrap();
    assert!(pass(&of_kernel).starts_with("error: a memfd"));
    // One that is cut short, or sealed, is an error and no signal.
    let large = memfd(&npy(&[100_000], &[1.0; 100_000]));
    let (cut, sealed) = (body(&large), memfd(&[b'?'; 1000]));
    large.set_len(1000).unwrap();
    spmv(&[&cut]).expect(422);
    rustix::fs::fcntl_add_seals(&sealed, rustix::fs::SealFlags::WRITE | rustix::fs::SealFlags::SHRINK)
        .unwrap();
    spmv(&[&body(&x), &result(&sealed)]).expect(422);
    assert_eq!(spmv(&[&body(&x)]).array(), [6.0, 7.0, 6.0]);
    (&stream).write_all(b"f").unwrap();
    assert!(line(&stream).starts_with("error: a byte"));
    let waiting: Vec<_> = (0..17).map(|_| pass(&x)).collect();
    assert!(waiting[16].starts_with("error: 16 descriptors"), "{waiting:?}");
    drop(server);
    assert!(!socket.exists());
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let refused = server.send("POST /v1/matrices/a/spmv", &[NPY, &from], &[]).expect(400);
    assert!(refused.text().contains("--descriptors SOCKET"), "{}", refused.text());
}

#[cfg(unix)]
#[test]
fn an_upload_is_resumed_where_it_broke_off() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let (body, length) = (matrix(), matrix().len());
    let begin = |length: u64| server.send("POST /v1/uploads", &[&format!("Upload-Length: {length}")], &[]);
    let head = |response: &Response, name: &str| {
        let prefix = format!("{name}: ");
        response.head.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    };
    let address = head(&begin(length as u64).expect(201), "location").unwrap();
    let offset =
        || head(&server.send(&format!("HEAD {address}"), &[], &[]).expect(204), "upload-offset").unwrap();
    let patch = |offset: usize, headers: &[&str], part: &[u8]| {
        let offset = format!("Upload-Offset: {offset}");
        server.send(&format!("PATCH {address}"), &[&[&*offset], headers].concat(), part)
    };
    assert_eq!(offset(), "0");
    patch(0, &[], &body[..10]).expect(204);
    // A connection that breaks leaves what has come.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let part = format!(
        "PATCH {address} HTTP/1.1\r\nHost: {}\r\nUpload-Offset: 10\r\nContent-Length: {}\r\n\r\n",
        server.address,
        length - 10
    );
    stream.write_all(&[part.as_bytes(), &body[10..25]].concat()).unwrap();
    let began = std::time::Instant::now();
    while offset() != "25" {
        assert!(began.elapsed().as_secs() < 20, "{} bytes are there", offset());
        // A question ends the part that is being received; here it is sent again.
        let there: usize = offset().parse().unwrap();
        if there < 25 {
            // What was sent before may have come meanwhile.
            let sent = patch(there, &[], &body[there..25]);
            let is_later = |offset: String| offset.parse::<usize>().unwrap() > there;
            let has_come = sent.status == 409 && head(&sent, "upload-offset").is_some_and(is_later);
            assert!(sent.status == 204 || has_come, "{} {}", sent.head, sent.text());
        }
    }
    drop(stream);
    let refused = patch(10, &[], &body[10..]).expect(409);
    assert_eq!(head(&refused, "upload-offset").as_deref(), Some("25"));
    let upload = format!("nnz-upload: {}", address.rsplit('/').next().unwrap());
    let put =
        |name: &str, body: &[u8]| server.send(&format!("PUT /v1/matrices/{name}"), &[MTX, &upload], body);
    assert!(put("a", &[]).expect(409).text().contains("25 of its"));
    patch(25, &[], &[&body[25..], &b"more"[..]].concat()).expect(413);
    assert_eq!(offset(), "25", "of a part that is too long nothing is taken");
    patch(25, &[], &body[25..]).expect(204);
    put("a", &body).expect(400);
    put(".a", &[]).expect(400);
    assert_eq!(put("a", &[]).expect(201).json()["nnz"], 5);
    put("a", &[]).expect(404);
    let files = || std::fs::read_dir(data.path().join("resumable")).unwrap().count();
    assert_eq!(files(), 0);

    // A request with a key can be sent again, its upload too, until the next one begins.
    let again = head(&begin(body.len() as u64).expect(201), "location").unwrap();
    server.send(&format!("PATCH {again}"), &["Upload-Offset: 0"], &body).expect(204);
    let upload = format!("nnz-upload: {}", again.rsplit('/').next().unwrap());
    for _ in 0..2 {
        let made = server.send("PUT /v1/matrices/a", &[MTX, &upload, "Idempotency-Key: u"], &[]).expect(201);
        assert_eq!(made.json()["version"], 2);
    }
    let next = head(&begin(1).expect(201), "location").unwrap();
    assert_eq!(files(), 1);
    server.send(&format!("DELETE {next}"), &[], &[]).expect(204);

    begin(1 << 60).expect(413);
    server.send("POST /v1/uploads", &[], &[]).expect(400);
    let other = head(&begin(10).expect(201), "location").unwrap();
    server.send(&format!("DELETE {other}"), &[], &[]).expect(204);
    server.send(&format!("HEAD {other}"), &[], &[]).expect(404);
}
