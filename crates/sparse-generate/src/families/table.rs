//! The matrices of each family.

use super::Half::{Fit, Judge};
use super::Structure::{
    Band, Bipartite as Sides, Blocks, Circuit as Wired, Clauses as Formula, Diagonals, Mesh as Grid,
    PowerLaw, Program as Linear, Rmat, Scattered, Uniform,
};
use super::{Bipartite, Circuit, Clauses, Half, Mesh, Program, Structure};
use crate::GRAPH500;

/// Matrices of one origin.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) half: Half,
    /// True if the transposes are members too.
    pub(super) transposes: bool,
    pub(super) members: &'static [(&'static str, Structure)],
}

/// A grid whose nodes are connected along the axes, and with themselves.
const fn axes(grid: [usize; 3], unknowns: usize) -> Mesh {
    Mesh { grid, corners: false, unknowns, present: 1.0, diagonal: true, shuffled: false }
}

/// The same with neighbours across corners.
const fn corners(grid: [usize; 3], unknowns: usize) -> Mesh {
    Mesh { corners: true, ..axes(grid, unknowns) }
}

const fn shuffled(mesh: Mesh) -> Structure {
    Grid(Mesh { shuffled: true, ..mesh })
}

/// A grid without a diagonal, whose nodes are connected along the axes with probability `present`.
const fn road(grid: [usize; 3], present: f64) -> Mesh {
    Mesh { present, diagonal: false, ..axes(grid, 1) }
}

const fn circuit(nodes: usize, neighbours: usize, rails: usize, fan_out: usize) -> Structure {
    Wired(Circuit { nodes, neighbours, rails, fan_out })
}

const fn program(rows: usize, cols: usize, length: (usize, usize), links: (usize, usize)) -> Structure {
    Linear(Program { rows, cols, length, links: links.0, link_length: links.1 })
}

const fn clauses(clauses: usize, variables: usize, longest: usize) -> Structure {
    Formula(Clauses { clauses, variables, longest })
}

const fn sides(
    (rows, cols): (usize, usize),
    length: (usize, usize),
    exponent: f64,
    popularity: f64,
) -> Structure {
    Sides(Bipartite { rows, cols, length, exponent, popularity, window: 0 })
}

const fn nets((rows, cols): (usize, usize), longest: usize, exponent: f64) -> Structure {
    Sides(Bipartite { rows, cols, length: (2, longest), exponent, popularity: 1.0, window: 16 })
}

const fn graph(scale: u32, edges: usize, quadrants: [f64; 4]) -> Structure {
    Rmat { scale, edges, quadrants }
}

const fn power_law(n: usize, average: usize, exponent: f64, longest: usize) -> Structure {
    PowerLaw { n, average, exponent, longest }
}

const fn square(n: usize, per_row: usize) -> Structure {
    Uniform { rows: n, cols: n, per_row }
}

const fn scattered((rows, cols): (usize, usize), filled: f64, per_row: usize) -> Structure {
    Scattered { rows, cols, filled, per_row }
}

