//! The promises of [`Transport`], and errors of one rank, which reach all.

use super::matrices::ten_by_eight;
use sparse_core::Error;
use sparse_core::reference::Reference;
use sparse_distrib::{Distribution, Partition, Scheme, Transport, distribute};

pub(crate) fn all(transport: &impl Transport) {
    messages_keep_their_order(transport);
    exchanges_do_not_wait_for_each_other(transport);
    exchanges_overlap(transport);
    collectives_reach_all_ranks(transport);
    local_ranks_number_the_ranks_of_a_host(transport);
    messages_wait_behind_collectives(transport);
    wrong_peers_are_errors(transport);
    disagreement_is_an_error_on_all_ranks(transport);
    a_root_that_cannot_encode_tells_all_ranks(transport);
}

/// Everyone sends to everyone, in rounds in which one rank sends and the others receive.
pub(crate) fn messages_keep_their_order(transport: &impl Transport) {
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
pub(crate) fn exchanges_do_not_wait_for_each_other(transport: &impl Transport) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let others: Vec<_> = (0..ranks).filter(|&other| other != rank).collect();
    let message = |from: usize, to: usize| vec![from as u8; 1000 * to + from];
    let messages = others.iter().map(|&to| (to, message(rank, to))).collect();
    let mut calls = 0;
    let senders: Vec<_> = others.iter().map(|&from| (from, message(from, rank).len())).collect();
    let received = transport.exchange(messages, &senders, &mut || calls += 1).unwrap();
    assert!(received.into_iter().eq(others.iter().map(|&from| message(from, rank))));
    assert_eq!(calls, 1);

    let to_next = (rank + 1 < ranks).then(|| (rank + 1, vec![rank as u8]));
    let previous: Vec<_> = rank.checked_sub(1).map(|from| (from, 1)).into_iter().collect();
    let received = transport.exchange(to_next.into_iter().collect(), &previous, &mut || ()).unwrap();
    assert_eq!(received, previous.iter().map(|&(from, _)| vec![from as u8]).collect::<Vec<_>>());
    transport.barrier().unwrap();
}

/// Rank 0 meets rank 1 during its exchange: first when rank 1 has received and been received, then before rank 1 has
/// sent. It would wait forever if messages were not posted before the meeting and waited for behind it.
fn exchanges_overlap(transport: &impl Transport) {
    if transport.ranks() == 1 {
        return;
    }
    let (rank, message) = (transport.rank(), vec![5; 1 << 15]); // longer than what MPI buffers
    let exchange = |meanwhile: &mut dyn FnMut()| {
        let (peer, sent) = (1 - rank, message.clone());
        let received = transport.exchange(vec![(peer, sent)], &[(peer, message.len())], meanwhile);
        assert!(received.unwrap() == [message.clone()]);
    };
    for is_behind in [true, false] {
        match (rank, is_behind) {
            (0, _) => exchange(&mut || transport.barrier().unwrap()),
            (1, true) => {
                exchange(&mut || ());
                transport.barrier().unwrap();
            }
            (1, false) => {
                transport.barrier().unwrap();
                exchange(&mut || ());
            }
            _ => transport.barrier().unwrap(),
        }
    }
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

/// All ranks of these tests are on one host.
fn local_ranks_number_the_ranks_of_a_host(transport: &impl Transport) {
    assert_eq!(transport.local_rank(), transport.rank());
}

/// Every rank has sent before any receives, which takes a transport that buffers messages as short as these.
fn messages_wait_behind_collectives(transport: &impl Transport) {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    if ranks == 1 {
        return;
    }
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    transport.send(next, vec![1; rank]).unwrap();
    transport.send(next, vec![2]).unwrap();
    assert_eq!(transport.broadcast(ranks - 1, vec![3]).unwrap(), [3]);
    assert_eq!(transport.gather(0, vec![4]).unwrap().is_some(), rank == 0);
    transport.barrier().unwrap();
    assert_eq!(transport.receive(previous).unwrap(), vec![1; previous]);
    assert_eq!(transport.receive(previous).unwrap(), [2]);
}

fn wrong_peers_are_errors(transport: &impl Transport) {
    for peer in [transport.rank(), transport.ranks()] {
        assert!(matches!(transport.send(peer, vec![]), Err(Error::Shape { .. })));
        assert!(matches!(transport.receive(peer), Err(Error::Shape { .. })));
        assert!(transport.exchange(vec![], &[(peer, 1)], &mut || ()).is_err());
    }
    assert!(transport.broadcast(transport.ranks(), vec![]).is_err());
    assert!(transport.gather(transport.ranks(), vec![]).is_err());
}

fn disagreement_is_an_error_on_all_ranks(transport: &impl Transport) {
    let (rank, ranks, matrix) = (transport.rank(), transport.ranks(), ten_by_eight());
    let distribute = |scheme, parts, input| {
        let distribution = Distribution { scheme, partition: Partition::rows(parts).unwrap(), root: 0 };
        let local_part =
            distribute::<_, _, sparse_core::Row, f32, i32, i32>(transport, &Reference, distribution, input);
        local_part.map(|local_part| local_part.part).unwrap_err().to_string()
    };
    let input = (rank == 0).then(|| matrix.as_view());
    assert!(distribute(Scheme::Cfs, ranks + 1, input).contains("parts where"));
    assert!(distribute(Scheme::Cfs, ranks, None).contains("the root, has no matrix"));
    if ranks > 1 {
        let scheme = if rank == ranks - 1 { Scheme::Ed2 } else { Scheme::Cfs };
        let reported = distribute(scheme, ranks, input);
        assert!(reported.contains("is not what the root distributes"), "{reported}");
    }
}

/// ED1 has no values of half a word: encoding fails for every part.
fn a_root_that_cannot_encode_tells_all_ranks(transport: &impl Transport) {
    let elements = [sparse_core::f16::ONE; 32];
    let matrix = sparse_core::DenseView::row_major(&elements, 4, 8).unwrap();
    let partition = Partition::rows(transport.ranks()).unwrap();
    let distribution = Distribution { scheme: Scheme::Ed1, partition, root: 0 };
    let input = (transport.rank() == 0).then_some(matrix);
    let local_part = distribute::<_, _, sparse_core::Row, sparse_core::f16, i32, i32>(
        transport,
        &Reference,
        distribution,
        input,
    );
    assert!(local_part.map(|local_part| local_part.part).unwrap_err().to_string().contains("use ed2"));
}
