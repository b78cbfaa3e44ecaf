//! The families that choices are fitted to and judged by: sound, varied, and the same on every machine.

use sparse_core::Csr;
use sparse_generate::families::{Half, Member, Structure, members, transposed};
use sparse_generate::{checksum, stencil_5};
use std::collections::{BTreeMap, BTreeSet};

/// The divisor of the matrix sizes, so that all of them take seconds.
const DIVISOR: usize = 256;

fn small(name: &str) -> Csr<f32> {
    members().find(|member| member.name() == name).unwrap().generate(DIVISOR).unwrap()
}

fn longest(a: &Csr<f32>) -> usize {
    a.row_lengths().into_iter().max().unwrap()
}

#[test]
fn names_are_unique_and_families_are_whole() {
    let names: BTreeSet<String> = members().map(|member| member.name()).collect();
    assert_eq!(names.len(), members().count());
    assert!(names.len() >= 120, "{}", names.len());
    let mut halves: BTreeMap<&str, BTreeSet<Half>> = BTreeMap::new();
    members().for_each(|member| {
        halves.entry(member.family).or_default().insert(member.half);
    });
    assert!(halves.values().all(|halves| halves.len() == 1));
    let fitting = members().filter(|member| member.half == Half::Fit).count();
    assert!(fitting * 5 > names.len() * 2 && fitting * 5 < names.len() * 3, "{fitting}");
}

#[test]
fn all_are_sorted_and_the_same_everywhere() {
    let mut hash = 0_u64;
    for member in members() {
        let a: Csr<f32> = member.generate(DIVISOR).unwrap();
        assert!(a.nnz() > 0, "{}", member.name());
        assert!(a.order().sorted && a.order().unique, "{}", member.name());
        hash = hash.rotate_left(1) ^ checksum(&a);
    }
    assert_eq!(hash, 0x0d5e_ac0d_a129_bc61, "{hash:#x}");
}

#[test]
fn a_transpose_has_the_entries_with_rows_and_columns_exchanged() {
    for Member { structure, .. } in members().filter(|member| member.transposed).take(3) {
        let [whole, turned] = [false, true].map(|transposed| {
            let is_it = |member: &Member| member.structure == structure && member.transposed == transposed;
            members().find(is_it).unwrap().generate::<f32>(DIVISOR).unwrap()
        });
        let mut exchanged: Vec<_> = whole.triplets().map(|(row, col, value)| (col, row, value)).collect();
        exchanged.sort_by_key(|&(row, col, _)| (row, col));
        assert_eq!(turned.triplets().collect::<Vec<_>>(), exchanged);
    }
    let symmetric: Csr<f32> = stencil_5(7, 5).unwrap();
    assert_eq!(transposed(&symmetric).unwrap(), symmetric);
}

#[test]
fn families_are_what_they_are_called() {
    let circuit = small("circuit/four_rails");
    assert!(longest(&circuit) > 10 * circuit.nnz() / circuit.nrows());
    let mesh = small("mesh_2d/corners_of_3");
    assert_eq!(longest(&mesh), 18, "a strip of two nodes: six neighbours of three unknowns");
    let lengths = small("sparse_rows/one_in_eight").row_lengths();
    let empty = lengths.iter().filter(|&&length| length == 0).count();
    assert!(empty * 10 > lengths.len() * 8);
    let mut counts = vec![0; small("ratings/goods").ncols()];
    small("ratings/goods").col_idx().iter().for_each(|&col| counts[col as usize] += 1);
    counts.sort_unstable();
    let entries: usize = counts.iter().sum();
    assert!(counts.iter().rev().take(counts.len() / 10).sum::<usize>() * 10 > entries * 3);
    let road = small("road/country");
    assert!(longest(&road) <= 4 && road.nnz() < 3 * road.nrows());
}

#[test]
fn meshes_have_one_to_six_unknowns() {
    for family in ["mesh_2d", "mesh_3d"] {
        let structures = members().filter(|member| member.family == family).map(|member| member.structure);
        let unknowns: BTreeSet<usize> = structures
            .filter_map(|structure| match structure {
                Structure::Mesh(mesh) => Some(mesh.unknowns),
                _ => None,
            })
            .collect();
        assert_eq!(unknowns, (1..=6).collect(), "{family}");
    }
}

#[test]
fn both_halves_have_matrices_of_far_fewer_entries_than_rows() {
    for half in [Half::Fit, Half::Judge] {
        let scattered = members().filter(|member| matches!(member.structure, Structure::Scattered { .. }));
        let mut matrices = scattered
            .filter(|member| member.half == half)
            .map(|member| member.generate::<f32>(DIVISOR).unwrap());
        assert!(matrices.any(|a| a.nnz() * 50 < a.nrows()), "{half:?}");
    }
}

#[test]
fn shuffled_meshes_have_the_same_row_lengths() {
    let sorted = |name: &str| {
        let mut lengths = small(name).row_lengths();
        lengths.sort_unstable();
        lengths
    };
    assert_eq!(sorted("mesh_2d/corners_of_2"), sorted("mesh_2d/corners_of_2_shuffled"));
    assert_ne!(small("mesh_2d/corners_of_2"), small("mesh_2d/corners_of_2_shuffled"));
}
