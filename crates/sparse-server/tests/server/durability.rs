//! Matrices on disk, and the end of a server.

use super::common::{MTX, NPY, Running, mtx, npy, read};
use super::matrix;
use sparse_server::Config;
use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn matrices_move_to_disk_and_back_when_memory_is_short() {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 24_000);
    config.tenant_memory = 20_000;
    let server = Running::start(config);
    let entries: Vec<_> = (0..200).map(|k| (k, k, k as f64)).collect();
    let diagonal = mtx(200, 200, &entries); // 200 entries of 12 bytes and 201 offsets of 4
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX], &diagonal).expect(201);
    }
    let tiers = || {
        let list = server.send("GET /v1/matrices", &[], &[]).json();
        let tiers =
            list["matrices"].as_array().unwrap().iter().map(|view| view["tier"].as_str().unwrap() == "disk");
        tiers.collect::<Vec<_>>()
    };
    assert!(tiers()[0] && !tiers()[7], "the oldest went: {:?}", tiers());
    let x = npy(&[200], &[1.0; 200]);
    let y: Vec<_> = (0..200).map(f64::from).collect();
    for name in ["a", "h", "b", "a"] {
        assert_eq!(server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &x).array(), y);
    }
    assert!(!tiers()[0], "the last one used is in memory");
    server.send("PUT /v1/matrices/c/pin", &[], &[]).expect(200);
    let refused = server.send("POST /v1/matrices/c/dense", &[], &[]).expect(507).json();
    assert_eq!(refused["needed_bytes"], 320_000);
    assert!(refused["free_bytes"].as_u64() <= Some(20_000) && refused["evictable_bytes"].as_u64() > Some(0));
    let used = server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].as_u64().unwrap();
    let resident = 8 - tiers().iter().filter(|is_on_disk| **is_on_disk).count() as u64;
    assert_eq!(used, resident * (200 * 12 + 201 * 4), "the ledger has what is resident, and no more");
    // With the matrix and the body that the request has, its result never fits.
    server.send("POST /v1/matrices/a/spmm", &[NPY], &npy(&[200, 3], &[1.0; 600])).expect(507);
}

#[test]
fn the_matrices_of_a_tenant_have_no_more_bytes_than_it_may_store() {
    let data = tempfile::tempdir().unwrap();
    let start = || {
        let mut config = Config::new(data.path(), 24_000);
        config.tenant_storage = 20_000;
        Running::start(config)
    };
    let server = start();
    let body = mtx(200, 200, &(0..200).map(|k| (k, k, 1.0)).collect::<Vec<_>>()); // 3204 bytes
    let put =
        |server: &Running, request: &str| server.send(&format!("PUT /v1/matrices/{request}"), &[MTX], &body);
    for name in ["a", "b?durable=1", "c", "d?durable=1", "e", "f"] {
        put(&server, name).expect(201);
    }
    // Some are on disk, where they count as well.
    let files = |folder: &str| std::fs::read_dir(data.path().join(folder)).unwrap().count();
    assert!(files("spilled") > 0);
    for more in ["g", "g?durable=1", "a"] {
        let refused = put(&server, more).expect(507);
        let reason =
            "your matrices have 19224 bytes, in memory and on disk, and 3204 more are over the 20000";
        assert!(refused.text().contains(reason), "{}", refused.text());
        assert_eq!(
            (&refused.json()["needed_bytes"], &refused.json()["free_bytes"]),
            (&3204.into(), &776.into())
        );
    }
    server.send("POST /v1/matrices/a/scale?into=g", &[], &[]).expect(507);
    assert_eq!(files("segments"), 2, "what was refused leaves no file");
    // What takes the place of another one is no more than before.
    put(&server, "a?replace=1").expect(201);
    server.send("DELETE /v1/matrices/c", &[], &[]).expect(204);
    put(&server, "g?durable=1").expect(201);
    put(&server, "h").expect(507);
    drop(server);
    let server = start();
    (0..3).for_each(|_| drop(put(&server, "h").expect(201)));
    put(&server, "h").expect(507);
}

