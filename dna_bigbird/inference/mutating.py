"""`mutagenesis`: the effect of each of the three other bases at every base of a region.

`substitutions.py` scores every base in a window of its own, centred on it, as `score_variants`
does. One window for the whole region would be cheaper, but then the effect of a base would depend
on the length of the region. `writers/matrix.py` writes the result.
"""

from dataclasses import replace
from pathlib import Path

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute, ComputeOptions, exact
from dna_bigbird.inference.results import Effect, Mutagenesis
from dna_bigbird.paths import STANDARD_STREAM, InputFile, InputPath, OutputFile, StreamFile
from dna_bigbird.shared_options import BothStrands, Labels, Progress


@checked(rest=Compute)
def mutagenesis(
    fasta: InputFile,
    region: str | None = None,
    model: list[InputPath] | InputPath | None = None,
    output: StreamFile | None = None,
    labels: Labels = None,
    effect: Effect = "log_odds",
    window: int | None = None,
    strand: BothStrands = "both",
    progress: Progress = False,
    picture: OutputFile | None = None,
    **compute: ComputeOptions,
) -> Mutagenesis:
    """Replace every base of a region by each of the three others and score each substitution.

    The table has one row per base: chrom, pos (from 1), ref, then for every label four columns, one
    for each of A, C, G, T: 0 at the reference base, nan where the genome has N. Every base has a
    window of its own, centred on it, so a substitution has the effect that score-variants gives it.
    In the picture a letter points up where changing it lowers the score of the label; the colours below
    are the effects of the single substitutions. Computed in float32 unless --precision is given.

    Args:
        fasta: Plain FASTA file: a genome with a region, or one short record.
        region: Bases to change, from 1 and both ends included, as chr22:20,000,001-20,000,200.
            Default: the whole record.
        model: Model bundle; several, [A,B], are averaged. Default: the bundled model.
        output: Matrix to write, .tsv or .npz. '-' writes the table to standard output if there is no
            picture.
        effect: log_odds, the change of the log odds, or diff, the change of the probability. An
            .npz file has both.
        window: Bases around each changed base that the model reads. Default: the window of the model.
        picture: Heat map to write, .png, .svg or .pdf, of regions of up to 1,000 bases. If there are
            many labels, those with the largest effects are drawn.
        compute: Fields of `Compute`: speed and memory.

    Examples:
        dna-bigbird mutagenesis --fasta genome.fa --region demo22:880,001-880,100 \\
            --model results/models/chromatin --labels 'CTCF,JUN' --picture effects.png

    Returns:
        The matrix, also if it is written. A model may also be a loaded bundle.

    Raises:
        InputError: If a value is not one of the choices, or a region, genome, model or label does
            not fit; see `choose_region`.
        TypeError: If there is no such argument.
    """
    from dna_bigbird.inference.substitutions import Genome, choose_region, score_substitutions
    from dna_bigbird.inference.writers import matrix

    file = None if output is None or str(output) == STANDARD_STREAM else Path(output)
    if file:
        matrix.check_suffix(file)
    picture = None if picture is None else Path(picture)
    genome = Genome(fasta)
    bases = choose_region(genome, region)
    if picture:
        matrix.check_picture(picture, bases.length)
    result = score_substitutions(
        genome,
        bases,
        model,
        labels=labels,
        window=window,
        strand=strand,
        compute=exact(Compute(**compute)),
        progress=progress,
    )
    if file:
        matrix.write_matrix(result, file, effect)
    if picture:
        notes = matrix.write_picture(result, picture, effect)
        result = replace(result, notes=[*result.notes, *notes])
    elif output is not None and file is None:
        matrix.print_matrix(result, effect)
    return result
