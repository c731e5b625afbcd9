"""All statistics of a graph in one row."""

from dataclasses import dataclass

from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.clustering import Clustering, clustering
from dna_bigbird.attention.graphs.paths import Paths, layers_to_reach_all, paths
from dna_bigbird.attention.graphs.spectra import Spectrum, spectrum


@dataclass(frozen=True)
class Statistics:
    """One graph."""

    name: str
    vertices: int
    edges: int
    paths: Paths
    clustering: Clustering
    spectrum: Spectrum
    layers: int | None
    """Layers after which every vertex depends on every other one; None if never, or not counted."""
    is_sampled: bool
    """True if paths or triangles were counted from a sample of vertices."""

    def row(self) -> dict[str, str]:
        """Return the numbers as text, by column."""
        connectivity = self.spectrum.connectivity
        return {
            "graph": self.name + ("*" if self.is_sampled else ""),
            "vertices": f"{self.vertices}",
            "edges": f"{self.edges}",
            "path": f"{self.paths.mean:.2f}",
            "diameter": f"{self.paths.diameter}",
            "disconnected": f"{self.paths.disconnected:.3f}",
            "clustering": f"{self.clustering.local:.3f}",
            "transitivity": f"{self.clustering.transitivity:.3f}",
            "lambda1": f"{self.spectrum.first:.1f}",
            "lambda2": f"{self.spectrum.second:.1f}",
            "walk_gap": f"{self.spectrum.walk_gap:.4f}",
            "connectivity": "-" if connectivity is None else f"{connectivity:.3g}",
            "layers": "-" if self.layers is None else f"{self.layers}",
        }


def statistics(graph: BlockGraph, seed: int = 0) -> Statistics:
    """Measure a graph; large ones from a sample of vertices, drawn with the seed."""
    distances, triangles = paths(graph, seed=seed), clustering(graph, seed=seed)
    return Statistics(
        graph.name,
        graph.num_vertices,
        graph.num_edges,
        distances,
        triangles,
        spectrum(graph),
        layers_to_reach_all(graph),
        min(distances.sources, triangles.vertices) < graph.num_blocks,
    )
