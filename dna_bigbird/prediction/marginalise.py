"""`dna-bigbird marginalise`."""

from pathlib import Path
from typing import Annotated

from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.paths import GenomeFile, InputFile, OutputFile, TsvOutput
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import Labels, ModelWindow
from dna_bigbird.prediction.compute import Compute, ComputeOptions

PICTURES = (".png", ".svg", ".pdf")


@checked(rest=Compute)
def marginalise(
    fasta: GenomeFile,
    motif: str,
    output: TsvOutput,
    *,
    model: ModelBundles | None = None,
    labels: Labels = None,
    second: str | None = None,
    distances: list[int] = [20, 40, 60, 100, 150, 200, 300, 400],  # noqa: B006
    database: InputFile | None = None,
    backgrounds: Annotated[int, Range(2)] = 50,
    window: ModelWindow = None,
    seed: int = 0,
    curves: OutputFile | None = None,
    **compute: ComputeOptions,
) -> Comparison:
    """Insert a motif into shuffled sequences and report what it changes in the log odds of labels.

    Backgrounds are random windows of a genome whose dinucleotides are in another order. The motif replaces the bases in
    their middle. With a second motif at several distances the table also has the change by the second alone, by both,
    and the interaction: both minus each alone, which is 0 if the model adds them up. See docs/motifs.md.

    Examples:
        dna-bigbird marginalise --fasta hg19.fa --motif TGAGTCA --model results/models/chromatin --output ap1.tsv
        dna-bigbird marginalise --fasta hg19.fa --motif CTCF --database motifs.meme --output ctcf.tsv
        dna-bigbird marginalise --fasta hg19.fa --motif ATTGCGCAAT --second TGAGTCA --output pair.tsv --curves pair.png

    Args:
        fasta: FASTA file to read: a genome, from which backgrounds are drawn.
        motif: Bases to insert, or the identifier or name of a matrix in `database`, whose consensus is inserted.
        output: Result to write: a table with a row per label, insertion and distance: mean change and its 95 percent
            interval over the backgrounds.
        second: Bases of a second motif, or its matrix, as `motif`.
        distances: Bases between the two motifs; a negative number puts the second on the left.
        model: Model bundle: several (--model A B) give the mean of their probabilities. Default: the bundled model.
        database: Matrices in a MEME or JASPAR file: by default JASPAR 2024 CORE vertebrates, which the package pyjaspar
            contains.
        backgrounds: Number of shuffled sequences.
        seed: Seed of the random numbers: of backgrounds and intervals.
        curves: Curves to write, .png, .svg or .pdf: of a second motif.
        compute: Fields of `Compute`: speed and memory.
    """
    from dna_bigbird.core.figures.style import save
    from dna_bigbird.prediction.motif_discovery.insertion import distance_figure

    file, picture = Path(output), None if curves is None else Path(curves)
    if picture is not None and (second is None or picture.suffix.lower() not in PICTURES):
        raise InputError(
            f"--curves {picture}: expected a name in {', '.join(PICTURES)}, and a --second motif"
        )
    if second is not None and (not distances or len(set(distances)) < len(distances)):
        raise InputError(f"--distances {distances}: expected at least one, each once")
    sites = [site_of(text, database) for text in (motif, second) if text is not None]
    rows, notes = _measure(
        fasta, sites, distances, model, labels, backgrounds, window, seed, Compute(**compute)
    )
    from dna_bigbird.core.tables import Table
    from dna_bigbird.core.writing import atomic_path

    with atomic_path(file) as out:
        out.write_text(Table(rows).to_tsv(), encoding="utf-8")
        if picture is not None:  # both or none
            with atomic_path(picture) as drawn:
                drawn.write_bytes(save(distance_figure(rows), picture.suffix.lower()[1:]))
    for line in notes:
        note(line)
    return Comparison(file, rows, [])


def _measure(
    fasta: Path | str,
    sites: list[str],
    distances: list[int],
    model: ModelBundles | None,
    labels: Labels,
    backgrounds: int,
    window: int | None,
    seed: int,
    compute: Compute,
) -> tuple[list[dict[str, object]], list[str]]:
    """Return the rows of the table, and notes; `sites`: the motif and the second, if any."""
    import numpy as np

    from dna_bigbird.bundles.choice import choose_labels, load_models, notes_on
    from dna_bigbird.core.limits import check_memory
    from dna_bigbird.genome.fasta import Genome
    from dna_bigbird.prediction.compute import exact
    from dna_bigbird.prediction.motif_discovery.insertion import (
        bytes_for,
        check_fits,
        draw_backgrounds,
        effects_of,
        table_rows,
    )
    from dna_bigbird.prediction.predictor import Predictor

    bundles = load_models(model)
    chosen = choose_labels(bundles[0].config.label_names, labels)
    predictor = Predictor(bundles, compute=exact(compute), labels=chosen)
    predictor.check_probabilities("a change of log odds")
    window_bp = window or predictor.window_bp
    first, second = sites[0], sites[1] if len(sites) > 1 else None
    check_fits(first, second, distances, window_bp)
    num_distances = len(distances) if second else 0
    needed = bytes_for(backgrounds, window_bp, len(predictor.label_names), num_distances)
    check_memory(f"--backgrounds {backgrounds}", needed)
    texts = draw_backgrounds(Genome(fasta), backgrounds, window_bp, np.random.default_rng(seed))
    changes = effects_of(predictor, texts, first, second, distances)
    rows = table_rows(changes, predictor.label_names, seed)
    return rows, [*notes_on(model), *predictor.notes()]


def site_of(text: str, database: Path | str | None) -> str:
    """Return the bases to insert: the text if it has only A, C, G, T, else a matrix's consensus."""
    if text and not text.upper().strip("ACGT"):
        return text.upper()
    from dna_bigbird.prediction.motif_discovery.naming import read_database

    matrices = read_database(database)
    for names in ("identifier", "name"):
        named = [x for x in matrices.matrices if getattr(x, names).casefold() == text.casefold()]
        if len(named) == 1:
            return named[0].consensus
        if named:
            listed = ", ".join(x.identifier for x in named)
            raise InputError(
                f"{text}: matrices {listed} of {matrices.name} have this name; name one"
            )
    raise InputError(
        f"{text!r} is not a text of A, C, G and T, nor a matrix of {matrices.name} (identifier or name)"
    )
