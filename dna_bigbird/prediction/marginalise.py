"""`dna-bigbird marginalise`."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import choose_labels, load_models, notes_on
from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.limits import check_memory
from dna_bigbird.core.paths import GenomeFile, InputFile, OutputFile, TsvOutput
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Range
from dna_bigbird.core.shared_options import Labels, ModelWindow
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.dinucleotide_shuffle import shuffle_dinucleotides
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.metrics.bootstrap import percentile_interval
from dna_bigbird.prediction.compute import Compute, ComputeOptions, exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dna_bigbird.prediction.predictor import Predictor

# N backgrounds, L labels, D distances

PICTURES = (".png", ".svg", ".pdf")
MOST_LABELS = 8
MOST_DRAWS = 100
"""Windows drawn per background before the genome counts as full of N."""
REPLICATES = 2000
COLUMNS = ("label", "inserted", "distance", "n", "change", "low", "high")


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
    with atomic_path(file) as out:
        out.write_text(Table(rows).to_tsv(), encoding="utf-8")
        if picture is not None:  # both or none
            from dna_bigbird.core.figures.style import save

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
    from dna_bigbird.prediction.predictor import Predictor  # imports torch: seconds

    bundles = load_models(model)
    chosen = choose_labels(bundles[0].config.label_names, labels)
    predictor = Predictor(bundles, compute=exact(compute), labels=chosen, raw=True)
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
    from dna_bigbird.prediction.motif_patterns import read_database

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


def draw_backgrounds(
    genome: Genome, count: int, window_bp: int, rng: np.random.Generator
) -> list[str]:
    """Return random windows without N, each with its dinucleotides in another order."""
    names = [name for name, length in genome.lengths.items() if length >= window_bp]
    starts = np.array([genome.lengths[name] - window_bp + 1 for name in names])
    if not names:
        raise InputError(f"{genome.path}: no record of {window_bp:,} bases, the window")
    backgrounds: list[str] = []
    for _ in range(MOST_DRAWS * count):
        chrom = int(rng.choice(len(names), p=starts / starts.sum()))
        start = int(rng.integers(starts[chrom]))
        text = genome.fetch(Interval(names[chrom], start, start + window_bp))
        if "N" not in text:
            backgrounds.append(shuffle_dinucleotides(text, rng))
        if len(backgrounds) == count:
            return backgrounds
    raise InputError(
        f"{genome.path}: only {len(backgrounds)} of {MOST_DRAWS * count:,} random windows of {window_bp:,} bases "
        "have no N"
    )


def bytes_for(count: int, window_bp: int, num_labels: int, num_distances: int) -> int:
    """Return the memory of so many backgrounds, with motifs inserted, their changes and bootstrap draws."""
    texts = 3 * (window_bp + sys.getsizeof(""))
    changes = 8 * num_labels * (3 + 3 * num_distances)
    draws = 2 * 8 * REPLICATES
    return count * (texts + changes + draws)


def insert(background: str, motif: str, start: int) -> str:
    """Return a sequence with a motif in place of its bases from `start` on.

    Example:
        >>> insert("AAAAAA", "CG", 2)
        'AACGAA'
    """
    return background[:start] + motif + background[start + len(motif) :]


def start_of_second(first_start: int, first: str, second: str, distance: int) -> int:
    """Return where the second motif starts, so many bases after the first; negative: before it.

    Example:
        >>> start_of_second(10, "CCCC", "GG", 3), start_of_second(10, "CCCC", "GG", -3)
        (17, 5)
    """
    if distance >= 0:
        return first_start + len(first) + distance
    return first_start + distance - len(second)


def check_fits(first: str, second: str | None, distances: Sequence[int], window_bp: int) -> None:
    """Raise InputError if a motif is longer than the window, or the second is not within it."""
    start = (window_bp - len(first)) // 2
    if start < 0:
        raise InputError(f"--motif has {len(first)} bases, and the window {window_bp}")
    for distance in distances if second else ():
        begin = start_of_second(start, first, second or "", distance)
        if begin < 0 or begin + len(second or "") > window_bp:
            raise InputError(
                f"--distances {distance}: the second motif would be outside the window of {window_bp} bases"
            )


def effects_of(
    predictor: "Predictor",
    backgrounds: Sequence[str],
    first: str,
    second: str | None,
    distances: Sequence[int],
) -> dict[tuple[str, int | None], NDArray[np.float64]]:
    """Return the changes of the log odds (N, L) by what was inserted and the distance."""
    # Keys: ("motif", None), and with a second motif ("second", d) alone, ("both", d), and
    # ("interaction", d): the change by both minus those by each alone.
    start = (len(backgrounds[0]) - len(first)) // 2
    plain_NL = _log_odds(predictor, backgrounds)

    def change(texts: Sequence[str]) -> NDArray[np.float64]:
        return _log_odds(predictor, texts) - plain_NL

    with_first = [insert(text, first, start) for text in backgrounds]
    changes: dict[tuple[str, int | None], NDArray[np.float64]] = {
        ("motif", None): change(with_first)
    }
    for distance in distances if second else ():
        begin = start_of_second(start, first, second or "", distance)
        alone = change([insert(text, second or "", begin) for text in backgrounds])
        both = change([insert(text, second or "", begin) for text in with_first])
        changes["second", distance] = alone
        changes["both", distance] = both
        changes["interaction", distance] = both - alone - changes["motif", None]
    return changes


def _log_odds(predictor: "Predictor", texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the log odds (N, L) of the mean probability of both strands."""
    share = np.clip(predictor.probabilities(texts), 1e-12, 1 - 1e-12)
    return np.log(share) - np.log1p(-share)


