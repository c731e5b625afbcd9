"""`dna-bigbird mutagenesis`."""

import sys
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute, ComputeOptions
from dna_bigbird.paths import InputPath, OutputPath, OutputStream

PICTURES = (".png", ".svg", ".pdf")


@checked()
def mutagenesis(
    fasta: InputPath,
    region: str | None = None,
    model: InputPath | list[InputPath] | None = None,
    output: OutputStream | None = None,
    picture: OutputPath | None = None,
    labels: str | list[str] | None = None,
    effect: Literal["log_odds", "diff"] = "log_odds",
    window: int | None = None,
    strand: Literal["both", "forward"] = "both",
    **compute: ComputeOptions,
) -> None:
    """Put each of the three other bases at every base of a region and write what the model makes of it.

    The table has one row a base: chrom, pos (from 1), ref, then for every label four columns, one
    for each of A, C, G, T: 0 at the reference base, nan where the genome has N. Every base has a
    window of its own, centred on it, so a substitution has the effect that score-variants gives it.
    In the picture a letter stands up where changing it lowers the label's score; the colours below
    are the effects of the single substitutions. Computed in float32 unless --precision says otherwise.

    Args:
        fasta: Plain FASTA file: a genome with --region, or one short record.
        region: Bases to change, from 1 and both ends included, as chr22:20,000,001-20,000,200; the
            whole record if not given.
        model: Model bundle, or several as [A,B] for the mean of their probabilities; the one that
            comes with the package if not given.
        output: Matrix to write, .tsv or .npz; without --output and --picture the table goes to
            standard output.
        picture: Heat map to write, .png, .svg or .pdf, of regions of up to 1,000 bases. Of many
            labels those with the largest effects are drawn.
        labels: Names of labels or patterns such as 'GM12878*,CTCF'; all if not given.
        effect: log_odds, the change of the log odds, or diff, that of the probability. An .npz has both.
        window: Bases around each changed one that the model reads; the model's own if not given.
        strand: 'both' is the mean over the two strands; 'forward' reads the bases as they stand.
        compute: How, never what: fields of `Compute`.

    Examples:
        dna-bigbird mutagenesis --fasta genome.fa --region demo22:880,001-880,100 \\
            --model results/models/chromatin --labels 'CTCF,JUN' --picture effects.png
    """
    from dna_bigbird.bundles.choice import notes_on
    from dna_bigbird.errors import InputError, note
    from dna_bigbird.inference import mutating
    from dna_bigbird.inference.mutagenesis_files import tsv_lines
    from dna_bigbird.report.figures.mutagenesis_figure import MOST_BASES, mutagenesis_figure
    from dna_bigbird.report.figures.style import save
    from dna_bigbird.writing import atomic_path

    settings = Compute(**compute)
    if picture is not None:
        if picture.suffix not in PICTURES:
            raise InputError(f"--picture {picture}: the name ends in {', '.join(PICTURES)}")
        length = mutating.choose_region(mutating.Genome(fasta), region).length
        if length > MOST_BASES:
            raise InputError(
                f"--picture {picture}: a picture shows at most {MOST_BASES:,} bases, the region has "
                f"{length:,}; write --output instead"
            )
    found = mutating.mutagenesis(
        fasta, region, model, output, labels, effect, window, strand, progress=True,
        **vars(settings),
    )  # fmt: skip
    for line in (*notes_on(model), *found.notes):
        note(line)
    if picture is not None:
        figure, drawn = mutagenesis_figure(
            found.chrom, found.start, found.reference, found.label_names, found.effects(effect),
            effect=effect,
        )  # fmt: skip
        with atomic_path(picture) as partial:
            partial.write_bytes(save(figure, picture.suffix[1:], dpi=200))
        if len(drawn) < len(found.label_names):
            note(f"{picture} shows the labels with the largest effects: {', '.join(drawn)}")
    if output is None and picture is None:
        for line in tsv_lines(found, effect):
            sys.stdout.write(f"{line}\n")
