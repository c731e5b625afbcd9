"""`dna-bigbird marginalise`."""

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import choose_labels, load_models, notes_on
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.model_options import AveragedModels
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.limits import check_memory
from dna_bigbird.core.paths import GenomeFile, InputFile, OutputFile, TsvOutput
from dna_bigbird.core.progress import progress_bar, shows_progress
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Count, Positive, Range
from dna_bigbird.core.shared_options import Labels, ModelWindow, Progress, WindowStrands
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.dinucleotide_shuffle import shuffle_dinucleotides
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.metrics.bootstrap import percentile_interval
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.compute import Compute, ComputeOptions, exact
from dna_bigbird.prediction.windows.bins import tracks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dna_bigbird.prediction.predictor import Predictor

# N backgrounds, L labels, P positions

PICTURES = (".png", ".svg", ".pdf")
MOST_LABELS = 8
MOST_DRAWS = 100
"""Windows drawn per background before the genome counts as full of N."""
MOST_POSITIONS = 300
"""Positions of a curve by default."""
REPLICATES = 2000
DISTANCES = (20, 40, 60, 100, 150, 200, 300, 400)
Changes = dict[tuple[str, int | None], NDArray[np.float64]]
"""Changes of the log odds (N, L) by what was inserted, and its position or distance."""