def table_rows(
    changes: dict[tuple[str, int | None], NDArray[np.float64]], labels: Sequence[str], seed: int
) -> list[dict[str, object]]:
    """Return a row per label, insertion and distance: the mean over backgrounds with its 95 % bootstrap interval."""
    count = len(next(iter(changes.values())))
    drawn = np.random.default_rng([seed, 1]).integers(0, count, (REPLICATES, count))
    rows = []
    for number, label in enumerate(labels):
        for (inserted, distance), change_NL in changes.items():
            values = change_NL[:, number]
            figures = [values.mean(), *percentile_interval(values[drawn].mean(axis=1))]
            cells = (label, inserted, distance, count, *(f"{x:.4f}" for x in figures))
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def distance_figure(rows: Sequence[Mapping[str, object]]) -> "Figure":
    """Draw a panel for each of the first labels: mean changes of log odds with intervals."""
    from dna_bigbird.core.figures.style import GREY, KMER, MODEL, SKY, new_figure, style

    looks = {"both": (MODEL, "o-"), "second": (KMER, "s--"), "interaction": (SKY, "^:")}
    labels = list(dict.fromkeys(str(row["label"]) for row in rows))[:MOST_LABELS]
    with style():
        fig = new_figure(5.2, 0.4 + 2.4 * len(labels))
        panels = fig.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
        for ax, label in zip(panels, labels, strict=True):
            own = [row for row in rows if row["label"] == label]
            alone = next(float(str(row["change"])) for row in own if row["inserted"] == "motif")
            ax.axhline(0, color=GREY, lw=0.6)
            ax.axhline(alone, color=GREY, lw=1, ls="--", label="motif")
            for inserted, (colour, line) in looks.items():
                for side, name in ((1, inserted), (-1, "_")):
                    rows_of = [x for x in own if x["inserted"] == inserted]
                    _curve(ax, rows_of, side, colour, line, name)
            ax.set_title(label)
            ax.set_ylabel("change of log odds")
        panels[-1].set_xlabel("bases between the motifs (negative: second on the left)")
        handles, names = panels[0].get_legend_handles_labels()
        fig.legend(handles, names, loc="outside upper center", ncols=len(names))
    return fig


def _curve(
    ax: "Axes",
    rows: Sequence[Mapping[str, object]],
    side: int,
    colour: str,
    line: str,
    name: str,
) -> None:
    """Draw one line with its intervals: of the distances from 0 on (side 1), or of the negative ones (-1)."""
    points = sorted(
        tuple(float(str(row[x])) for x in ("distance", "change", "low", "high")) for row in rows
    )
    points = [x for x in points if (x[0] >= 0) == (side > 0)]
    if points:
        distances, means, lows, highs = zip(*points, strict=True)
        ax.plot(distances, means, line, color=colour, ms=4, label=name)
        ax.fill_between(distances, lows, highs, color=colour, alpha=0.2, lw=0)
