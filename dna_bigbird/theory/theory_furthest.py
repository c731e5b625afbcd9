"""`dna-bigbird theory furthest`."""

from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.limits import check_memory
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.settings import Range
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult

BYTES = 2 * 8
"""Of each coordinate and each pair: two arrays of float64 or int64 at once."""
SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


@checked()
def furthest(
    vectors: Annotated[int, Range(4)] = 256,
    dims: Annotated[int, Range(5)] | None = None,
    seed: int = 0,
    output: OutputPath | None = None,
) -> TheoryResult:
    """For each of n unit vectors, find the one that is furthest away (Appendix C, Task 1).

    One layer of full attention does it exactly, which is checked here with whole numbers. One
    layer with random edges is right about as often as it has the edge: an illustration of the
    lower bound for sparse attention, which is conditional and cannot be tested. With vectors of 0
    and 1 the same layer finds an orthogonal pair if there is one: the reduction of the proof.

    Examples:
        dna-bigbird theory furthest
        dna-bigbird theory furthest --vectors 64 --seed 1 --output furthest.png

    Args:
        vectors: Number of vectors, at least 4.
        dims: Dimensions, at least 5; the squared binary logarithm of the number of vectors, rounded
            up, if not given.
        seed: Seed of the random numbers: of vectors and edges.
        output: Result to write: share of right answers by share of edges; png, svg or pdf.
    """
    from dna_bigbird.theory import furthest as task

    check_suffix(output)
    dims = dims or max(5, task.dimensions(vectors))
    numbers = vectors * vectors + vectors * dims
    check_memory(f"--vectors {vectors} --dims {dims}", numbers * BYTES)
    whole, length = task.whole_unit_vectors(vectors, dims, seed)
    answers = task.furthest_by_attention(whole)
    least_products = (whole @ whole.T).min(axis=1)
    right = int(((whole * answers).sum(axis=1) == least_products).sum())
    rows = [
        {"edges": share, "right": task.share_right(vectors, dims, share, seed)} for share in SHARES
    ]
    drawn = task.zeros_and_ones(vectors, dims, seed)
    pair = task.orthogonal_pair(drawn)
    exists = bool((drawn @ drawn.T == 0).any())
    text = [
        f"{vectors} vectors of {dims} whole coordinates and length {length}, one layer, exact: "
        f"{right} of {vectors} right",
        "one layer with random edges (float64, an illustration):",
        Table(
            [{"edges": f"{row['edges']:.0%}", "right": f"{row['right']:.1%}"} for row in rows]
        ).to_text(),
        f"vectors of 0 and 1: orthogonal pair by one layer: {pair or 'none'}; "
        f"by all pairs: {'one exists' if exists else 'none exists'}",
    ]
    if output is not None:
        from dna_bigbird.theory.figures import furthest_figure

        write_figure(output, furthest_figure(rows, vectors, dims))
    return TheoryResult(output, rows, "\n".join(text))
