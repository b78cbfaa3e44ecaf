//! Orderings of the nodes.

use super::Graph;

impl Graph {
    /// The nodes by ascending degree (number of neighbours), nodes of equal degree by their number: an order in which
    /// row `k` of the permuted matrix is row `order[k]`. Edges count in both directions, and loops do not. O(nodes·log
    /// nodes + edges·log edges).
    ///
    /// ```
    /// use sparse_core::graph::Graph;
    /// let star = Graph::from_edges(4, vec![(1, 0), (1, 2), (1, 3)])?;
    /// assert_eq!(star.degree_order(), [0, 2, 3, 1]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn degree_order(&self) -> Vec<usize> {
        self.symmetrized().by_degree()
    }

    /// The reverse Cuthill–McKee order, which makes the bandwidth of symmetric matrices small: row `k` of the permuted
    /// matrix is row `order[k]`. It is that of A + Aᵀ. O(nodes·log nodes + edges·log edges), and some breadth-first
    /// searches.
    ///
    /// Each connected component starts from a pseudo-peripheral node.
    ///
    /// E. Cuthill and J. McKee, Reducing the bandwidth of sparse symmetric matrices, 1969; A. George and J. Liu, An
    /// implementation of a pseudoperipheral node finder, 1979.
    #[doc(alias("rcm", "symrcm"))]
    pub fn reverse_cuthill_mckee(&self) -> Vec<usize> {
        let graph = self.symmetrized();
        let mut order = Vec::with_capacity(graph.nodes());
        let mut placed = vec![false; graph.nodes()];
        let mut search = BreadthFirst::new(&graph);
        for start in graph.by_degree() {
            if !placed[start] {
                let root = search.pseudo_peripheral(start);
                graph.place_component(root, &mut placed, &mut order);
            }
        }
        order.reverse();
        order
    }

    fn degree(&self, node: usize) -> usize {
        self.neighbours(node).len()
    }

    fn by_degree(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes()).collect();
        order.sort_by_key(|&node| self.degree(node));
        order
    }

    /// Appends the component of `root` to `order`: breadth first, the neighbours of a node by their degrees.
    fn place_component(&self, root: usize, placed: &mut [bool], order: &mut Vec<usize>) {
        let mut next = order.len();
        placed[root] = true;
        order.push(root);
        while let Some(&node) = order.get(next) {
            next += 1;
            let first = order.len();
            let neighbours = self.neighbours(node).iter();
            order.extend(neighbours.filter(|&&node| !std::mem::replace(&mut placed[node], true)));
            order[first..].sort_by_key(|&node| self.degree(node));
        }
    }
}

/// Breadth-first searches with one workspace.
struct BreadthFirst<'a> {
    graph: &'a Graph,
    /// The number of the last search that met each node.
    met_by: Vec<usize>,
    searches: usize,
    /// The nodes of the last search, level by level.
    queue: Vec<usize>,
}

impl<'a> BreadthFirst<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self { graph, met_by: vec![0; graph.nodes()], searches: 0, queue: vec![] }
    }

    /// A node of the component of `start` that is about as far as can be from another one.
    fn pseudo_peripheral(&mut self, start: usize) -> usize {
        let (graph, mut node, mut most_levels) = (self.graph, start, 0);
        loop {
            let (levels, last) = self.levels(node);
            if levels <= most_levels {
                return node;
            }
            most_levels = levels;
            node = last.iter().copied().min_by_key(|&node| graph.degree(node)).unwrap_or(node);
        }
    }

    /// The number of levels of a search from `root`, and the nodes of the last one.
    fn levels(&mut self, root: usize) -> (usize, &[usize]) {
        self.searches += 1;
        self.met_by[root] = self.searches;
        self.queue.clear();
        self.queue.push(root);
        let (mut levels, mut first) = (0, 0);
        loop {
            levels += 1;
            let end = self.queue.len();
            for k in first..end {
                for &node in self.graph.neighbours(self.queue[k]) {
                    if std::mem::replace(&mut self.met_by[node], self.searches) != self.searches {
                        self.queue.push(node);
                    }
                }
            }
            if self.queue.len() == end {
                return (levels, &self.queue[first..]);
            }
            first = end;
        }
    }
}
