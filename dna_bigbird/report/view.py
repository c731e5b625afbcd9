"""`dna-bigbird view`."""

from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.paths import GenomeFile, HtmlOutput, InputPath
from dna_bigbird.core.results import Comparison
from dna_bigbird.core.settings import Count


@checked()
def view(
    fasta: GenomeFile,
    region: list[str],
    tracks: list[InputPath],
    output: HtmlOutput,
    *,
    names: list[str] | None = None,
    title: str = "Regions of a genome",
    margin_bp: Count = 500,
    max_bp: int = 1_000_000,
) -> Comparison:
    """Write regions of a genome with tracks as one HTML file with a genome browser, which needs no network.

    The file contains igv.js, the bases of the regions and what the tracks have there: nothing is loaded when it is
    opened, from a disk or from a server. See docs/how-to/genome-browser-page.md.

    Examples:
        dna-bigbird view --fasta hg19.fa --region chr22:19,951,001-19,951,140 --region chr22:19,949,001-19,953,000 \\
            --tracks ctcf.bw regions.bed scored.vcf.gz --output page.html

    Args:
        fasta: FASTA file to read: the genome.
        region: Region of the genome, from 1 and both ends included, as chr22:20,000,001-20,000,200. Several make a list
            to jump to.
        tracks: Tracks: those to show, from the top; bigWig (.bw, .bigwig), bedGraph, BED (.bed, .narrowPeak, .broadPeak), genes (.gtf,
            .gff, .gff3) or VCF files. A bigWig file with a value per base, as attribute writes it, is drawn as letters. A folder
            of bigWig files that predict or attribute wrote has a track per label.
        output: Result to write: the page, .html.
        names: Names of the tracks, in their order; by default those of the files, without their suffixes. Those of a
            folder come after the labels.
        title: Heading of the page.
        margin_bp: Bases on either side of every region that the page has too.
        max_bp: Most bases that the page may have: a larger one is slow to open.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.genome.fasta import Genome, find_region
    from dna_bigbird.report.browser.extents import Extents
    from dna_bigbird.report.browser.page import browser_page
    from dna_bigbird.report.browser.tracks import read_track

    file, paths = Path(output), [Path(path) for path in tracks]
    _check_options(region, paths, names)
    genome = Genome(fasta)
    regions = [find_region(genome, text) for text in region]
    extents = Extents.around(genome, regions, margin_bp)
    _check_extents(extents.spans, extents.length_bp, max_bp)
    shown = []
    for name, path in _named_files(paths, names):
        shown.append(track := read_track(path, extents, name))
        if not track.rows:
            note(f"{path}: nothing in the regions; the track is empty")
    text = browser_page(title, extents, regions, shown)
    with atomic_path(file) as out:
        out.write_text(text, encoding="utf-8")
    rows: list[dict] = [
        {"track": track.name, "file": track.file, "format": track.format, "rows": track.rows}
        for track in shown
    ]
    size = f"{file.stat().st_size / 1e6:.2f} MB"
    return Comparison(
        file, rows, [f"{file}: {extents.length_bp:,} bases, {len(rows)} tracks, {size}"]
    )


def _check_options(region: list[str], paths: list[Path], names: list[str] | None) -> None:
    if not region or not paths:
        raise InputError(f"--{'tracks' if region else 'region'}: none; expected at least one")
    if names is not None and len(names) != len(paths):
        raise InputError(
            f"--names: {len(names)} names for {len(paths)} tracks; expected one per track"
        )


def _named_files(tracks: Sequence[Path], names: Sequence[str] | None) -> list[tuple[str, Path]]:
    """Return name and file of each track; a folder is a track per label, in the order of its list of labels."""
    from dna_bigbird.report.browser.tracks import default_names

    pairs = []
    for name, path in zip(names or default_names(tracks), tracks, strict=True):
        if path.is_dir():
            pairs += [(f"{label} {name}", file) for label, file in _label_files(path)]
        else:
            pairs.append((name, path))
    return pairs


def _label_files(folder: Path) -> list[tuple[str, Path]]:
    """Return label and bigWig file of each row in the list of labels of a folder."""
    from dna_bigbird.prediction.writers.target import LABEL_LIST

    listing = folder / LABEL_LIST
    if not listing.is_file():
        raise InputError(
            f"--tracks {folder}: a folder without {LABEL_LIST}; expected one that predict or attribute wrote with "
            "--format bigwig. Name other files one by one"
        )
    lines = numbered_lines(listing)
    if next(lines, (1, ""))[1] != "label\tfile\n":
        raise InputError(f"{listing}:1: expected the columns label and file between a tab")
    files = []
    for number, line in lines:
        label, tab, name = line.rstrip("\n").rpartition("\t")
        if not tab or Path(name).name != name:
            raise InputError(
                f"{listing}:{number}: {shortened(line.strip())!r}; expected a label, a tab and the name of a "
                "file in this folder"
            )
        files.append((label, folder / name))
    return files


def _check_extents(chromosomes, length_bp: int, max_bp: int) -> None:
    """Raise InputError if the regions are too long, or on a chromosome whose name igv.js cannot read."""
    if length_bp > max_bp:
        raise InputError(
            f"--region: {length_bp:,} bases in all with the margins; at most --max_bp {max_bp:,} are shown. Name shorter regions"
        )
    for chrom in chromosomes:
        if ":" in chrom:
            raise InputError(
                f"--region: the name of chromosome {chrom!r} has a colon, which the browser cannot show"
            )
