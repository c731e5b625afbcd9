"""`dna-bigbird theory graph`."""

import inspect
from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult

NUM_GLOBAL = 128
NOTES = """path, diameter, disconnected: shortest paths between two vertices, edges in both directions
clustering: mean over vertices; transitivity: over all pairs of neighbours
lambda1, lambda2: largest eigenvalues of the adjacency matrix in absolute value; walk_gap: 1 - |second
eigenvalue of the random walk|; connectivity: second smallest eigenvalue of the Laplacian
layers: attention layers after which every vertex depends on every other one, along the direction of
reading; -: more than 128, never or not computed; *: paths or triangles of a sample of vertices"""


@checked()
def graph(
    tokens: int | list[int] = 4096,
    vertices: Literal["blocks", "tokens"] = "blocks",
    block_size: Positive = 64,
    num_random: int = 3,
    num_global: Count = NUM_GLOBAL,
    seed: int = 0,
    reference: bool = False,
    output: OutputPath | None = None,
) -> TheoryResult:
    """Measure attention patterns as graphs, next to random graphs and full attention (section 2).

    With vertices blocks: BigBird with every random plan, also without its global blocks, and random
    graphs with as many edges. With vertices tokens: also ETC (radius 84) and Longformer (window
    512), which are built from their definitions.

    Examples:
        dna-bigbird theory graph
        dna-bigbird theory graph --tokens 1024 4096 16384 --output graphs.png
        dna-bigbird theory graph --tokens 4096 --vertices tokens
        dna-bigbird theory graph --reference

    Args:
        tokens: Length of the sequence, special tokens included; several are measured one after the
            other.
        vertices: What a vertex is.
        block_size: Tokens in one attention block.
        num_random: Random key blocks of an ordinary query block: of the BigBird patterns.
        num_global: Global tokens of ETC and Longformer.
        seed: Seed of the random numbers: of random blocks and random graphs; with the published
            plans the layer.
        reference: Instead the graphs of 512 vertices that docs/explanation/theory.md compares with others.
        output: Result to write: clustering by path length, a point per graph; png, svg or pdf.
    """
    from dna_bigbird.theory import theory_graph_run

    check_suffix(output)
    lengths = tokens if isinstance(tokens, list) else [tokens]
    if not lengths:
        raise InputError("--tokens []: expected at least one length")
    if reference:
        options = {"tokens": tokens, "vertices": vertices, "block_size": block_size}
        options |= {"num_random": num_random, "num_global": num_global}
        for name, value in options.items():
            if value != inspect.signature(graph).parameters[name].default:
                raise InputError(
                    f"--{name} {value}: --reference measures 512 vertices with settings of their own; "
                    "leave one of the two out"
                )
    if vertices == "blocks" and num_global != NUM_GLOBAL:
        raise InputError(
            f"--num_global {num_global}: ETC and Longformer are measured with --vertices tokens; add that"
        )
    for length in lengths:
        if length % block_size or length // block_size < 4:
            raise InputError(
                f"--tokens {length}: expected a multiple of --block_size {block_size}, at least 4 blocks"
            )
        if vertices == "tokens" and num_global > length:
            raise InputError(f"--num_global {num_global}: expected at most {length}, the tokens")
    if reference:
        measured = {512: theory_graph_run.reference(seed)}
    else:
        at_tokens = vertices == "tokens"
        measured = {
            length: theory_graph_run.measure(
                length, block_size, num_random, num_global, seed, at_tokens
            )
            for length in lengths
        }
    rows = [
        {"tokens": length, **each.row()} for length, group in measured.items() for each in group
    ]
    parts = [
        f"{length:,} {'vertices' if reference else 'tokens'}\n{Table([x.row() for x in group]).to_text()}"
        for length, group in measured.items()
    ]
    if not reference and vertices == "blocks":
        parts.append(theory_graph_run.narrow_text(lengths, block_size, num_random, seed))
    if output is not None:
        from dna_bigbird.theory.figures import graph_figure

        points = [
            (each.name, length, each.paths.mean, each.clustering.local)
            for length, group in measured.items()
            for each in group
        ]
        write_figure(output, graph_figure(points, "vertices" if reference else vertices))
    return TheoryResult(output, rows, "\n\n".join([*parts, NOTES]))