#[test]
fn an_evicted_matrix_whose_file_is_damaged_is_reported() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 24_000));
    let diagonal = mtx(200, 200, &(0..200).map(|k| (k, k, 1.0 / (1 + k) as f64)).collect::<Vec<_>>());
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX], &diagonal).expect(201);
    }
    let mut damaged = 0;
    for file in std::fs::read_dir(data.path().join("spilled")).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        damaged += 1;
    }
    assert!(damaged > 0, "evicted matrices have files");
    let corrupt = (0..8).filter(|k| {
        let name = char::from(b'a' + k);
        let answer = server.send(&format!("POST /v1/matrices/{name}/norm"), &[], &[]);
        answer.status == 500 && answer.text().contains(&format!("`{name}@1` is corrupt"))
    });
    // Those that come back evict others, whose files are sound.
    assert_eq!(corrupt.count(), damaged);
}

#[test]
fn matrices_move_to_the_host_s_memory_before_they_move_to_disk() {
    let data = tempfile::tempdir().unwrap();
    let bytes = 200 * 12 + 201 * 4;
    // A product leaves memory for three matrices.
    let mut config = Config::new(data.path(), 18_000);
    config.host_memory = 2 * bytes + 100;
    let server = Running::start(config);
    let entries: Vec<_> = (0..200).map(|k| (k, k, k as f64)).collect();
    let used =
        |part: &str| server.send("GET /v1/status", &[], &[]).json()[part]["used_bytes"].as_u64().unwrap();
    // The names of the matrices on disk, in the host's memory and in the device's.
    let tiers = || {
        let began = Instant::now();
        while used("memory") % bytes != 0 {
            assert!(began.elapsed() < Duration::from_secs(20), "results give their bytes back");
        }
        let list = server.send("GET /v1/matrices", &[], &[]).json();
        let named = |tier: &str| -> String {
            let views = list["matrices"].as_array().unwrap().iter().filter(|view| view["tier"] == tier);
            views.map(|view| view["name"].as_str().unwrap()).collect()
        };
        let (disk, host, device) = (named("disk"), named("host"), named("device"));
        let [on_host, on_device] = [&host, &device].map(|names| names.len() as u64 * bytes);
        assert_eq!((used("host_memory"), used("memory")), (on_host, on_device), "the ledgers have no more");
        let metrics = server.send("GET /metrics", &[], &[]).expect(200);
        for (tier, bytes) in [("host", on_host), ("device", on_device)] {
            let line = format!("nnz_tier_bytes{{tier=\"{tier}\"}} {bytes}\n");
            assert!(metrics.text().contains(&line), "{line}{}", metrics.text());
        }
        format!("{disk} {host} {device}")
    };
    let multiply = |name: &str| {
        let (x, y) = (npy(&[200], &[1.0; 200]), (0..200).map(f64::from).collect::<Vec<_>>());
        assert_eq!(server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &x).array(), y);
        tiers()
    };
    for name in ["a", "b?durable=1", "c", "d", "e", "f", "g", "h"] {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX], &mtx(200, 200, &entries)).expect(201);
    }
    assert_eq!(tiers(), "abcde fg h");
    assert_eq!(multiply("a"), "bcde fg ah");
    assert_eq!(multiply("b"), "cde fg abh");
    assert_eq!(multiply("c"), "def gh abc", "the oldest of the device's to the host, of the host's to disk");
    assert_eq!(multiply("f"), "deg ah bcf");
    assert_eq!(multiply("h"), "deg ab cfh", "it comes back from the host");
    // What is pinned stays, and what is deleted gives its bytes back.
    server.send("PUT /v1/matrices/a/pin", &[], &[]).expect(200);
    assert_eq!(tiers(), "deg b acfh");
    assert_eq!(multiply("d"), "beg cf adh");
    server.send("DELETE /v1/matrices/c", &[], &[]).expect(204);
    assert_eq!(tiers(), "beg f adh");
    assert_eq!(multiply("e"), "bg fh ade");
}

