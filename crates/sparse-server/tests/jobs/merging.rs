//! Products of several requests: computed together where no worker is free, at once where one is.

use super::*;

#[test]
fn vectors_that_wait_are_multiplied_together_with_the_bits_that_each_has_alone() {
    let (_data, server) = server(|config| config.memory = 64 << 20);
    put_slow(&server, &[]);
    // Rows of many lengths, one longer than a segment of the product.
    let n = 6000;
    let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 97.0 - 5.0;
    let mut entries: Vec<_> = (0..n).map(|col| (3, col, value(col))).collect();
    entries.extend(
        (4..n).flat_map(|row| (0..row % 40).map(move |k| (row, (row * 31 + k * 17) % n, value(row + k)))),
    );
    entries.sort_unstable_by_key(|&(row, col, _)| (row, col));
    entries.dedup_by_key(|&mut (row, col, _)| (row, col));
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(n, n, &entries)).expect(201);
    let x = |k: usize| npy(&[n], &(0..n).map(|i| value(i * 3 + 1000 * k) / 3.0).collect::<Vec<_>>());
    for query in ["", "?alpha=1.7", "?op=t"] {
        let request = format!("POST /v1/matrices/a/spmv{query}");
        let alone: Vec<_> = (0..20).map(|k| server.send(&request, &[NPY], &x(k)).expect(200).body).collect();
        let blocker = take_worker(&server);
        std::thread::scope(|scope| {
            let (server, request, x) = (&server, &request, &x);
            let waiting: Vec<_> =
                (0..20).map(|k| scope.spawn(move || server.send(request, &[NPY], &x(k)))).collect();
            let wrong = scope.spawn(|| server.send(request, &[NPY], &npy(&[3], &[1.0; 3])));
            await_that("all wait", || operations(server).1 == 21);
            drop(blocker);
            for (together, alone) in waiting.into_iter().zip(&alone) {
                let together = together.join().unwrap().expect(200).body;
                assert!(together == *alone, "{request}: other bits");
            }
            wrong.join().unwrap().expect(422);
        });
    }
    let metrics = server.send("GET /metrics", &[], &[]).expect(200);
    let count = |line: &str| -> u64 {
        let found = metrics.text().lines().find_map(|found| found.strip_prefix(line));
        found.unwrap_or_else(|| panic!("{line}: {}", metrics.text())).trim().parse().unwrap()
    };
    let (few, all) = (count("nnz_merged_bucket{le=\"4.0\"} "), count("nnz_merged_bucket{le=\"8.0\"} "));
    assert!(all - few >= 6, "two products of eight requests each time: {}", metrics.text());
    await_that("all have ended", || operations(&server) == (0, 0));
}

#[test]
fn small_products_are_computed_at_once_where_a_worker_is_free_and_wait_where_none_is() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let n = 50;
    let entries: Vec<_> = (0..n)
        .flat_map(|row| (0..7).map(move |k| (row, (row + 3 * k) % n, 1.0 / (1 + row + k) as f64)))
        .collect();
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(n, n, &entries)).expect(201);
    let x = |k: usize| npy(&[n], &(0..n).map(|i| ((i + k) as f64).sqrt()).collect::<Vec<_>>());
    let request = "POST /v1/matrices/a/spmv";
    let at_once: Vec<_> = (0..5).map(|k| server.send(request, &[NPY], &x(k)).expect(200).body).collect();
    let merged = || -> usize {
        let metrics = server.send("GET /metrics", &[], &[]).expect(200);
        let line = metrics.text().lines().find_map(|line| line.strip_prefix("nnz_merged_count "));
        line.unwrap().parse().unwrap()
    };
    // One passes the queue while the server looks at its matrix, to see whether its time is over.
    let before = merged();
    assert!(before < at_once.len(), "none was computed at once");
    let blocker = take_worker(&server);
    std::thread::scope(|scope| {
        let (server, x) = (&server, &x);
        let waiting: Vec<_> =
            (0..5).map(|k| scope.spawn(move || server.send(request, &[NPY], &x(k)))).collect();
        await_that("all wait", || operations(server).1 == 5);
        drop(blocker);
        for (waited, at_once) in waiting.into_iter().zip(&at_once) {
            assert!(waited.join().unwrap().expect(200).body == *at_once, "other bits");
        }
    });
    assert!(merged() > before, "those that waited have passed the queue");
    server.send(request, &[NPY], &npy(&[3], &[1.0; 3])).expect(422);
}
