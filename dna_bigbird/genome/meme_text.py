"""Writing matrices in the minimal format of MEME (meme-suite.org, doc/meme-format.html)."""

from collections.abc import Iterable, Mapping

from dna_bigbird.genome.motif_files import MotifMatrix


def meme_text(matrices: Iterable[MotifMatrix], sites: Mapping[str, int]) -> str:
    """Return the text of a file that `read_motifs` and the MEME suite read; blanks in identifiers become '_'.

    Args:
        sites: Number of sequences of each matrix, by its identifier.
    """
    lines = [
        "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\n",
        "Background letter frequencies\nA 0.25 C 0.25 G 0.25 T 0.25\n\n",
    ]
    for matrix in matrices:
        name = "_".join(matrix.identifier.split())
        lines.append(f"MOTIF {name} {matrix.name}".rstrip() + "\n")
        lines.append(
            f"letter-probability matrix: alength= 4 w= {matrix.width} nsites= {sites[matrix.identifier]} E= 0\n"
        )
        lines += ["".join(f" {share:.6f}" for share in column) + "\n" for column in matrix.shares.T]
        lines.append("\n")
    return "".join(lines)
