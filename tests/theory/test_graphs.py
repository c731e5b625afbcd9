"""Graph statistics: networkx on small graphs, at both levels; the reference table; large graphs."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dna_bigbird.attention.graphs import block_graph, makers
from dna_bigbird.attention.graphs import statistics as graph_statistics
from dna_bigbird.attention.graphs.block_graph import BlockGraph
from dna_bigbird.attention.graphs.makers import (
    itc_graphs,
    most_read,
    random_part,
    reference_graphs,
    token_graphs,
)
from dna_bigbird.attention.graphs.statistics import statistics
from dna_bigbird.attention.patterns import bigbird_itc, full
from dna_bigbird.attention.patterns.etc import EtcPattern

networkx = pytest.importorskip("networkx")


def tokens_of(graph):
    """The same graph with every token as a vertex of its own."""
    b = graph.tokens_per_block
    return np.kron(graph.reads.toarray(), np.ones((b, b), dtype=bool))


def disconnected():
    reads = sparse.csr_array(np.kron(np.eye(3), np.ones((2, 2))).astype(bool))
    return BlockGraph("three pairs", reads)


def small_graphs():
    rng = np.random.default_rng(1)
    for tokens in (False, True):
        for pattern in (
            bigbird_itc(9, 3, 1, 1, seed=2),
            bigbird_itc(10, 2, 2, 1, global_blocks="none"),
            bigbird_itc(8, 4, 1, 1, window_blocks=0, global_blocks="none"),
            bigbird_itc(12, 3, 1, 1, global_blocks="first_two"),
            full(4, 3, 1),
        ):
            yield makers.pattern_graph("pattern", pattern, at_tokens=tokens)
    yield makers.ring_graph(20, 4)
    yield makers.star_graph(15, 2)
    yield makers.erdos_renyi_graph(25, 60, rng, "random")
    yield makers.erdos_renyi_graph(25, 12, rng, "random, thin")
    yield makers.watts_strogatz_graph(20, 4, 0.3, rng)
    yield makers.longformer_graph(24, 3, 2)
    yield makers.etc_graph(20, 2, 3)
    yield makers.complete_graph(7)
    yield disconnected()
    crossed = sparse.csr_array(np.array([[0, 1], [1, 0]], dtype=bool))
    yield BlockGraph("two blocks that read each other only", crossed, 2)


@pytest.mark.parametrize("graph", list(small_graphs()), ids=lambda graph: graph.name)
def test_statistics_are_those_of_networkx(graph):
    reads = tokens_of(graph)
    both = reads | reads.T
    np.fill_diagonal(both, False)
    peer = networkx.from_numpy_array(both.astype(float))
    measured = statistics(graph)
    assert measured.vertices == peer.number_of_nodes()
    assert measured.edges == peer.number_of_edges()
    lengths = [
        d
        for i, row in networkx.all_pairs_shortest_path_length(peer)
        for j, d in row.items()
        if i != j
    ]
    n = len(peer)
    assert measured.paths.mean == pytest.approx(np.mean(lengths))
    assert measured.paths.diameter == max(lengths)
    assert measured.paths.disconnected == pytest.approx(1 - len(lengths) / (n * (n - 1)))
    assert measured.clustering.local == pytest.approx(networkx.average_clustering(peer))
    assert measured.clustering.transitivity == pytest.approx(networkx.transitivity(peer))
    values = np.sort(np.abs(networkx.adjacency_spectrum(peer).real))
    assert [measured.spectrum.second, measured.spectrum.first] == pytest.approx(values[-2:])
    laplacian = np.sort(np.linalg.eigvalsh(networkx.laplacian_matrix(peer).toarray().astype(float)))
    assert measured.spectrum.connectivity == pytest.approx(laplacian[1], abs=1e-9)
    walk = 1 - np.linalg.eigvalsh(networkx.normalized_laplacian_matrix(peer).toarray())
    assert measured.spectrum.walk_gap == pytest.approx(1 - np.sort(np.abs(walk))[-2], abs=1e-9)
    directed = networkx.from_numpy_array(reads, create_using=networkx.DiGraph)
    reach = dict(networkx.all_pairs_shortest_path_length(directed))
    hops = [reach[i].get(j) for i in range(n) for j in range(n)]
    assert measured.layers == (None if None in hops else max(hops))


# Specification §9.4: edges, path, diameter, local clustering, λ₁, |λ₂|, walk gap. The clustering of
# an Erdős–Rényi graph is that of the draw: the test after this one has many.
REFERENCE = {
    "random r=3": (1533, 3.71, 6, 0.009, 6.5, 4.9, 0.26),
    "window 6 on a ring": (1536, 43.1, 86, 0.600, 6.0, 6.0, 0.000),
    "global g=2": (1021, 1.99, 2, 0.996, 32.4, 31.4, 0.002),
    "R + W": (3050, 2.87, 4, 0.160, 12.2, 7.9, 0.34),
    "R + W + G (BigBird)": (4050, 1.97, 2, 0.394, 38.9, 26.0, 0.44),
    "Erdos-Renyi, edges of R + W": (3050, 2.77, 5, None, 13.0, 7.1, 0.45),
    "Erdos-Renyi, edges of window 6 on a ring": (1536, 3.67, 7, None, 7.2, 5.3, 0.26),
    "Watts-Strogatz k=6 p=0.1": (1536, 5.45, 10, 0.444, 6.1, 5.9, 0.04),
    "Watts-Strogatz k=12 p=0.1": (3071, 3.57, 6, 0.499, 12.1, 11.2, 0.07),
    "complete": (130816, 1.00, 1, 1.000, 511, 1, 1.00),
}


@pytest.fixture(scope="module")
def reference():
    return {each.name: each for each in map(statistics, reference_graphs())}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_table(name, reference):
    edges, path, diameter, local, first, second, gap = REFERENCE[name]
    measured = reference[name]
    assert measured.edges == pytest.approx(edges, rel=0.01)
    assert measured.paths.mean == pytest.approx(path, rel=0.03)
    assert abs(measured.paths.diameter - diameter) <= 1
    if local is not None:
        assert measured.clustering.local == pytest.approx(local, rel=0.03, abs=0.0005)  # rounded
    assert measured.spectrum.first == pytest.approx(first, rel=0.03)
    assert measured.spectrum.second == pytest.approx(second, rel=0.04)
    assert measured.spectrum.walk_gap == pytest.approx(gap, abs=0.03)


@pytest.mark.parametrize("edges", [1536, 3050])
def test_the_clustering_of_erdos_renyi_graphs_is_their_density(edges):
    """The mean of 100 seeds, within 5 standard errors; a vertex with less than 2 neighbours has 0."""
    graphs = [
        makers.erdos_renyi_graph(512, edges, np.random.default_rng(seed), "random")
        for seed in range(100)
    ]
    local = np.array([graph_statistics.clustering(graph).local for graph in graphs])
    has_pairs = np.mean([(graph.reads.sum(axis=1) > 1).mean() for graph in graphs])
    expected = has_pairs * edges / (512 * 511 / 2)
    assert abs(local.mean() - expected) < 5 * local.std(ddof=1) / 100**0.5


def test_what_the_paper_says_about_graphs(reference):
    assert reference["R + W + G (BigBird)"].paths.diameter <= 2
    assert reference["R + W"].paths.mean < reference["window 6 on a ring"].paths.mean / 10
    small_world = reference["Watts-Strogatz k=6 p=0.1"].clustering.local
    assert small_world > 10 * reference["Erdos-Renyi, edges of window 6 on a ring"].clustering.local


def test_the_gap_of_a_window_falls_with_its_length():
    gaps = [graph_statistics.spectrum(makers.ring_graph(n, 6)).walk_gap for n in (64, 128, 256)]
    assert gaps[0] > 3.5 * gaps[1] > 3.5**2 * gaps[2] > 0


@pytest.mark.parametrize("num_tokens", [4096, 16384])
def test_narrow_random_columns_of_the_published_plan(num_tokens):
    """Random blocks only read the beginning: it is read often, and hardly hears of the end."""
    uniform, original, *_ = itc_graphs(num_tokens, 64, 3)
    assert most_read(original)[0] > 1.5 * most_read(uniform)[0]
    assert most_read(original)[1] == pytest.approx(most_read(uniform)[1])
    layers = [block_graph.layers_to_reach_all(random_part(graph)) for graph in (uniform, original)]
    assert layers[0] <= 6
    assert layers[1] is None or layers[1] > 40


def test_sparse_solvers_and_samples_agree_with_exact_counts(monkeypatch):
    graphs = [makers.longformer_graph(600, 20, 2), makers.ring_graph(500, 8)]
    exact = [statistics(graph) for graph in graphs]
    monkeypatch.setattr(graph_statistics, "DENSE_UP_TO", 100)
    monkeypatch.setattr(block_graph, "EXACT_UP_TO", 100)
    monkeypatch.setattr(graph_statistics, "EXACT_UP_TO", 100)
    for graph, expected in zip(graphs, exact, strict=True):
        sampled = statistics(graph)
        assert sampled.spectrum.first == pytest.approx(expected.spectrum.first)
        assert sampled.spectrum.second == pytest.approx(expected.spectrum.second, rel=1e-3)
        assert sampled.spectrum.walk_gap == pytest.approx(expected.spectrum.walk_gap, abs=1e-3)
        assert sampled.spectrum.connectivity == pytest.approx(
            expected.spectrum.connectivity, abs=1e-6
        )
        assert sampled.paths.mean == pytest.approx(expected.paths.mean, rel=0.03)
        assert sampled.clustering.local == pytest.approx(expected.clustering.local, rel=0.02)


def test_twins_of_1024_tokens_are_those_of_16_blocks():
    """Tokens of the published pattern: counted from blocks and one by one."""
    blocks = itc_graphs(1024, 64, 3, at_tokens=True)[1]
    tokens = BlockGraph("tokens", sparse.csr_array(tokens_of(blocks)))
    assert blocks.num_edges == tokens.num_edges == 351_744
    assert block_graph.paths(blocks)[:3] == pytest.approx(block_graph.paths(tokens)[:3])
    assert graph_statistics.spectrum(blocks) == pytest.approx(
        graph_statistics.spectrum(tokens), abs=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("num_tokens", [1024, 4096, 16384, 65536])
def test_every_pattern_at_every_length(num_tokens):
    graphs = itc_graphs(num_tokens, 64, 3) + itc_graphs(num_tokens, 64, 3, at_tokens=True)
    for graph in graphs + token_graphs(num_tokens, 128):
        measured = statistics(graph)
        assert measured.paths.diameter == 2
        assert measured.layers == 2
        assert 0 < measured.spectrum.walk_gap < 1


def test_the_graph_of_etc_is_that_of_its_attention_pattern():
    """Without padding, cuts and hard attention: the band of `in_band`, and global tokens read all."""
    pattern, num_global, num_long = EtcPattern(radius=3, max_distance=2), 2, 17
    joined = makers.etc_graph(num_long, pattern.radius, num_global).reads.toarray()
    for query, key in itertools.permutations(range(num_global + num_long), 2):
        is_global = min(query, key) < num_global
        in_band = pattern.in_band(query - num_global, key - num_global)
        assert joined[query, key] == (is_global or in_band), (query, key)
