"""The graphs of specification §9.4: 512 vertices, next to random graphs with equally many edges."""

import numpy as np

from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.makers import (
    complete_graph,
    erdos_renyi_graph,
    random_reads_graph,
    ring_graph,
    star_graph,
    union,
    watts_strogatz_graph,
)


def reference_graphs(num: int = 512, seed: int = 0) -> list[BlockGraph]:
    """Return random, window, global, their unions, Erdős–Rényi, Watts–Strogatz and complete graphs."""
    rng = np.random.default_rng(seed)
    drawn, window, hubs = random_reads_graph(num, 3, rng), ring_graph(num, 6), star_graph(num, 2)
    joined = union("R + W", drawn, window)
    return [
        drawn,
        window,
        hubs,
        joined,
        union("R + W + G (BigBird)", joined, hubs),
        *(
            erdos_renyi_graph(num, x.num_edges, rng, f"Erdos-Renyi, edges of {x.name}")
            for x in (joined, window)
        ),
        watts_strogatz_graph(num, 6, 0.1, rng),
        watts_strogatz_graph(num, 12, 0.1, rng),
        complete_graph(num),
    ]