const EVEN: [f64; 4] = [0.25; 4];
const MILD: [f64; 4] = [0.45, 0.22, 0.22, 0.11];
const STRONG: [f64; 4] = [0.65, 0.15, 0.15, 0.05];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "mesh_2d",
        half: Fit,
        transposes: false,
        members: &[
            ("axes", Grid(axes([1000, 1000, 1], 1))),
            ("axes_small", Grid(axes([100, 100, 1], 1))),
            ("axes_shuffled", shuffled(axes([1000, 1000, 1], 1))),
            ("axes_holes", Grid(Mesh { present: 0.6, ..axes([1500, 1500, 1], 1) })),
            ("corners", Grid(corners([700, 700, 1], 1))),
            ("corners_of_2", Grid(corners([400, 400, 1], 2))),
            ("corners_of_2_shuffled", shuffled(corners([400, 400, 1], 2))),
            ("corners_of_3", Grid(corners([300, 300, 1], 3))),
            ("corners_of_4", Grid(corners([250, 250, 1], 4))),
            ("axes_of_5_shuffled", shuffled(axes([250, 250, 1], 5))),
            ("axes_of_6", Grid(axes([200, 200, 1], 6))),
        ],
    },
    Family {
        name: "circuit",
        half: Fit,
        transposes: false,
        members: &[
            ("no_rails", circuit(1_000_000, 3, 0, 0)),
            ("four_rails", circuit(200_000, 3, 4, 20_000)),
            ("two_long_rails", circuit(1_000_000, 2, 2, 100_000)),
            ("twenty_rails", circuit(500_000, 4, 20, 5_000)),
            ("fifty_rails", circuit(300_000, 8, 50, 3_000)),
            ("one_full_rail", circuit(200_000, 2, 1, 200_000)),
            ("small", circuit(20_000, 3, 1, 10_000)),
            ("small_dense", circuit(50_000, 5, 8, 2_000)),
        ],
    },
    Family {
        name: "program",
        half: Fit,
        transposes: true,
        members: &[
            ("staircase", program(100_000, 400_000, (2, 16), (0, 0))),
            ("linked", program(300_000, 500_000, (2, 6), (50, 20_000))),
            ("many_links", program(500_000, 500_000, (1, 4), (500, 2_000))),
            ("long_rows", program(20_000, 1_000_000, (20, 100), (0, 0))),
            ("cover", program(1_000, 500_000, (1_000, 5_000), (0, 0))),
            ("mixed", program(50_000, 100_000, (5, 50), (10, 10_000))),
        ],
    },
    Family {
        name: "ratings",
        half: Fit,
        transposes: true,
        members: &[
            ("films", sides((200_000, 20_000), (10, 5_000), 2.0, 2.0)),
            ("goods", sides((1_000_000, 100_000), (2, 1_000), 2.5, 2.5)),
            ("songs", sides((50_000, 500_000), (20, 20_000), 2.0, 1.5)),
            ("views", sides((500_000, 500_000), (1, 10_000), 2.1, 2.0)),
        ],
    },
    Family {
        name: "rmat",
        half: Fit,
        transposes: false,
        members: &[
            ("even_16", graph(18, 16, EVEN)),
            ("mild_4", graph(20, 4, MILD)),
            ("mild_8", graph(19, 8, MILD)),
            ("mild_100", graph(14, 100, MILD)),
            ("graph500_8", graph(20, 8, GRAPH500)),
            ("graph500_16", graph(18, 16, GRAPH500)),
            ("graph500_64", graph(16, 64, GRAPH500)),
            ("strong_4", graph(20, 4, STRONG)),
            ("strong_32", graph(17, 32, STRONG)),
        ],
    },
    Family {
        name: "uniform",
        half: Fit,
        transposes: false,
        members: &[
            ("1", square(2_000_000, 1)),
            ("2", square(2_000_000, 2)),
            ("3", square(1_000_000, 3)),
            ("4", square(1_000_000, 4)),
            ("6", square(1_000_000, 6)),
            ("8", square(500_000, 8)),
            ("12", square(400_000, 12)),
            ("16", square(300_000, 16)),
            ("24", square(200_000, 24)),
            ("32", square(200_000, 32)),
            ("48", square(100_000, 48)),
            ("64", square(100_000, 64)),
            ("128", square(50_000, 128)),
            ("256", square(20_000, 256)),
            ("1000", square(5_000, 1000)),
            ("5_small", square(20_000, 5)),
            ("1000_of_12000", Uniform { rows: 8_000, cols: 12_000, per_row: 1000 }),
            ("2000_of_16000", Uniform { rows: 4_000, cols: 16_000, per_row: 2000 }),
            ("16_wide", Uniform { rows: 100_000, cols: 1_000_000, per_row: 16 }),
            ("8_tall", Uniform { rows: 1_000_000, cols: 10_000, per_row: 8 }),
        ],
    },
    Family {
        name: "sparse_rows",
        half: Fit,
        transposes: true,
        members: &[
            ("one_in_eight", scattered((4_000_000, 4_000_000), 0.125, 1)),
            ("one_in_twenty", scattered((2_000_000, 2_000_000), 0.05, 10)),
            ("one_in_hundred", scattered((1_000_000, 1_000_000), 0.01, 100)),
            ("one_in_three", scattered((3_000_000, 100_000), 0.3, 2)),
            ("one_in_thousand", scattered((4_000_000, 4_000_000), 0.001, 10)),
        ],
    },
    Family {
        name: "mesh_3d",
        half: Judge,
        transposes: false,
        members: &[
            ("axes", Grid(axes([110, 110, 110], 1))),
            ("axes_shuffled", shuffled(axes([100, 100, 100], 1))),
            ("axes_of_2_holes", shuffled(Mesh { present: 0.7, ..axes([60, 60, 60], 2) })),
            ("axes_of_3", Grid(axes([50, 50, 50], 3))),
            ("axes_of_4", Grid(axes([30, 30, 30], 4))),
            ("axes_of_5", Grid(axes([30, 30, 30], 5))),
            ("corners", Grid(corners([64, 64, 64], 1))),
            ("corners_small", Grid(corners([16, 16, 16], 1))),
            ("corners_shuffled", shuffled(corners([64, 64, 64], 1))),
            ("corners_of_2_shuffled", shuffled(corners([40, 40, 40], 2))),
            ("corners_of_3", Grid(corners([24, 24, 24], 3))),
            ("corners_of_6", Grid(corners([20, 20, 20], 6))),
            ("corners_holes", Grid(Mesh { present: 0.5, ..corners([80, 80, 80], 1) })),
        ],
    },
    Family {
        name: "clauses",
        half: Judge,
        transposes: true,
        members: &[
            ("short", clauses(1_000_000, 250_000, 6)),
            ("many", clauses(3_000_000, 1_000_000, 5)),
            ("wide", clauses(2_000_000, 500_000, 10)),
            ("long", clauses(300_000, 50_000, 60)),
            ("small", clauses(100_000, 20_000, 10)),
        ],
    },
    Family {
        name: "netlist",
        half: Judge,
        transposes: true,
        members: &[
            ("cells", nets((500_000, 500_000), 2_000, 2.5)),
            ("pins", nets((1_500_000, 1_000_000), 500, 3.0)),
            ("buses", nets((100_000, 120_000), 20_000, 2.1)),
        ],
    },
    Family {
        name: "text",
        half: Judge,
        transposes: true,
        members: &[
            ("articles", sides((30_000, 60_000), (60, 3_000), 3.0, 3.0)),
            ("abstracts", sides((100_000, 30_000), (20, 500), 4.0, 3.0)),
            ("books", sides((10_000, 200_000), (200, 10_000), 3.5, 2.5)),
            ("messages", sides((400_000, 50_000), (5, 200), 3.0, 3.0)),
        ],
    },
    Family {
        name: "road",
        half: Judge,
        transposes: false,
        members: &[
            ("country", Grid(road([1000, 2000, 1], 0.6))),
            ("country_shuffled", shuffled(road([1000, 1000, 1], 0.6))),
            ("tracks", Grid(road([1000, 3000, 1], 0.45))),
            ("streets", Grid(road([1200, 1200, 1], 0.8))),
            ("town", Grid(road([300, 300, 1], 0.65))),
        ],
    },
    Family {
        name: "social",
        half: Judge,
        transposes: false,
        members: &[
            ("average_3", power_law(2_000_000, 3, 2.1, 50_000)),
            ("average_4", power_law(1_000_000, 4, 2.5, 5_000)),
            ("average_8", power_law(1_000_000, 8, 1.9, 100_000)),
            ("average_10", power_law(500_000, 10, 2.2, 20_000)),
            ("average_20", power_law(300_000, 20, 3.0, 2_000)),
            ("average_50", power_law(100_000, 50, 2.1, 10_000)),
            ("average_100", power_law(50_000, 100, 2.4, 5_000)),
        ],
    },
    Family {
        name: "band",
        half: Judge,
        transposes: false,
        members: &[
            ("three", Band { n: 2_000_000, width: 1 }),
            ("five", Band { n: 1_000_000, width: 2 }),
            ("eleven", Band { n: 500_000, width: 5 }),
            ("twenty_one", Band { n: 300_000, width: 10 }),
            ("forty_one", Band { n: 150_000, width: 20 }),
            ("hundred_and_one", Band { n: 50_000, width: 50 }),
            ("eleven_small", Band { n: 10_000, width: 5 }),
            (
                "far_diagonals",
                Diagonals { n: 800_000, offsets: &[-200_000, -10_000, -500, -1, 0, 1, 500, 10_000, 200_000] },
            ),
        ],
    },
    Family {
        name: "blocks",
        half: Judge,
        transposes: false,
        members: &[
            ("of_4_to_8", Blocks { n: 600_000, size: (4, 8), coupling: 0 }),
            ("of_16", Blocks { n: 200_000, size: (16, 16), coupling: 2 }),
            ("of_1_to_64", Blocks { n: 150_000, size: (1, 64), coupling: 0 }),
            ("of_32_to_64", Blocks { n: 100_000, size: (32, 64), coupling: 1 }),
            ("of_100_to_300", Blocks { n: 30_000, size: (100, 300), coupling: 0 }),
            ("of_1000", Blocks { n: 8_000, size: (1_000, 1_000), coupling: 0 }),
        ],
    },
    Family {
        name: "sampled",
        half: Judge,
        transposes: true,
        members: &[
            ("two_hops", scattered((1_000_000, 1_000_000), 0.2, 8)),
            ("one_hop", scattered((100_000, 2_000_000), 1.0, 15)),
            ("seeds", scattered((2_000_000, 2_000_000), 0.02, 25)),
            ("few", scattered((500_000, 500_000), 0.5, 2)),
            ("strangers", scattered((3_000_000, 3_000_000), 0.005, 3)),
        ],
    },
];