#[test]
fn durable_matrices_survive_and_corrupt_ones_are_reported_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let segments = data.path().join("segments");
    let files = || -> BTreeSet<PathBuf> {
        std::fs::read_dir(&segments).into_iter().flatten().map(|file| file.unwrap().path()).collect()
    };
    let [_, torn, flipped] = ["kept", "torn", "flipped"].map(|name| {
        let before = files();
        server.send(&format!("PUT /v1/matrices/{name}?durable=1"), &[MTX], &matrix()).expect(201);
        files().difference(&before).next().expect("a file for the matrix").clone()
    });
    server.send("PUT /v1/matrices/kept?durable=1&replace=1", &[MTX], &matrix()).expect(201);
    server.send("PUT /v1/matrices/gone?durable=1", &[MTX], &matrix()).expect(201);
    server.send("DELETE /v1/matrices/gone", &[], &[]).expect(204);
    server.send("PUT /v1/matrices/fleeting", &[MTX], &matrix()).expect(201);
    drop(server);

    assert_eq!(files().len(), 3, "one for each durable matrix");
    std::fs::OpenOptions::new().write(true).open(&torn).unwrap().set_len(100).unwrap();
    let mut bytes = std::fs::read(&flipped).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&flipped, bytes).unwrap();
    std::fs::write(segments.join("uncommitted.npz"), b"PK").unwrap();

    let server = Running::start(Config::new(data.path(), 1 << 20));
    assert!(!segments.join("uncommitted.npz").exists());
    let x = npy(&[3], &[1.0, 2.0, 3.0]);
    assert_eq!(server.send("POST /v1/matrices/kept@2/spmv", &[NPY], &x).array(), [6.0, 7.0, 6.0]);
    for (name, reason) in [("torn", "100 bytes where"), ("flipped", "does not have the bytes")] {
        let answer = server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &x).expect(500);
        assert!(answer.text().contains(reason), "{}", answer.text());
        server.send(&format!("PUT /v1/matrices/{name}/pin"), &[], &[]).expect(500);
        let view = server.send(&format!("GET /v1/matrices/{name}"), &[], &[]).json();
        assert_eq!((&view["tier"], &view["pinned"]), (&"corrupt".into(), &false.into()));
        server.send(&format!("DELETE /v1/matrices/{name}"), &[], &[]).expect(204);
    }
    for name in ["gone", "fleeting"] {
        server.send(&format!("GET /v1/matrices/{name}"), &[], &[]).expect(404);
    }
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 2, "a durable version's number is not given again");
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 3, "nor is that of one behind it");
    server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    server.send("DELETE /v1/matrices/gone", &[], &[]).expect(204);
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 5, "nor are those of a name that nothing had for a while");
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 6, "nor after the next start");
}

#[test]
fn a_file_that_cannot_be_read_now_is_not_corrupt() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a?durable=1", &[MTX], &matrix()).expect(201);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let segment = std::fs::read_dir(data.path().join("segments")).unwrap().next().unwrap().unwrap().path();
    let aside = data.path().join("aside");
    std::fs::rename(&segment, &aside).unwrap();
    std::fs::create_dir(&segment).unwrap();
    server.send("POST /v1/matrices/a/norm", &[], &[]).expect(500);
    assert_eq!(server.send("GET /v1/matrices/a", &[], &[]).json()["tier"], "disk");
    std::fs::remove_dir(&segment).unwrap();
    std::fs::rename(&aside, &segment).unwrap();
    server.send("POST /v1/matrices/a/norm", &[], &[]).expect(200);
}

#[test]
fn requests_in_flight_are_finished_when_the_server_stops() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Running::start(Config::new(data.path(), 1 << 20));
    let body = matrix();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (address, length) = (server.address, body.len());
    let head = format!(
        "PUT /v1/matrices/a HTTP/1.1\r\nHost: {address}\r\n{MTX}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body[..20]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    server.stop();
    std::thread::sleep(Duration::from_millis(100));
    assert!(TcpStream::connect(address).is_err(), "no new connections");
    stream.write_all(&body[20..]).unwrap();
    read(&mut stream).expect("an answer").expect(201);
}

#[test]
fn a_folder_is_for_one_server() {
    let data = tempfile::tempdir().unwrap();
    let _server = Running::start(Config::new(data.path(), 1 << 20));
    let device = nnz::Device::host_with_threads(1).unwrap();
    let start = sparse_server::Server::start(Config::new(data.path(), 1 << 20), device);
    let refused = tokio::runtime::Runtime::new().unwrap().block_on(start).unwrap_err().to_string();
    assert!(refused.ends_with("another server has this folder: each needs one of its own"), "{refused}");
}
