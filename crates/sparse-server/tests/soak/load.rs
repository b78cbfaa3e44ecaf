//! More requests than a server can answer, clients that are slow, and a stop with requests in flight.

use crate::client::{banded, ones, put_slow, quantile, slow};
use crate::common::{MTX, NPY, Stream, mtx, npy};
use crate::rates::throughput;
use crate::service::Server;
use crate::{BUDGET, size};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Ten times as many clients as workers: those that are accepted wait little, and others are refused.
pub(crate) fn overload(server: &mut Server) {
    put_slow(server);
    let (request, body) = slow(size(500, 5000));
    let time = Duration::from_secs(size(1, 60));
    let load = |clients: usize| {
        let refused = AtomicUsize::new(0);
        let began = Instant::now();
        let accepted: Vec<Duration> = std::thread::scope(|scope| {
            let one = || {
                let (mut client, mut times) = (server.client(), vec![]);
                while began.elapsed() < time {
                    let sent = Instant::now();
                    match client.send(&request, &[NPY], &body).unwrap() {
                        answer if answer.status == 200 => times.push(sent.elapsed()),
                        answer => {
                            assert!(answer.expect(429).head.contains("retry-after"));
                            refused.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(10));
                        }
                    }
                }
                times
            };
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(one)).collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        (accepted, refused.into_inner())
    };
    let (mut unloaded, none) = load(2);
    let idle = server.resident_bytes();
    let (peak, (mut loaded, refused)) = server.peak_bytes(|| load(20));
    let (before, after) = (quantile(&mut unloaded, 0.99), quantile(&mut loaded, 0.99));
    server.say(format_args!(
        "20 clients of 2 workers: {} accepted with p99 {after:.1} ms, {:.1} times that of 2 clients; {refused} refused",
        loaded.len(),
        after / before
    ));
    assert!(none == 0 && refused > 0 && !loaded.is_empty());
    server.require(
        "those that are accepted take 3 times as long as without load at most",
        after <= 3.0 * before,
    );
    let grown = peak.zip(idle).map_or(0, |(peak, idle)| peak.saturating_sub(idle));
    server.require("memory stays within the budget and 5 %", grown <= BUDGET + BUDGET / 20);
}

/// Clients that send a byte now and then beside one that does not. It has as many requests as while they send to a socket
/// that nobody reads: their own work takes the same processors as the server's. The sides take turns, so that other load
/// on the machine slows all.
pub(crate) fn trickle(server: &mut Server) {
    server.send("PUT /v1/matrices/a", &[MTX], &banded(1000, 5)).expect(201);
    let (clients, time, x) = (size(100, 500), Duration::from_secs(size(1, 2)), ones(1000));
    let unread = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unread.local_addr().unwrap();
    std::thread::spawn(move || unread.incoming().collect::<Vec<_>>());
    let elsewhere = || -> Box<dyn Stream> { Box::new(TcpStream::connect(address).unwrap()) };
    let rate = || throughput(server, 1, time, "POST /v1/matrices/a/spmv", &x);
    let sides: [&dyn Fn() -> f64; 3] =
        [&rate, &|| beside_slow_clients(server, clients, elsewhere, rate), &|| {
            beside_slow_clients(server, clients, || server.connect(), rate)
        }];
    let mut rates = [(); 3].map(|()| vec![]);
    for _ in 0..size(1, 5) {
        sides.iter().zip(&mut rates).for_each(|(side, rates)| rates.push(side()));
    }
    let [alone, sent_elsewhere, beside] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    let part = beside / sent_elsewhere;
    server.say(format_args!(
        "{clients} slow clients leave another {:.2} of its {alone:.0} requests/s, {part:.2} of those beside clients that \
         send elsewhere",
        beside / alone
    ));
    server.require("slow clients leave another 0.9 of its rate", part >= 0.9);
}

/// Runs `work` while this number of slow clients, connected before, each send a byte of an upload every 50 ms; returns
/// its result.
fn beside_slow_clients<T>(
    server: &Server,
    clients: usize,
    connect: impl Fn() -> Box<dyn Stream>,
    work: impl FnOnce() -> T,
) -> T {
    let ends = AtomicBool::new(false);
    let head = format!(
        "PUT /v1/matrices/b HTTP/1.1\r\nHost: {}\r\n{MTX}\r\nContent-Length: 999\r\n\r\n",
        server.address
    );
    let mut bytes = head.bytes().chain(std::iter::repeat(b'%'));
    let mut streams: Vec<_> = (0..clients).map(|_| connect()).collect();
    // The server may close what is too slow.
    let mut send = |byte: u8| streams.retain_mut(|stream| stream.write_all(&[byte]).is_ok());
    // With TLS the first byte waits for the handshake.
    bytes.next().into_iter().for_each(&mut send);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for byte in bytes {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                send(byte);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let done = work();
        ends.store(true, Ordering::Relaxed);
        done
    })
}

/// Clients that each send a megabyte of an operand, and then nothing: their buffers are in no ledger.
pub(crate) fn paused(server: &mut Server) {
    const COLUMNS: usize = 5_000_000;
    let (clients, megabyte) = (size(100, 900), vec![0; 1 << 20]);
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(1, COLUMNS, &[(0, 0, 1.0)])).expect(201);
    let head = format!(
        "POST /v1/matrices/a/spmv HTTP/1.1\r\nHost: {}\r\n{NPY}\r\nContent-Length: {}\r\n\r\n",
        server.address,
        npy(&[COLUMNS], &[]).len() + COLUMNS * size_of::<f64>()
    );
    let first = [head.as_bytes(), &npy(&[COLUMNS], &[]), &megabyte].concat();
    let idle = server.resident_bytes();
    let (peak, _) = server.peak_bytes(|| {
        let mut streams: Vec<_> = (0..clients).map(|_| server.connect()).collect();
        streams.iter_mut().for_each(|stream| stream.write_all(&first).unwrap());
        std::thread::sleep(Duration::from_secs(1));
    });
    let grown = peak.zip(idle).map_or(0, |(peak, idle)| peak.saturating_sub(idle));
    server.say(format_args!(
        "{clients} bodies that pause after 1 MiB take {:.0} MiB",
        grown as f64 / (1 << 20) as f64
    ));
    let limit = (32 << 20) + clients as u64 * (320 << 10);
    server.require("paused bodies have 32 MiB, and 320 KiB each, at most", grown <= limit);
}

/// Requests that run or wait when the server is asked to stop: none is lost, and each is finished.
pub(crate) fn stop(server: &mut Server) {
    put_slow(server);
    let count = size(20, 100);
    let (request, body) = slow(size(2000, 5000));
    let statuses: Vec<Option<u16>> = std::thread::scope(|scope| {
        let send = || server.client().send(&request, &[NPY], &body).ok().map(|answer| answer.status);
        let clients: Vec<_> = (0..count).map(|_| scope.spawn(send)).collect();
        // All that are left are in the server, and most have just begun to wait.
        std::thread::sleep(Duration::from_millis(300));
        let left = server.operations();
        server.terminate();
        server.say(format_args!("{left} of {count} requests in flight at SIGTERM"));
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let with = |status: u16| statuses.iter().filter(|found| **found == Some(status)).count();
    let (finished, late) = (with(200), with(503));
    server.say(format_args!(
        "{finished} of {count} requests finished, {late} told that the time was too short"
    ));
    assert_eq!(finished, count, "none is lost: {statuses:?}");
}
