//! Orderings and components, against a dense model.

use proptest::collection::vec;
use proptest::prelude::*;
use sparse_core::graph::{Connection, Graph};
use sparse_core::{Csr, Error};

fn graphs() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (1..9_usize).prop_flat_map(|nodes| (Just(nodes), vec((0..nodes, 0..nodes), 0..14)))
}

/// True at [i][j] if a path leads from i to j.
fn reachable(nodes: usize, edges: &[(usize, usize)]) -> Vec<Vec<bool>> {
    let mut reached = vec![vec![false; nodes]; nodes];
    (0..nodes).for_each(|k| reached[k][k] = true);
    edges.iter().for_each(|&(i, j)| reached[i][j] = true);
    for k in 0..nodes {
        for i in 0..nodes {
            for j in 0..nodes {
                reached[i][j] |= reached[i][k] && reached[k][j];
            }
        }
    }
    reached
}

fn is_permutation(order: &[usize], nodes: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..nodes)
}

proptest! {
    #[test]
    fn components_are_classes_of_nodes_that_reach_each_other((nodes, edges) in graphs()) {
        let both: Vec<_> = edges.iter().flat_map(|&(i, j)| [(i, j), (j, i)]).collect();
        let graph = Graph::from_edges(nodes, edges.clone()).unwrap();
        for (connection, edges) in [(Connection::Weak, both), (Connection::Strong, edges)] {
            let reached = reachable(nodes, &edges);
            let found = graph.connected_components(connection);
            for (i, j) in (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))) {
                let together = reached[i][j] && reached[j][i];
                prop_assert_eq!(found.labels[i] == found.labels[j], together, "{:?} {} {}", connection, i, j);
            }
            // Numbered in the order of their first nodes.
            let mut next = 0;
            for &label in &found.labels {
                prop_assert!(label <= next);
                next = next.max(label + 1);
            }
            prop_assert_eq!(next, found.count);
        }
    }

    #[test]
    fn orders_are_permutations_and_bandwidths_those_of_the_entries((nodes, edges) in graphs()) {
        let graph = Graph::from_edges(nodes, edges.clone()).unwrap();
        prop_assert!(is_permutation(&graph.reverse_cuthill_mckee(), nodes));
        let order = graph.degree_order();
        prop_assert!(is_permutation(&order, nodes));
        let degree = |node: usize| graph.symmetrized().neighbours(node).len();
        prop_assert!(order.is_sorted_by_key(|&node| (degree(node), node)));
        let farthest = |distance: fn(isize, isize) -> isize| {
            edges.iter().map(|&(i, j)| distance(i as isize, j as isize).max(0) as usize).max().unwrap_or(0)
        };
        prop_assert_eq!(graph.bandwidth(), (farthest(|i, j| i - j), farthest(|i, j| j - i)));
        let first = |i: usize| edges.iter().filter(|e| e.0 == i).map(|e| e.1).min().unwrap_or(i).min(i);
        prop_assert_eq!(graph.profile(), (0..nodes).map(|i| i - first(i)).sum::<usize>());
    }
}

/// A grid of 12 x 5 nodes in a scrambled order: its least bandwidth is 5, and reverse Cuthill–McKee attains 6 or less.
#[test]
fn the_bandwidth_of_a_scrambled_grid_is_restored() {
    let scrambled = |node: usize| node * 37 % 60;
    let mut edges = vec![];
    for (x, y) in (0..12).flat_map(|x| (0..5).map(move |y| (x, y))) {
        let node = |x: usize, y: usize| scrambled(5 * x + y);
        edges.push((node(x, y), node(x, y)));
        edges.extend((x < 11).then(|| (node(x, y), node(x + 1, y))));
        edges.extend((y < 4).then(|| (node(x, y), node(x, y + 1))));
    }
    let a = Csr::<f64>::from_triplets(60, 60, edges.into_iter().map(|(i, j)| (i, j, 1.0))).unwrap();
    let graph = Graph::of(&a).unwrap();
    let p = graph.reverse_cuthill_mckee();
    let permuted = Graph::of(&a.select(&p, &p).unwrap()).unwrap().symmetrized();
    assert!(graph.bandwidth().1 > 30, "{:?}", graph.bandwidth());
    assert!(permuted.bandwidth().0 <= 6, "{:?}", permuted.bandwidth());
    assert!(permuted.profile() < graph.symmetrized().profile() / 3);
}

#[test]
fn a_matrix_that_is_not_square_has_no_graph() {
    let error = Graph::of(&Csr::<f32>::zeros(2, 3).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }));
    assert_eq!(error.to_string(), "graph: a square matrix is needed, this one is 2 x 3");
}
