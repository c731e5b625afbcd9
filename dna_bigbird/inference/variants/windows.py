"""The windows in which the alleles of a site are compared.

Each strand's window is centred in its own direction: on both strands `window_bp // 2` bases are before
the centre of REF, as that strand reads them. So nothing shifts by a base if the window is even, and
the reverse-complemented genome gives the same windows.

The flank before the allele is the same for every allele; the flank after it is shortened or lengthened so
that every window has the same length. Bases past the end of the chromosome are N (`Genome.fetch`).
"""

from collections.abc import Sequence

from dna_bigbird.errors import InputError
from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval


def longest_allele(window_bp: int) -> int:
    """Return the most bases that an allele may have: half the window, so that flanks remain."""
    return window_bp // 2


def allele_windows(
    genome: Genome, site: Interval, alleles: Sequence[str], window_bp: int
) -> tuple[list[str], list[str]]:
    """Return one window per allele as the forward strand reads it, and as the reverse strand does.

    Args:
        site: The bases that an allele replaces, 0-based and half-open; its strand does not matter.
        alleles: Bases that replace the site, over A C G T N on the forward strand; include REF for
            its own window. The alleles and the site are no longer than `longest_allele`.

    Example:
        >>> import os, tempfile, pathlib
        >>> path = pathlib.Path(os.fsdecode(tempfile.mkdtemp())) / "toy.fa"
        >>> _ = path.write_text(">chr1\\nAACCGGTTAC\\n")
        >>> allele_windows(Genome(path), Interval("chr1", 4, 5), ["G", "T", "GA"], window_bp=4)
        (['CCGG', 'CCTG', 'CCGA'], ['ACCG', 'ACAG', 'ACTC'])
    """
    before = window_bp // 2 - site.length // 2
    flank = max(before, window_bp - before - min(len(a) for a in alleles))
    bases = genome.fetch(Interval(site.chrom, site.start - flank, site.end + flank))
    left, right = bases[:flank], bases[flank + site.length :]
    forward, reverse = [], []
    for allele in map(normalise, alleles):
        forward.append((left[flank - before :] + allele + right)[:window_bp])
        reverse.append(reverse_complement((left + allele + right[:before])[-window_bp:]))
    return forward, reverse


def choose_window(window: int | None, model_bp: int, genome: Genome) -> int:
    """Return the window in bp: the one asked for, or that of the model.

    Raises:
        InputError: If it is shorter than 2 bp, or longer than every chromosome.
    """
    if window is None:
        return model_bp
    longest = max(*genome.lengths.values(), model_bp)
    if not 2 <= window <= longest:
        raise InputError(f"--window {window}: expected from 2 to {longest} base pairs")
    return window
