"""`dna-bigbird motifs`."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import checked_settings, note
from dna_bigbird.core.paths import InputFile, InputPath, OutputPath
from dna_bigbird.core.progress import progress_bar, shows_progress, ticking
from dna_bigbird.core.result_folders import MOTIFS, atomic_directory
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Count, NotNegative, Range
from dna_bigbird.core.tables import Table
from dna_bigbird.genome.motif_files import MotifMatrix, meme_text
from dna_bigbird.prediction.motif_patterns import (
    Match,
    Pattern,
    SearchSettings,
    find_patterns,
    information,
    match_all,
    read_database,
)
from dna_bigbird.prediction.writers.target import file_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dna_bigbird.core.figures.style import Letter
    from dna_bigbird.prediction.writers.attributions import AttributedWindows

# P positions of a pattern; 4 bases in the order of LETTERS

LETTERS = "ACGT"
INCHES_PER_BASE = 0.2
LISTED_MATCHES = 4
COLUMNS = (
    "label", "pattern", "sign", "seqlets", "consensus", "matrix", "q", "other_matches", "mean_contribution", "logo",
)  # fmt: skip
LOGOS = "logos"
PAGE_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;color-scheme:light dark}"
    "div{overflow-x:auto}table{border-collapse:collapse}th,td{padding:.3em .7em;text-align:left;"
    "border-bottom:1px solid #8886;vertical-align:middle}img{height:9em;background:#fff}"
)


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
    trained on: the question is what the model reads. Needs the extra [motifs]. See docs/how-to/motifs.md.

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
    with checked_settings():
        settings = SearchSettings(
            seqlet_bp, flank_bp, max_fdr, min_seqlets, min_pattern_seqlets, max_seqlets
        )
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
    bar = progress_bar(files, desc="motifs", unit="label")
    with ticking(bar):
        for _, windows in bar:
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
        f"{len(rows)} patterns of {len(files)} label{'s' * (len(files) != 1)}, {sum(bool(row['matrix']) for row in rows)} of them similar to a "
        f"matrix of {matrices.name} (q up to {max_q:g})"
    )
    with atomic_directory(output, MOTIFS) as folder:
        write_files(folder, patterns, rows, {x.label: x for _, x in files}, f"{summary}.")
    return Comparison(output, rows, [f"{output}: {summary}; see index.html"])


def table_rows(
    patterns: Sequence[Pattern], matches: Sequence[Sequence[Match]], max_q: float, most: int
) -> list[dict[str, str]]:
    """Return the rows of motifs.tsv: of each pattern its best matches with q up to a limit."""
    rows = []
    for pattern, best, logo in zip(patterns, matches, logo_names(patterns), strict=True):
        named = [match for match in best if match.q <= max_q][:most]
        others = (f"{match.matrix.label} ({match.q:.2g})" for match in named[1:])
        values = (
            pattern.label, pattern.name, pattern.sign, str(len(pattern.hits)), pattern.consensus,
            named[0].matrix.label if named else "", f"{named[0].q:.3g}" if named else "", "; ".join(others),
            f"{pattern.mean_contribution:.4g}", logo,
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def logo_names(patterns: Sequence[Pattern]) -> list[str]:
    """Return the path of the picture of each pattern within the folder."""
    names = file_names([f"{pattern.label}.{pattern.name}" for pattern in patterns], ".png")
    return [f"{LOGOS}/{name}" for name in names]


def write_files(
    folder: Path,
    patterns: Sequence[Pattern],
    rows: Sequence[Mapping[str, str]],
    windows: "Mapping[str, AttributedWindows]",
    caption: str,
) -> None:
    """Write all files into an empty folder; `caption` is plain text above the table of the page."""
    from dna_bigbird.core.figures.style import save

    (folder / "motifs.tsv").write_text(Table(rows, COLUMNS).to_tsv(), encoding="utf-8")
    matrices = [
        MotifMatrix(pattern.identifier, row["matrix"], pattern.shares)
        for pattern, row in zip(patterns, rows, strict=True)
    ]
    sites = {pattern.identifier: len(pattern.hits) for pattern in patterns}
    (folder / "motifs.meme").write_text(meme_text(matrices, sites), encoding="utf-8")
    lines = bed_lines(patterns, windows)
    (folder / "hits.bed").write_text("".join(lines), encoding="utf-8")
    (folder / LOGOS).mkdir()
    for pattern, row in zip(patterns, rows, strict=True):
        title = f"{pattern.label} {pattern.name}"
        bits_P = information(pattern.shares.T)
        figure = motif_logo(pattern.shares, bits_P, pattern.contributions, title)
        (folder / row["logo"]).write_bytes(save(figure, "png"))
    (folder / "index.html").write_text(page(rows, caption), encoding="utf-8")


def bed_lines(patterns: Sequence[Pattern], windows: "Mapping[str, AttributedWindows]") -> list[str]:
    """Return the lines of hits.bed in genome order: chrom, start, end, pattern, score, strand."""
    # The score is the summed contribution of the bases, in log odds: of overlapping windows that
    # farther from 0.
    hits: dict[tuple[str, int, int, str, str], float] = {}
    for pattern in patterns:
        for *key, score in _hits_of(pattern, windows[pattern.label]):
            hits[tuple(key)] = max(hits.get(tuple(key), 0.0), score, key=abs)
    return [
        f"{chrom}\t{start}\t{end}\t{name}\t{score:.4g}\t{strand}\n"
        for (chrom, start, end, name, strand), score in sorted(hits.items())
    ]


def _hits_of(
    pattern: Pattern, windows: "AttributedWindows"
) -> Iterator[tuple[str, int, int, str, str, float]]:
    scores_nW = windows.scores
    for hit in pattern.hits:
        first = int(windows.starts[hit.window])
        end = min(first + hit.end, int(windows.ends[hit.window]))
        score = float(scores_nW[hit.window, hit.start : hit.end].sum())
        strand = "-" if hit.is_reverse else "+"
        yield (
            windows.sequences[hit.window],
            first + hit.start,
            end,
            pattern.identifier,
            strand,
            score,
        )


def page(rows: Sequence[Mapping[str, str]], caption: str) -> str:
    """Return index.html: the table with a logo per pattern."""
    alts = [f"Logo of {row['label']} {row['pattern']}: {row['consensus']}" for row in rows]
    columns = [column for column in COLUMNS if column != "logo"]
    return picture_page("Motifs", caption, "logo", columns, rows, alts)


def picture_page(
    title: str,
    caption: str,
    picture: str,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    alts: Sequence[str],
) -> str:
    """Return a page with a table whose first column is a picture, described by `alts`. It loads nothing else."""
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in (picture, *columns))
    body = "".join(
        f'<tr><td><img src="{escape(row[picture])}" alt="{escape(alt)}"></td>'
        f"{''.join(f'<td>{escape(row[column])}</td>' for column in columns)}</tr>\n"
        for row, alt in zip(rows, alts, strict=True)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{PAGE_STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n<p>{escape(caption)}</p>\n"
        f"<div><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n</body></html>\n"
    )


def motif_logo(
    shares_4P: NDArray[np.float64],
    bits_P: NDArray[np.float64],
    contributions_4P: NDArray[np.float64],
    title: str,
) -> "Figure":
    """Draw two logos: information (0 to 2 bits), and mean contributions in log odds."""
    from matplotlib.ticker import MaxNLocator

    from dna_bigbird.core.figures.style import new_figure, style

    with style():
        width = max(2.6, 0.8 + INCHES_PER_BASE * shares_4P.shape[1])
        fig = new_figure(width, 2.5)
        bits, effects = fig.subplots(2, 1, sharex=True)
        bits.set_title(title, fontsize=8.5)
        _logo(bits, shares_4P * bits_P, "bits")
        bits.set_ylim(0, 2)
        _logo(effects, contributions_4P, "log odds")
        effects.set_xlabel("position (bp, counted from 1)")
        effects.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    return fig


def _logo(ax: "Axes", heights_4P: NDArray[np.float64], unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    from dna_bigbird.core.figures.style import draw_letters

    draw_letters(ax, _stacked(heights_4P))
    highest = np.clip(heights_4P, 0, None).sum(axis=0).max()
    lowest = np.clip(heights_4P, None, 0).sum(axis=0).min()
    room = 0.04 * (highest - lowest) or 1.0
    ax.set_ylim(lowest - room, highest + room)
    ax.set_xlim(0.4, heights_4P.shape[1] + 0.6)
    ax.axhline(0, color="#8a9096", lw=0.6)
    ax.set_ylabel(unit, fontsize=8)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    ax.tick_params(labelsize=7)
    ax.grid(False)


def _stacked(heights_4P: NDArray[np.float64]) -> "Iterator[Letter]":
    """Yield letters: in each column the largest are farthest from zero, above and below it."""
    for position, heights_4 in enumerate(heights_4P.T, start=1):
        top = bottom = 0.0
        for base in np.argsort(np.abs(heights_4), kind="stable"):
            height = float(heights_4[base])
            if height > 0:
                yield LETTERS[base], position, top, height
                top += height
            elif height < 0:
                yield LETTERS[base], position, bottom, height
                bottom += height
