//! The tests of every transport, written for one rank: a program for each transport calls [`all`] on every rank.

use sparse_core::reference::Reference;
use sparse_core::{Csr, Error};
use sparse_distrib::{Distribution, Partition, SCHEMES, Scheme, Transport, collect, distribute};

pub(crate) fn all(transport: &impl Transport) {
    messages_keep_their_order(transport);
    exchanges_do_not_wait_for_each_other(transport);
    collectives_reach_all_ranks(transport);
    wrong_peers_are_errors(transport);
    a_matrix_goes_out_and_comes_back(transport);
    disagreement_is_an_error_on_all_ranks(transport);
    a_root_that_cannot_encode_tells_all_ranks(transport);
}

/// Everyone sends to everyone, in rounds in which one rank sends and the others receive.
fn messages_keep_their_order(transport: &impl Transport) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    for sender in 0..ranks {
        for round in 0..3_usize {
            let message = |receiver: usize| vec![(sender + receiver) as u8; round * 1000];
            if rank == sender {
                (0..ranks).filter(|&to| to != rank).for_each(|to| transport.send(to, message(to)).unwrap());
            } else {
                assert_eq!(transport.receive(sender).unwrap(), message(rank));
            }
        }
    }
    transport.barrier().unwrap();
}

/// Everyone to everyone at once, then around a ring, where not every pair meets; the last has nothing to send.
fn exchanges_do_not_wait_for_each_other(transport: &impl Transport) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let others: Vec<_> = (0..ranks).filter(|&other| other != rank).collect();
    let message = |from: usize, to: usize| vec![from as u8; 1000 * to + from];
    let messages = others.iter().map(|&to| (to, message(rank, to))).collect();
    let mut calls = 0;
    let received = transport.exchange(messages, &others, &mut || calls += 1).unwrap();
    assert!(received.into_iter().eq(others.iter().map(|&from| message(from, rank))));
    assert_eq!(calls, 1);

    let to_next = (rank + 1 < ranks).then(|| (rank + 1, vec![rank as u8]));
    let previous: Vec<_> = rank.checked_sub(1).into_iter().collect();
    let received = transport.exchange(to_next.into_iter().collect(), &previous, &mut || ()).unwrap();
    assert_eq!(received, previous.iter().map(|&from| vec![from as u8]).collect::<Vec<_>>());
    transport.barrier().unwrap();
}

fn collectives_reach_all_ranks(transport: &impl Transport) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    for root in 0..ranks {
        let sent = transport.broadcast(root, vec![rank as u8; 5]).unwrap();
        assert_eq!(sent, [root as u8; 5]);
        let gathered = transport.gather(root, vec![rank as u8; rank]).unwrap();
        let expected =
            (rank == root).then(|| (0..ranks).map(|from| vec![from as u8; from]).collect::<Vec<_>>());
        assert_eq!(gathered, expected);
        transport.barrier().unwrap();
    }
}

fn wrong_peers_are_errors(transport: &impl Transport) {
    for peer in [transport.rank(), transport.ranks()] {
        assert!(matches!(transport.send(peer, vec![]), Err(Error::Shape { .. })));
        assert!(matches!(transport.receive(peer), Err(Error::Shape { .. })));
    }
    assert!(transport.broadcast(transport.ranks(), vec![]).is_err());
    assert!(transport.gather(transport.ranks(), vec![]).is_err());
}

fn a_matrix_goes_out_and_comes_back(transport: &impl Transport) {
    let (ranks, matrix) = (transport.ranks(), crate::common::ten_by_eight());
    let whole = Csr::<f32>::from_dense(matrix.as_view()).unwrap();
    for info in &SCHEMES {
        for partition in [Partition::rows(ranks), Partition::cols(ranks)] {
            let distribution =
                Distribution { scheme: info.scheme, partition: partition.unwrap(), root: ranks - 1 };
            let input = (transport.rank() == ranks - 1).then(|| matrix.as_view());
            let held = distribute(transport, &Reference, distribution, input).unwrap();
            let collected: Option<Csr<f32>> = collect(transport, &Reference, distribution, &held).unwrap();
            assert_eq!(collected, (transport.rank() == ranks - 1).then(|| whole.clone()));
        }
    }
}

fn disagreement_is_an_error_on_all_ranks(transport: &impl Transport) {
    let (rank, ranks, matrix) = (transport.rank(), transport.ranks(), crate::common::ten_by_eight());
    let distribute = |scheme, parts, input| {
        let distribution = Distribution { scheme, partition: Partition::rows(parts).unwrap(), root: 0 };
        let held =
            distribute::<_, _, sparse_core::Row, f32, i32, i32>(transport, &Reference, distribution, input);
        held.map(|held| held.part).unwrap_err().to_string()
    };
    let input = (rank == 0).then(|| matrix.as_view());
    assert!(distribute(Scheme::Cfs, ranks + 1, input).contains("parts where"));
    assert!(distribute(Scheme::Cfs, ranks, None).contains("the root, has no matrix"));
    if ranks > 1 {
        let scheme = if rank == ranks - 1 { Scheme::Ed2 } else { Scheme::Cfs };
        let told = distribute(scheme, ranks, input);
        assert!(told.contains("is not what the root distributes"), "{told}");
    }
}

/// ED1 has no values of half a word: encoding fails for every part.
fn a_root_that_cannot_encode_tells_all_ranks(transport: &impl Transport) {
    let elements = [sparse_core::f16::ONE; 32];
    let matrix = sparse_core::DenseView::row_major(&elements, 4, 8).unwrap();
    let partition = Partition::rows(transport.ranks()).unwrap();
    let distribution = Distribution { scheme: Scheme::Ed1, partition, root: 0 };
    let input = (transport.rank() == 0).then_some(matrix);
    let held = distribute::<_, _, sparse_core::Row, sparse_core::f16, i32, i32>(
        transport,
        &Reference,
        distribution,
        input,
    );
    assert!(held.map(|held| held.part).unwrap_err().to_string().contains("use ed2"));
}
