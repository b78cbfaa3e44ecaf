//! Matrices of nodes with near neighbours: meshes and circuits.

use super::rows::{SEED, by_rows, near};
use crate::random::Seed;
use sparse_core::error::{Result, checked_product};
use sparse_core::format::Csr;
use sparse_core::scalar::Scalar;

/// A grid of nodes with a dense block of unknowns for each pair of neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mesh {
    /// Nodes along each axis.
    pub grid: [usize; 3],
    /// True if neighbours across edges and corners count too.
    pub corners: bool,
    /// Unknowns per node.
    pub unknowns: usize,
    /// The probability of a neighbour, in each direction by itself.
    pub present: f64,
    /// True if nodes are connected with themselves.
    pub diagonal: bool,
    /// True if nodes are in random order; the unknowns of a node stay together.
    pub shuffled: bool,
}

impl Mesh {
    /// The matrix, with the nodes along the last axis that has several divided.
    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let mut grid = self.grid;
        if let Some(last) = grid.iter_mut().rfind(|side| **side > 1) {
            *last = last.div_ceil(divisor.max(1)).max(2);
        }
        let [nx, ny, nz] = grid;
        let nodes = checked_product("nx x ny x nz", checked_product("nx x ny", nx, ny)?, nz)?;
        let n = checked_product("nodes x unknowns", nodes, self.unknowns)?;
        let seed = Seed::new(SEED + 1);
        let mut node_at: Vec<u32> = (0..nodes as u32).collect();
        if self.shuffled {
            seed.purpose(0).shuffle(&mut node_at);
        }
        let mut place_of = vec![0; nodes];
        for (place, &node) in node_at.iter().enumerate() {
            place_of[node as usize] = place;
        }
        let steps = self.steps();
        let most = checked_product("rows x neighbours", n, steps.len() * self.unknowns)?;
        by_rows((n, n), (most as f64 * self.present) as usize, |row, _, out| {
            let node = node_at[row / self.unknowns] as usize;
            let mut holes = seed.row(node);
            for &step in &steps {
                let is_present = step == [0; 3] || self.present >= 1.0 || holes.chance(self.present);
                let neighbour = neighbour(grid, node, step).filter(|_| is_present);
                out.extend(neighbour.into_iter().flat_map(|node| {
                    let first = place_of[node] * self.unknowns;
                    first as u32..(first + self.unknowns) as u32
                }));
            }
        })
    }

    /// The steps to a node's neighbours, and to itself if it has a diagonal.
    fn steps(&self) -> Vec<[isize; 3]> {
        let cube = (0..27).map(|k: isize| [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1]);
        let distance = |step: &[isize; 3]| step.iter().map(|along| along.abs()).sum::<isize>();
        let is_step = |step: &[isize; 3]| match distance(step) {
            0 => self.diagonal,
            1 => true,
            _ => self.corners,
        };
        cube.filter(is_step).collect()
    }
}

/// The node one step away, unless that leaves the grid.
fn neighbour([nx, ny, nz]: [usize; 3], node: usize, [dx, dy, dz]: [isize; 3]) -> Option<usize> {
    let moved = |at: usize, step: isize, side: usize| at.checked_add_signed(step).filter(|&at| at < side);
    let x = moved(node % nx, dx, nx)?;
    let y = moved(node / nx % ny, dy, ny)?;
    let z = moved(node / (nx * ny), dz, nz)?;
    Some(x + nx * (y + ny * z))
}

/// Nodes with few near neighbours, and rails connected with many nodes: dense rows and columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circuit {
    /// Nodes.
    pub nodes: usize,
    /// The most near neighbours per node; at least one.
    pub neighbours: usize,
    /// Rails, at equal distances.
    pub rails: usize,
    /// Nodes per rail.
    pub fan_out: usize,
}

impl Circuit {
    /// Number of nodes that the neighbours of one are drawn from.
    const WINDOW: usize = 64;

    /// Fraction of nodes with one neighbour anywhere.
    const FAR: f64 = 1.0 / 8.0;

    /// The matrix, with nodes and fan-out divided.
    pub(super) fn generate<T: Scalar>(&self, divisor: usize) -> Result<Csr<T>> {
        let n = self.nodes.div_ceil(divisor.max(1)).max(2);
        let fan_out = self.fan_out.div_ceil(divisor.max(1)).min(n);
        let distance = n.div_ceil(self.rails.max(1)).max(1);
        let rails = if self.rails == 0 { 0 } else { n.div_ceil(distance) };
        let touches_rail = fan_out as f64 / n as f64;
        let most = checked_product("nodes x neighbours", n, 2 + self.neighbours)? + 2 * rails * fan_out;
        by_rows((n, n), most, |row, stream, out| {
            out.push(row as u32);
            let count = 1 + stream.below(self.neighbours);
            out.extend((0..count).map(|_| near(row, Self::WINDOW, n, stream)));
            if stream.chance(Self::FAR) {
                out.push(stream.below(n) as u32);
            }
            out.extend(
                (0..rails).filter(|_| stream.chance(touches_rail)).map(|rail| (rail * distance) as u32),
            );
            if rails > 0 && row % distance == 0 {
                out.extend((0..fan_out).map(|_| stream.below(n) as u32));
            }
        })
    }
}
