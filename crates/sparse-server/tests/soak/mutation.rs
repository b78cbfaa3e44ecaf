//! Requests with errors.

use crate::client::{Random, banded, ones};
use crate::common::{MTX, NPY, npy};
use crate::service::Server;
use crate::size;
use std::time::Instant;

/// Two steps: C = 2 A, then the product of C and the body.
const PROGRAM: &str = "POST /v1/programs?program=%5B%7B%22name%22:%22c%22,%22operation%22:%22scale%22,%22matrix%22:%22a%22,\
    %22parameters%22:%7B%22alpha%22:2%7D%7D,%7B%22operation%22:%22spmv%22,%22matrix%22:%22$c%22,%22operand%22:%22$body%22%7D%5D";

/// Bodies and parameters with errors.
pub(crate) fn mutation(server: &mut Server) {
    server.send("PUT /v1/matrices/a", &[MTX], &banded(20, 3)).expect(201);
    let data = |kind: &str| server.send("GET /v1/matrices/a/data", &[&format!("Accept: {kind}")], &[]).body;
    let (npz, text) = (data("application/x-npz"), data("text/x-matrix-market"));
    let originals = [
        ("PUT /v1/matrices/b?replace=1", "Content-Type: application/x-npz", npz),
        ("PUT /v1/matrices/b?replace=1", MTX, text),
        ("PUT /v1/matrices/b?replace=1", NPY, npy(&[4, 3], &[1.0; 12])),
        ("PUT /v1/matrices/b?replace=1", NPY, npy(&[2, 2, 3], &[1.0; 12])),
        ("POST /v1/matrices/a/spmv?alpha=2,1&op=t", NPY, ones(20)),
        ("POST /v1/matrices/a/solve?method=cg&tol=1e-3&max_iterations=9", NPY, ones(20)),
        ("POST /v1/matrices/a/select?rows=0..3,7&columns=1..9", NPY, vec![]),
        (PROGRAM, NPY, ones(20)),
        ("PUT /v1/matrices/a/labels?labels=project=pde,run=7", NPY, vec![]),
        ("GET /v1/matrices?label=project=pde,run", NPY, vec![]),
    ];
    let (mut random, mut client, mut counts) =
        (Random(7), server.client(), std::collections::BTreeMap::new());
    let began = Instant::now();
    for _ in 0..size(700, 100_000) {
        let (request, media, body) = &originals[random.below(originals.len())];
        let (mut request, mut body) = (request.to_string(), body.clone());
        if body.is_empty() || random.below(5) == 0 {
            request = mutate_query(&request, &mut random);
        } else {
            mutate(&mut body, &mut random);
        }
        let answer = client.send(&request, &[media], &body).expect("an answer");
        // What would be too large for the memory is refused.
        assert!(answer.status < 500 || answer.status == 507, "{request}: {answer:?} for {body:?}");
        *counts.entry(answer.status).or_insert(0) += 1;
    }
    let time = began.elapsed().as_secs_f64();
    server.say(format_args!("answers by status: {counts:?} in {time:.1} s"));
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    client.send("DELETE /v1/matrices/b", &[], &[]).unwrap();
    assert_eq!(server.used_bytes(), 0, "what was refused left nothing");
}

fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let (length, at) = (body.len(), random.below(body.len().max(1)));
        match random.below(6) {
            _ if body.is_empty() => return,
            0 => body.truncate(at),
            1 => body.insert(at, random.below(256) as u8),
            2 => drop(body.remove(at)),
            3 => body[at] = b"0193-. \n\xff\0"[random.below(10)],
            4 => body.extend_from_within(at..length.min(at + 40)),
            _ => body[at] ^= 1 << random.below(8),
        }
    }
}

/// Replaces characters of the query by others that an address may have.
fn mutate_query(request: &str, random: &mut Random) -> String {
    let start = request.find('?').unwrap() + 1;
    let (path, query) = request.split_at(start);
    let mut query: Vec<u8> = query.into();
    for _ in 0..=random.below(3) {
        let at = random.below(query.len());
        query[at] = b"0123456789abcnt=&,.-+%eE"[random.below(24)];
    }
    format!("{path}{}", String::from_utf8(query).unwrap())
}
