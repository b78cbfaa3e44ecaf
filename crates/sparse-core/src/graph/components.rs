//! Connected components.

use super::Graph;

/// The connection that makes two nodes one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Connection {
    /// A path along edges in any direction.
    #[default]
    Weak,
    /// A path along edges in their direction, and one back.
    Strong,
}

/// The components of a graph, numbered from 0 in the order of their first nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// The number of components.
    pub count: usize,
    /// The component of each node.
    pub labels: Vec<usize>,
}

impl Components {
    /// The number of nodes in each component.
    ///
    /// ```
    /// use sparse_core::graph::{Connection, Graph};
    /// let graph = Graph::from_edges(3, vec![(0, 2)])?;
    /// assert_eq!(graph.connected_components(Connection::Weak).sizes(), [2, 1]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.count];
        self.labels.iter().for_each(|&label| sizes[label] += 1);
        sizes
    }
}

const NONE: usize = usize::MAX;

impl Graph {
    /// The connected components. O(nodes + edges), for weak ones O(nodes + edges·log edges).
    ///
    /// R. Tarjan, Depth-first search and linear graph algorithms, 1972, for strong ones.
    ///
    /// ```
    /// use sparse_core::graph::{Connection, Graph};
    /// let graph = Graph::from_edges(4, vec![(0, 1), (1, 0), (1, 3)])?;
    /// assert_eq!(graph.connected_components(Connection::Weak).labels, [0, 0, 1, 0]);
    /// assert_eq!(graph.connected_components(Connection::Strong).labels, [0, 0, 1, 2]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn connected_components(&self, connection: Connection) -> Components {
        match connection {
            Connection::Weak => self.symmetrized().reachable_components(),
            Connection::Strong => self.strong_components(),
        }
    }

    /// Numbers nodes by the first one that they are reached from.
    fn reachable_components(&self) -> Components {
        let (mut labels, mut count) = (vec![NONE; self.nodes()], 0);
        let mut queue = vec![];
        for root in 0..self.nodes() {
            if labels[root] != NONE {
                continue;
            }
            labels[root] = count;
            queue.push(root);
            while let Some(node) = queue.pop() {
                for &neighbour in self.neighbours(node) {
                    if labels[neighbour] == NONE {
                        labels[neighbour] = count;
                        queue.push(neighbour);
                    }
                }
            }
            count += 1;
        }
        Components { count, labels }
    }

    fn strong_components(&self) -> Components {
        let mut search = DepthFirst::new(self);
        for root in 0..self.nodes() {
            if search.number[root] == NONE {
                search.run(root);
            }
        }
        renumbered(search.labels)
    }
}

/// Tarjan's search, with a stack of its own in place of recursion.
struct DepthFirst<'a> {
    graph: &'a Graph,
    /// The nodes' numbers in the order in which they are met.
    number: Vec<usize>,
    met: usize,
    /// The smallest number of a node that is open and reached from each.
    lowest: Vec<usize>,
    /// Nodes that have no component yet.
    open: Vec<usize>,
    labels: Vec<usize>,
    count: usize,
}

impl<'a> DepthFirst<'a> {
    fn new(graph: &'a Graph) -> Self {
        let none = vec![NONE; graph.nodes()];
        Self {
            graph,
            number: none.clone(),
            met: 0,
            lowest: none.clone(),
            open: vec![],
            labels: none,
            count: 0,
        }
    }

    fn run(&mut self, root: usize) {
        self.meet(root);
        // The nodes of the path, with the next of their neighbours to visit.
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if let Some(&neighbour) = self.graph.neighbours(node).get(*next) {
                *next += 1;
                if self.number[neighbour] == NONE {
                    self.meet(neighbour);
                    path.push((neighbour, 0));
                } else if self.labels[neighbour] == NONE {
                    self.lowest[node] = self.lowest[node].min(self.number[neighbour]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.lowest[parent] = self.lowest[parent].min(self.lowest[node]);
            }
            if self.lowest[node] == self.number[node] {
                self.close(node);
            }
        }
    }

    fn meet(&mut self, node: usize) {
        self.number[node] = self.met;
        self.lowest[node] = self.met;
        self.met += 1;
        self.open.push(node);
    }

    /// Makes a component of the open nodes from `first` on.
    fn close(&mut self, first: usize) {
        while let Some(node) = self.open.pop() {
            self.labels[node] = self.count;
            if node == first {
                break;
            }
        }
        self.count += 1;
    }
}

/// Components in the order of their first nodes.
fn renumbered(mut labels: Vec<usize>) -> Components {
    let (mut renamed, mut count) = (vec![NONE; labels.len()], 0);
    for label in &mut labels {
        let new = &mut renamed[*label];
        if *new == NONE {
            *new = count;
            count += 1;
        }
        *label = *new;
    }
    Components { count, labels }
}