@checked(rest=Compute)
@shows_progress
def marginalise(
    fasta: GenomeFile,
    motif: str,
    output: TsvOutput,
    *,
    model: AveragedModels = None,
    labels: Labels = None,
    position: list[int] | None = None,
    step: Positive | None = None,
    second: str | None = None,
    distances: list[int] | None = None,
    database: InputFile | None = None,
    backgrounds: Annotated[int, Range(2)] = 50,
    window: ModelWindow = None,
    strand: WindowStrands = None,
    seed: int = 0,
    curves: OutputFile | None = None,
    central_bp: Count = 0,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> Comparison:
    """Insert a motif into shuffled sequences and report what it changes in the log odds of labels.

    Backgrounds are random windows of a genome whose dinucleotides are in another order. The motif replaces bases of
    them: at each --position, or in their middle; a model whose training windows have a start site, or another anchor,
    at one base gets it at all positions, a curve. With a second motif at several distances the table has the change by
    the second alone, by both, and the interaction: both minus each alone, which is 0 if the model adds them up. See
    docs/how-to/motifs.md.

    Examples:
        dna-bigbird marginalise --fasta hg19.fa --motif TATAAAAG --output curve.tsv --curves curve.png
        dna-bigbird marginalise --fasta hg19.fa --motif TGAGTCA --model results/models/chromatin --output ap1.tsv
        dna-bigbird marginalise --fasta hg19.fa --motif CTCF --database motifs.meme --output ctcf.tsv
        dna-bigbird marginalise --fasta hg19.fa --motif ATTGCGCAAT --second TGAGTCA --model results/models/chromatin \\
            --output pair.tsv --curves pair.png

    Args:
        fasta: FASTA file to read: a genome, from which backgrounds are drawn.
        motif: Bases to insert, or the identifier or name of a matrix in `database`, whose consensus is inserted.
        output: Result to write: a table with a row per label, insertion and position, or distance of two motifs: mean
            change and its 95 percent interval over the backgrounds.
        position: Position of the first base of the motif, one or several: bases after the anchor of the label on the
            strand that is read, negative before it; 0 is the anchor itself, such as the first transcribed base.
            Without a known anchor 0 is the middle of the window. Default: all, if the model is aligned on an anchor;
            else the motif is in the middle.
        step: Step between the positions of a curve in bases. Default: 1 in windows of up to 300 bp, else so that
            there are about 300. With a model that is not aligned it asks for a curve.
        second: Bases of a second motif, or its matrix, as `motif`. An aligned model then needs one `position`.
        distances: Bases between the two motifs; a negative number puts the second on the left. Default: 20, 40, 60,
            100, 150, 200, 300 and 400, as far as they fit into the window.
        database: Matrices in a MEME or JASPAR file: by default JASPAR 2024 CORE vertebrates, which the package pyjaspar
            contains.
        backgrounds: Number of shuffled sequences.
        seed: Seed of the random numbers: of backgrounds and intervals.
        central_bp: Bases in the middle of the window of a model of tracks whose bins count, 0 for all: the change is that of
            their sum, in the unit of the track.
        curves: Curves to write, .png, .svg or .pdf: by position, or by distance of a second motif.
        compute: Fields of `Compute`: speed and memory.

    Raises:
        InputError: If an option contradicts another one or the model, a motif is unknown or does not fit into the
            window, the genome has too few windows without N, or the model predicts numbers.
    """
    file, picture = Path(output), None if curves is None else Path(curves)
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--curves {picture}: expected a name in {', '.join(PICTURES)}")
    if second is None and distances is not None:
        raise InputError(f"--distances {distances}: of two motifs; name the other with --second")
    if distances is not None and (not distances or len(set(distances)) < len(distances)):
        raise InputError(f"--distances {distances}: expected at least one, each once")
    motifs = [site_of(text, database) for text in (motif, second) if text is not None]
    bundles = load_models(model)
    from dna_bigbird.prediction.predictor import Predictor  # imports torch: seconds

    predictor = Predictor(
        bundles,
        compute=exact(Compute(**compute)),
        strand=strand or bundles[0].config.default_strand,
        labels=choose_labels(bundles[0].config.label_names, labels),
        raw=True,
        **tracks_of(bundles, window, central_bp),
    )
    if predictor.label_type != TRACKS:
        predictor.check_probabilities("a change of log odds")
    layout = lay_out(bundles[0].config, motifs, window, position, step, distances)
    needed = bytes_for(backgrounds, layout, len(predictor.label_names))
    check_memory(f"--backgrounds {backgrounds}", needed)
    texts = draw_backgrounds(
        Genome(fasta), backgrounds, layout.window_bp, np.random.default_rng(seed)
    )
    rows = table_rows(layout.changes(predictor, texts), predictor.label_names, seed, layout.where)
    with atomic_path(file) as out:
        out.write_text(Table(rows).to_tsv(), encoding="utf-8")
        if picture is not None:  # both or none
            from dna_bigbird.core.figures.style import save

            with atomic_path(picture) as drawn:
                drawn.write_bytes(save(curve_figure(rows), picture.suffix.lower()[1:]))
    for line in [*notes_on(model), *predictor.notes(), *layout.notes()]:
        note(line)
    return Comparison(file, rows, [])


class Layout(NamedTuple):
    """Where motifs are inserted into windows."""

    window_bp: int
    anchor: int
    """0-based position in the window that `positions` count from."""
    motif: str
    positions: Sequence[int]
    """Of the first base of the motif; one with a second motif."""
    second: str | None
    distances: Sequence[int]

    @property
    def where(self) -> str:
        """The column of the table that tells the rows of a label apart."""
        return "position" if self.second is None else "distance"

    def changes(self, predictor: "Predictor", backgrounds: Sequence[str]) -> Changes:
        """Return the changes of the log odds: of a curve by position, of a pair by distance."""
        starts = [self.anchor + position for position in self.positions]
        if self.second is None:
            return curve_effects(predictor, backgrounds, self.motif, starts, self.anchor)
        return effects_of(
            predictor, backgrounds, self.motif, starts[0], self.second, self.distances
        )

    def notes(self) -> list[str]:
        """Return from which base positions count."""
        return [f"position 0 is base {self.anchor + 1:,} of the window of {self.window_bp:,}"]


def lay_out(
    config: BundleConfig,
    motifs: Sequence[str],
    window: int | None,
    position: Sequence[int] | None,
    step: int | None,
    distances: Sequence[int] | None,
) -> Layout:
    """Return where one or two motifs go, or raise InputError if they do not fit or options exclude each other."""
    window_bp = window or config.window_bp or 0
    anchor = config.anchor_in(window_bp)
    first, second = motifs[0], motifs[1] if len(motifs) > 1 else None
    last = window_bp - len(first)
    if last < 0:
        raise InputError(f"--motif has {len(first)} bases, and the window {window_bp}")
    if step is not None and (position or second):
        raise InputError(f"--step {step}: of a curve, without --position and --second")
    if second and len(position or ()) != 1 and (position or config.is_aligned):
        raise InputError(
            f"--position {position}: expected one position of the first motif with --second, such as the highest of "
            "its curve"
        )
    if not position and (step or config.is_aligned):
        step = step or -(-window_bp // MOST_POSITIONS)
        position = [x - anchor for x in range(last + 1) if (x - anchor) % step == 0]
    position = position or [last // 2 - anchor]
    for each in position:
        if not 0 <= anchor + each <= last or position.count(each) > 1:
            raise InputError(
                f"--position {each}: expected from {-anchor} to {last - anchor}, where {len(first)} bases fit into "
                f"the window of {window_bp}, each once"
            )

    def fits(distance: int) -> bool:
        begin = start_of_second(anchor + position[0], first, second or "", distance)
        return 0 <= begin <= window_bp - len(second or "")

    if outside := [x for x in distances or () if not fits(x)]:
        raise InputError(
            f"--distances {outside[0]}: the second motif would be outside the window of {window_bp} bases"
        )
    distances = distances or [x for x in DISTANCES if fits(x)]
    if second and not distances:
        raise InputError(
            f"--distances: none of {DISTANCES} fits into the window of {window_bp} bases"
        )
    return Layout(window_bp, anchor, first, position, second, distances if second else [])


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
    return [
        shuffle_dinucleotides(text, rng) for text in draw_windows(genome, count, window_bp, rng)
    ]


def draw_windows(
    genome: Genome, count: int, window_bp: int, rng: np.random.Generator
) -> Iterator[str]:
    """Yield random windows without N; InputError if there are too few."""
    names = [name for name, length in genome.lengths.items() if length >= window_bp]
    starts = np.array([genome.lengths[name] - window_bp + 1 for name in names])
    if not names:
        raise InputError(f"{genome.path}: no record of {window_bp:,} bases, the window")
    drawn = 0
    for _ in range(MOST_DRAWS * count):
        chrom = int(rng.choice(len(names), p=starts / starts.sum()))
        start = int(rng.integers(starts[chrom]))
        text = genome.fetch(Interval(names[chrom], start, start + window_bp))
        if "N" not in text:
            yield text
            drawn += 1
        if drawn == count:
            return
    raise InputError(
        f"{genome.path}: only {drawn} of {MOST_DRAWS * count:,} random windows of {window_bp:,} bases "
        "have no N"
    )


def bytes_for(count: int, layout: Layout, num_labels: int) -> int:
    """Return the memory of so many backgrounds, with motifs inserted, their changes and bootstrap draws."""
    texts = 3 * (layout.window_bp + sys.getsizeof(""))
    changes = 8 * num_labels * (2 + 2 * len(layout.positions) + 3 * len(layout.distances))
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


def curve_effects(
    predictor: "Predictor",
    backgrounds: Sequence[str],
    motif: str,
    starts: Sequence[int],
    anchor: int,
) -> Changes:
    """Return the changes by a motif at each of the starts, by ("motif", start - anchor)."""
    inserted = (insert(text, motif, start) for start in starts for text in backgrounds)
    texts = progress_bar(
        itertools.chain(backgrounds, inserted),
        total=len(backgrounds) * (1 + len(starts)),
        desc="marginalise",
        unit=" windows",
    )
    values = log_odds(predictor, texts)
    plain_NL, *with_motif = values.reshape(-1, len(backgrounds), values.shape[1])
    rows = zip(starts, with_motif, strict=True)
    return {("motif", start - anchor): values_NL - plain_NL for start, values_NL in rows}


def effects_of(
    predictor: "Predictor",
    backgrounds: Sequence[str],
    first: str,
    start: int,
    second: str,
    distances: Sequence[int],
) -> Changes:
    """Return the changes by two motifs, the first at `start`, by what was inserted and the distance."""
    # Keys: ("motif", None), ("second", d) alone, ("both", d), and ("interaction", d): the change by
    # both minus those by each alone.
    plain_NL = log_odds(predictor, backgrounds)

    def change(texts: Sequence[str]) -> NDArray[np.float64]:
        return log_odds(predictor, texts) - plain_NL

    with_first = [insert(text, first, start) for text in backgrounds]
    changes: Changes = {("motif", None): change(with_first)}
    for distance in progress_bar(distances, desc="marginalise", unit=" distances"):
        begin = start_of_second(start, first, second, distance)
        alone = change([insert(text, second, begin) for text in backgrounds])
        both = change([insert(text, second, begin) for text in with_first])
        changes["second", distance] = alone
        changes["both", distance] = both
        changes["interaction", distance] = both - alone - changes["motif", None]
    return changes


def log_odds(predictor: "Predictor", texts: Iterable[str]) -> NDArray[np.float64]:
    """Return the log odds (N, L) of the probabilities, or the sums of tracks."""
    values = predictor.probabilities(texts)
    if predictor.label_type == TRACKS:
        return values
    share = np.clip(values, 1e-12, 1 - 1e-12)
    return np.log(share) - np.log1p(-share)


def table_rows(
    changes: Changes, labels: Sequence[str], seed: int, where: str
) -> list[dict[str, object]]:
    """Return a row per label, insertion and position or distance: the mean with its 95 % bootstrap interval."""
    columns = ("label", "inserted", where, "n", "change", "low", "high")
    count = len(next(iter(changes.values())))
    drawn = np.random.default_rng([seed, 1]).integers(0, count, (REPLICATES, count))
    rows = []
    for number, label in enumerate(labels):
        for (inserted, at), change_NL in changes.items():
            values = change_NL[:, number]
            figures = [values.mean(), *percentile_interval(values[drawn].mean(axis=1))]
            cells = (label, inserted, at, count, *(f"{x:.4f}" for x in figures))
            rows.append(dict(zip(columns, cells, strict=True)))
    return rows


def curve_figure(rows: Sequence[Mapping[str, object]]) -> "Figure":
    """Draw a panel for each of the first labels: mean changes of log odds with intervals, by position or distance."""
    from dna_bigbird.core.figures.style import GREY, KMER, MODEL, SKY, new_figure, style

    is_pair = "distance" in rows[0]
    looks = {"both": (MODEL, "o-"), "second": (KMER, "s--"), "interaction": (SKY, "^:")}
    labels = list(dict.fromkeys(str(row["label"]) for row in rows))[:MOST_LABELS]
    with style():
        fig = new_figure(5.2, 0.4 + 2.4 * len(labels))
        panels = fig.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
        for ax, label in zip(panels, labels, strict=True):
            own = [row for row in rows if row["label"] == label]
            motif = [row for row in own if row["inserted"] == "motif"]
            ax.axhline(0, color=GREY, lw=0.6)
            if is_pair:
                alone = float(str(motif[0]["change"]))
                ax.axhline(alone, color=GREY, lw=1, ls="--", label="motif")
            else:
                _curve(ax, "position", motif, MODEL, "-", "motif")
            for inserted, look in looks.items() if is_pair else ():
                rows_of = [x for x in own if x["inserted"] == inserted]
                for is_left, name in ((False, inserted), (True, "_")):
                    side = [x for x in rows_of if (int(str(x["distance"])) < 0) == is_left]
                    _curve(ax, "distance", side, *look, name)
            ax.set_title(label)
            ax.set_ylabel("change of log odds")
        panels[-1].set_xlabel(
            "bases between the motifs (negative: second on the left)"
            if is_pair
            else "first base of the motif, from the anchor of the label"
        )
        handles, names = panels[0].get_legend_handles_labels()
        fig.legend(handles, names, loc="outside upper center", ncols=len(names))
    return fig


def _curve(
    ax: "Axes", where: str, rows: Sequence[Mapping[str, object]], colour: str, line: str, name: str
) -> None:
    """Draw one line with its intervals, by position or distance."""
    columns = (where, "change", "low", "high")
    points = sorted(tuple(float(str(row[x])) for x in columns) for row in rows)
    if points:
        x, means, lows, highs = zip(*points, strict=True)
        ax.plot(x, means, line, color=colour, ms=4, label=name)
        ax.fill_between(x, lows, highs, color=colour, alpha=0.2, lw=0)
