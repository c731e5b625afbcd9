"""`dna-bigbird motifs`."""

from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import checked_settings, note
from dna_bigbird.core.paths import InputFile, InputPath, OutputPath
from dna_bigbird.core.progress import progress_bar, shows_progress
from dna_bigbird.core.result_folders import MOTIFS, atomic_directory
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Count, NotNegative, Range

LISTED_MATCHES = 4


@shows_progress
@checked()
def motifs(
    attributions: list[InputPath],
    output: Annotated[OutputPath, MOTIFS],
    *,
    database: InputFile | None = None,
    window: Count = 400,
    max_q: Annotated[float, Range(above=0, most=1)] = 0.05,
    seqlet_bp: int = 15,
    flank_bp: int = 5,
    max_fdr: float = 0.05,
    min_seqlets: int = 20,
    min_pattern_seqlets: int = 10,
    max_seqlets: int = 2000,
    min_contribution: NotNegative = 0.1,
    progress: bool = False,
) -> Comparison:
    """Search attributed windows for motifs, and name them.

    Short stretches with high effects (seqlets) are clustered by tfmodisco-lite; each cluster is a pattern, cut to the
    positions that contribute, and compared with known matrices by Tomtom. The regions may be those that the model was
    trained on: the question is what the model reads. Needs the extra [motifs]. See docs/motifs.md.

    Examples:
        dna-bigbird motifs --attributions effects --output motifs
        dna-bigbird motifs --attributions effects --database motifs.meme --window 0 --output own_motifs

    Args:
        attributions: Attributions: HDF5 files of `dna-bigbird attribute`, each of one label, or folders of them.
        output: Result to write: a folder with the patterns (motifs.tsv, motifs.meme), their positions (hits.bed),
            a picture per pattern (logos/) and a page (index.html).
        database: Matrices in a MEME or JASPAR file: patterns are named by them; by default JASPAR 2024 CORE
            vertebrates, which the package pyjaspar contains.
        window: Window in base pairs: this many in the middle of each attributed window are searched; 0 for all.
        max_q: Largest q value of a match: p of Tomtom, corrected for all comparisons of the run.
        seqlet_bp: Bases of a seqlet: its effects are summed.
        flank_bp: Bases on either side of a seqlet that are clustered with it.
        max_fdr: Share of seqlets that a random track may explain: it sets the least effect of a seqlet.
        min_seqlets: Seqlets that raise (or lower) the label: with no more than this many, none are clustered.
        min_pattern_seqlets: Seqlets of the smallest pattern.
        max_seqlets: Most seqlets that are clustered, of each sign: the strongest.
        min_contribution: Least mean contribution of a pattern, in log odds: what changes the odds by less than a tenth
            is left out by default. 0 keeps all.
        progress: Whether to show a progress bar.
    """
    from dna_bigbird.prediction.motif_discovery.patterns import SearchSettings

    with checked_settings():
        settings = SearchSettings(
            seqlet_bp, flank_bp, max_fdr, min_seqlets, min_pattern_seqlets, max_seqlets
        )
    from dna_bigbird.prediction.motif_discovery.files import table_rows, write_files
    from dna_bigbird.prediction.motif_discovery.naming import match_all, read_database
    from dna_bigbird.prediction.motif_discovery.patterns import Pattern, find_patterns
    from dna_bigbird.prediction.writers.attributions import (
        attribution_paths,
        check_together,
        read_attributions,
    )

    output = Path(output)
    files = [(path, read_attributions(path, window)) for path in attribution_paths(attributions)]
    check_together(files)
    matrices = read_database(database)
    patterns: list[Pattern] = []
    weak = 0
    for _, windows in progress_bar(files, desc="motifs", unit="label"):
        listed = find_patterns(windows, settings)
        of_label = [x for x in listed if abs(x.mean_contribution) >= min_contribution]
        weak += len(listed) - len(of_label)
        if not listed:
            note(
                f"{windows.label}: no pattern in {len(windows.starts):,} windows; more windows, or smaller "
                "--min_seqlets and --min_pattern_seqlets, may help"
            )
        patterns += of_label
    if weak:
        note(
            f"patterns left out, with contributions below --min_contribution {min_contribution:g}: {weak}"
        )
    matches = match_all([pattern.shares for pattern in patterns], matrices)
    rows = table_rows(patterns, matches, max_q, LISTED_MATCHES)
    summary = (
        f"{len(rows)} patterns of {len(files)} labels, {sum(bool(row['matrix']) for row in rows)} of them similar to a "
        f"matrix of {matrices.name} (q up to {max_q:g})"
    )
    with atomic_directory(output, MOTIFS) as folder:
        write_files(folder, patterns, rows, {x.label: x for _, x in files}, f"{summary}.")
    return Comparison(output, rows, [f"{output}: {summary}; see index.html"])
