"""DART-Eval tasks 1 and 2 (Patel et al. 2024), rebuilt from any BED file and any motif file.

Task 1: is a regulatory element more probable than itself with its dinucleotides shuffled? As there, a window
of 350 bp is centred on the element, and only the element is shuffled in it. Task 2: is a motif more probable
than the same letters in another order, in the middle of the same neutral sequence? As there, the site is the
most frequent base of each column. The repository of the authors (kundajelab/DART-Eval: paired_control/components.py,
single/dataset_generators/) was read for this. Different here: any elements instead of the ENCODE cCREs of the
test chromosomes, fewer of them and none that overlap, no turning of half of the windows, ties that count one half (0 and 1
there), and a shuffled motif drawn for each background. How the authors shuffle a motif was not confirmed.
"""

import bisect
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes, TaskGenome
from dna_bigbird.bench.suites.suite import PairRow, PairRows, Suite, Task
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.bed import BedRow, read_bed
from dna_bigbird.genome.dinucleotide_shuffle import shuffle_dinucleotides
from dna_bigbird.genome.motif_files import MotifMatrix, read_motifs

NAME = "dart-eval"
ELEMENTS = ("regulatory.bed", "regulatory.bed.gz")
MOTIFS = ("motifs.jaspar", "motifs.meme")
REGULATORY, MOTIF = "regulatory-elements", "motifs"
WINDOW_BP = 350
MOST_ELEMENTS = 1000
"""Elements of a larger file are a random sample of so many; the same for equal files."""
BACKGROUNDS = 20
"""Neutral sequences that each motif is put into."""
SHORTEST_BP = 20
"""Shorter elements have too few other orders."""
TRIES = 100
"""Orders of a motif's letters that are drawn at most."""


def tasks(folder: Path) -> list[Task]:
    """Return task 1, and task 2 if there are motifs."""
    _file(folder, ELEMENTS)
    about = "Does a regulatory element score higher than itself with its dinucleotides shuffled?"
    listed = [Task(REGULATORY, "accuracy", about, protocol="pairs")]
    if any((folder / name).is_file() for name in MOTIFS):
        about = "Does a motif score higher than its letters in another order, in neutral sequence?"
        listed.append(Task(MOTIF, "accuracy", about, protocol="pairs"))
    return listed


def read(folder: Path, task: Task, genomes: Genomes) -> PairRows:
    """Build the pairs of a task; equal files and genomes give equal pairs."""
    path = _file(folder, ELEMENTS)
    target = _only_genome(genomes, path)
    counts: Counter[str] = Counter()
    windows = _windows(path, target, counts)
    if task.name == REGULATORY:
        rows = [row for window, element in windows if (row := _shuffled(window, element, counts))]
        return PairRows(rows, target.assembly, dict(counts))
    backgrounds = [
        shuffle_dinucleotides(window.sequence, _rng(window.name))
        for window, _ in windows[:BACKGROUNDS]
    ]
    rows = []
    for motif in read_motifs(_file(folder, MOTIFS)):
        rows += _embedded(motif, backgrounds, counts)
    return PairRows(rows, counts=dict(counts))


def _file(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"{folder}: no {names[0]} in it; expected {' or '.join(names)}")


def _only_genome(genomes: Genomes, path: Path) -> TaskGenome:
    if len(genomes.fastas) != 1:
        raise InputError(
            f"{path}: --genome has {len(genomes.fastas)} assemblies; expected one, that of this file: "
            "--genome GRCh38=hg38.fa"
        )
    if genomes.chain is not None:
        raise InputError(
            f"{path}: --chain is not used here; give the file on the coordinates of --genome"
        )
    return genomes.open(next(iter(genomes.fastas)))


def _windows(path: Path, target: TaskGenome, counts: Counter[str]) -> list[tuple[PairRow, slice]]:
    """Return windows of the elements without a changed form, and where the element is in each."""
    elements = read_bed(path)
    counts["rows_read"] = len(elements)
    order = np.random.default_rng(len(elements)).permutation(len(elements)).tolist()
    windows: list[tuple[PairRow, slice]] = []
    starts: dict[str, list[int]] = {}
    for number, i in enumerate(order):
        if len(windows) == MOST_ELEMENTS:
            counts["left_out_beyond_the_sample"] = len(order) - number
            break
        window = _window(elements[i], path, target)
        if isinstance(window, str):
            counts[f"left_out_{window}"] += 1
        elif _is_apart(window[0].interval, starts):
            windows.append(window)
        else:
            counts["left_out_overlapping"] += 1
    return windows


