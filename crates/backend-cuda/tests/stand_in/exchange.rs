//! Exchanges of elements between devices, by NCCL and by copies.

use super::{context, with_stand_in};
use backend_cuda::{CUDA, Device, Peer, PeerPath, connect, device_uuid, join, nccl_version, unique_id};
use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::{Backend, Space};
use std::thread;

/// Sends the elements of each of three ranks but its own number to the next rank, and those with it to the one before.
fn passes(devices: &[Device], peers: &[Peer]) -> Vec<sparse_core::Result<Vec<i32>>> {
    let segment = |rank, range| Segment { rank, range };
    thread::scope(|scope| {
        let ranks = devices.iter().zip(peers).zip(0..).map(|((device, peer), rank)| {
            scope.spawn(move || {
                let own: Vec<i32> = (0..5).map(|k| 10 * rank + k).collect();
                let (outgoing, mut incoming) = (device.upload(&own)?, device.upload(&[0; 5])?);
                let (next, last) = ((rank as usize + 1) % 3, (rank as usize + 2) % 3);
                let mut computed = false;
                peer.exchange(
                    Device::view(&outgoing),
                    &[segment(next, 0..2), segment(last, 2..5)],
                    Device::view_mut(&mut incoming),
                    &[segment(last, 0..2), segment(next, 2..5)],
                    &mut || computed = true,
                )?;
                assert!(computed);
                drop(outgoing);
                Ok((device, incoming))
            })
        });
        let ranks: Vec<_> = ranks.collect();
        let ended: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        ended.into_iter().map(|ended| ended.and_then(|(device, found)| device.download(&found))).collect()
    })
}

fn exchanges(indices: [usize; 3], path: PeerPath, name: &str) {
    let devices = indices.map(|index| CUDA.open(index).unwrap());
    let peers = connect(&devices, path).unwrap();
    assert!(peers.iter().all(|peer| peer.name() == name), "{peers:?}");
    for _ in 0..3 {
        let found: Vec<_> = passes(&devices, &peers).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [[20, 21, 12, 13, 14], [0, 1, 22, 23, 24], [10, 11, 2, 3, 4]]);
    }
    assert_eq!(context(None), 0, "{name}");
}

#[test]
fn devices_exchange_by_nccl_and_by_copies() {
    let variables = [("STAND_IN_DEVICES", "3")];
    with_stand_in("devices_exchange_by_nccl_and_by_copies", &variables, &[], || {
        exchanges([0, 1, 2], PeerPath::Nccl, "NCCL 2.28.3");
        exchanges([0, 1, 2], PeerPath::Copies, "peer copies");
        exchanges([1, 0, 1], PeerPath::Copies, "peer copies");
        let twice = [1, 0, 1].map(|index| CUDA.open(index).unwrap());
        let refused = connect(&twice, PeerPath::Nccl).unwrap_err().to_string();
        assert!(refused.contains("device 1 is there twice"), "{refused}");
    });
}

/// Threads stand for the processes of ranks, which have nothing in common but the number.
#[test]
fn ranks_with_a_device_each_join_by_nccl() {
    let variables = [("STAND_IN_DEVICES", "3")];
    with_stand_in("ranks_with_a_device_each_join_by_nccl", &variables, &[], || {
        let devices = [0, 1, 2].map(|index| CUDA.open(index).unwrap());
        let uuids = devices.each_ref().map(|device| device_uuid(device).unwrap());
        assert!(uuids[0] != uuids[1] && nccl_version().unwrap() == "2.28.3");
        let twice = unique_id(&[uuids[0], uuids[1], uuids[0]]).unwrap_err().to_string();
        assert!(twice.contains("ranks 0 and 2 have the same device"), "{twice}");
        let id = unique_id(&uuids).unwrap();
        assert!(join(&devices[0], &id[1..], 0, 3).unwrap_err().to_string().contains("127 bytes"));
        let joined = || {
            thread::scope(|scope| {
                let join = |rank| join(&devices[rank], &id, rank, 3).unwrap();
                let ranks = [0, 1, 2].map(|rank| scope.spawn(move || join(rank)));
                ranks.map(|rank| rank.join().unwrap())
            })
        };
        let peers = joined();
        assert!(peers.iter().all(|peer| peer.name() == "NCCL 2.28.3"), "{peers:?}");
        for _ in 0..3 {
            let found: Vec<_> = passes(&devices, &peers).into_iter().map(Result::unwrap).collect();
            assert_eq!(found, [[20, 21, 12, 13, 14], [0, 1, 22, 23, 24], [10, 11, 2, 3, 4]]);
        }
        // A rank that learns of another's failure ends its own end, and no other.
        PeerExchange::<i32, Device>::abandon(&peers[1]);
        let after: Vec<_> = passes(&devices, &peers);
        assert!(after[1].as_ref().unwrap_err().to_string().contains("failed before"), "{after:?}");
        drop(peers);
        assert!(passes(&devices, &joined()).iter().all(Result::is_ok));
        assert_eq!(context(None), 0);
    });
}

#[test]
fn devices_that_do_not_reach_each_other_exchange_too() {
    let variables = [("STAND_IN_DEVICES", "3"), ("STAND_IN_PEERS", "0")];
    with_stand_in("devices_that_do_not_reach_each_other_exchange_too", &variables, &[], || {
        exchanges([0, 1, 2], PeerPath::Copies, "copies that the driver stages");
    });
}

/// A rank that offers more than it has fails, and so does the rank that it sends to; nobody waits.
#[test]
fn a_rank_that_fails_in_an_exchange_leaves_nobody_waiting() {
    let test = "a_rank_that_fails_in_an_exchange_leaves_nobody_waiting";
    with_stand_in(test, &[], &[], || {
        for path in [PeerPath::Nccl, PeerPath::Copies] {
            let devices = [0, 1].map(|index| CUDA.open(index).unwrap());
            let peers = connect(&devices, path).unwrap();
            let one = |rank: usize, elements: usize| {
                let (outgoing, mut incoming) =
                    (devices[rank].upload(&[7; 4])?, devices[rank].upload(&[0; 4])?);
                let other = 1 - rank;
                peers[rank].exchange(
                    Device::view(&outgoing),
                    &[Segment { rank: other, range: 0..elements }],
                    Device::view_mut(&mut incoming),
                    &[Segment { rank: other, range: 0..4 }],
                    &mut || (),
                )?;
                devices[rank].download(&incoming)
            };
            let both = |elements: usize| {
                thread::scope(|scope| {
                    let second = scope.spawn(move || one(1, elements));
                    (one(0, 4), second.join().unwrap())
                })
            };
            let reported = both(5).1.unwrap_err().to_string();
            assert!(reported.contains("elements 0..5 of 4"), "{path}: {reported}");
            match path {
                PeerPath::Copies => {
                    assert!(both(5).0.unwrap_err().to_string().contains("rank 1 failed"));
                    let (first, second) = both(3);
                    assert!(first.unwrap_err().to_string().contains("rank 1 sent 12 bytes where 16"));
                    assert_eq!(second.unwrap(), [7; 4]);
                    assert_eq!(both(4).0.unwrap(), [7; 4]);
                }
                PeerPath::Nccl => {
                    let (first, second) = both(4);
                    assert!(first.unwrap_err().to_string().contains("failed before"), "{path}");
                    assert!(second.is_err());
                }
            }
        }
    });
}