def _is_apart(interval: Interval, starts: dict[str, list[int]]) -> bool:
    """Return True, and keep the window's start, if no kept window shares a base with it."""
    # Peaks of several cells are often one sequence, which would score by the counts of another.
    kept = starts.setdefault(interval.chrom, [])
    position = bisect.bisect(kept, interval.start)
    if any(
        abs(start - interval.start) < WINDOW_BP
        for start in kept[max(0, position - 1) : position + 1]
    ):
        return False
    kept.insert(position, interval.start)
    return True


def _window(element: BedRow, path: Path, target: TaskGenome) -> tuple[PairRow, slice] | str:
    """Return the window of an element and the element in it, or why it is left out."""
    strand = "-" if element.interval.strand == "-" else "+"
    located = target.locate(
        replace(element.interval, strand=strand), f"{path}:{element.line_number}"
    )
    if isinstance(located, str):
        return located
    start = (located.start + located.end) // 2 - WINDOW_BP // 2
    interval = Interval(located.chrom, start, start + WINDOW_BP, strand)
    if start < 0 or interval.end > target.genome.lengths[located.chrom]:
        return "at_the_end_of_a_chromosome"
    bases = target.genome.fetch(interval)
    if "N" in bases:
        return "unknown_bases"
    low, high = max(located.start, start) - start, min(located.end, interval.end) - start
    if high - low < SHORTEST_BP:
        return "short_element"
    inside = slice(low, high) if strand == "+" else slice(WINDOW_BP - high, WINDOW_BP - low)
    name = f"{located.chrom}:{start + 1}-{interval.end}"
    return PairRow(name, bases, "", interval=interval), inside


def _shuffled(window: PairRow, element: slice, counts: Counter[str]) -> PairRow | None:
    bases = window.sequence
    shuffled = shuffle_dinucleotides(bases[element], _rng(window.name))
    changed = bases[: element.start] + shuffled + bases[element.stop :]
    if changed == bases:
        counts["left_out_unchanged"] += 1
        return None
    return replace(window, changed=changed)


def _embedded(motif: MotifMatrix, backgrounds: list[str], counts: Counter[str]) -> list[PairRow]:
    """Return a pair per background: the consensus in its middle, and its letters reordered."""
    counts["motifs_read"] += 1
    site = motif.consensus
    rows = []
    for number, background in enumerate(backgrounds):
        other = other_order(site, _rng(f"{motif.identifier} {number}"))
        if other is None or motif.width > WINDOW_BP:
            counts["motifs_left_out_without_another_order"] += 1
            return []
        with_site, with_other = (_insert(background, bases) for bases in (site, other))
        rows.append(PairRow(f"background_{number + 1}", with_site, with_other, group=motif.label))
    return rows


def _insert(background: str, site: str) -> str:
    start = len(background) // 2 - len(site) // 2
    return background[:start] + site + background[start + len(site) :]


def other_order(site: str, rng: np.random.Generator) -> str | None:
    """Return a random order of letters that no strand of the site has; None as for AAAA."""
    for _ in range(TRIES):
        shuffled = "".join(site[i] for i in rng.permutation(len(site)).tolist())
        if shuffled not in (site, reverse_complement(site)):
            return shuffled
    return None


def _rng(text: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(text.encode()))


SUITE = Suite(
    name=NAME,
    title="DART-Eval, tasks 1 and 2",
    about="regulatory elements against their shuffled forms, and motifs in neutral sequence; rebuilt",
    where="any BED file and motifs; the authors take ENCODE cCREs and HOCOMOCO v12 (Synapse project syn59522070)",
    licence="as the files",
    layout=(
        "regulatory.bed[.gz] (from 0, half-open; strand in column 6 or none); motifs.jaspar or motifs.meme for "
        "task 2; sequences from --genome, one assembly"
    ),
    source="Patel et al. 2024, NeurIPS, arXiv:2412.05430",
    tasks=tasks,
    read=read,
    faults=(
        "Rebuilt from other data: scores are not those of the paper. A shuffled element loses its repeats and CpG "
        "islands of more than two bases, so n-grams already rank most pairs right; read the score next to theirs."
    ),
)
