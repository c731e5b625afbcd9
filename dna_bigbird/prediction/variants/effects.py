"""How alleles change the output of a model: their windows compared with that of the reference.

Every allele is brought to one form first (`genome.allele_form`), so that its score does not depend on how the file writes
it. Each strand's window is centred in its own direction: on both strands `window_bp // 2` bases are before
the centre of REF, as that strand reads them. So nothing shifts by a base if the window is even, and
the reverse-complemented genome gives the same windows. Windows may also be shifted, by the same
number of bases in the direction of each strand.

The flank before the allele is the same for every allele; the flank after it is shortened or lengthened so
that every window has the same length. Bases past the end of the chromosome are N (`Genome.fetch`).

An allele that is too long for that is scored at its two breakpoints: the window centred on each one with the allele
is compared with the one on the reference.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.allele_form import AlleleForm
from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.structural import Read
from dna_bigbird.genome.variants import Variant
from dna_bigbird.models.scaling import Scaling, sigmoid
from dna_bigbird.prediction.variants.sites import (
    BREAKPOINTS,
    AnchorWindow,
    Site,
    form_that_fits,
    longest_allele,
    trimmed_edit,
)

FRAME_ALLELES = 512
"""Alleles whose scores are returned together, so that memory stays small."""
FRAME_S = 10
"""A slow model returns its scores sooner: returned scores are not lost when the run stops."""

EFFECTS = ("diff", "log_odds", "ref", "alt")
Strands = Literal["both", "forward", "reverse"]
Effects = dict[str, NDArray[np.float32]]
"""Columns of these names, each (alleles, labels)."""
Windows = tuple[Sequence[int], list[str]]
"""Which of the scored alleles of a site, and for each shift and strand the window of the reference and theirs."""


class LogitModel(Protocol):
    """Computes logits; `Predictor` does."""

    label_names: list[str]

    def logits(self, groups: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float64]]:
        """Yield logits (sequences, labels) for each group of sequences, each read on one strand."""
        ...


@checked()
def site_effects(
    scorer: LogitModel,
    genome: Genome,
    sites: Iterable[Site],
    *,
    window_bp: int,
    strand: Strands = "both",
    shifts: Sequence[int] = (0,),
    within: Interval | None = None,
) -> Iterator[tuple[list[Site], Effects]]:
    """Yield chunks of sites in order, with a row for each alternative allele; NaN if not scored."""
    # For every label, strand and shift the window with the allele is compared with the reference
    # window, which all alleles of a site share. within: one window of all sites, which are then
    # substitutions in it.
    cut = window_cutter(genome, window_bp, strand, shifts, within)
    yield from compared_sites(scorer, cut, sites, strand, compare, EFFECTS)


def window_cutter(
    genome: Genome,
    window_bp: int,
    strand: str,
    shifts: Sequence[int] = (0,),
    within: Interval | None = None,
) -> "WindowCutter | OneWindow":
    """Return what cuts the windows of sites: centred on each one, or `within` one window."""
    if within:
        return OneWindow(genome.fetch(within), within.start, strand)
    return WindowCutter(genome, window_bp, strand, tuple(shifts))


def compared_sites(
    scorer: LogitModel,
    cut: Callable[[Site], list[Windows]],
    sites: Iterable[Site],
    strand: str,
    compare: Callable[..., NDArray[np.float32]],
    columns: Sequence[str],
) -> Iterator[tuple[list[Site], Effects]]:
    """Yield chunks of sites with what `compare` makes of the logits of their windows."""
    higher_of = 2 if getattr(scorer, "is_directional", False) and strand == "both" else 1
    correction = getattr(scorer, "correction", None)
    compared = with_effects(
        scorer.logits,
        cut,
        sites,
        lambda logits: compare(logits, higher_of=higher_of, correction=correction),
    )
    yield from framed(compared, columns, len(scorer.label_names))


def framed(
    compared: Iterable[tuple[Site, NDArray[np.float32] | None]],
    columns: Sequence[str],
    num_labels: int,
) -> Iterator[tuple[list[Site], Effects]]:
    """Yield chunks of sites with effects (alleles, labels) by column; NaN if not scored."""
    frame: list[Site] = []
    rows: list[NDArray[np.float32]] = []
    num_rows, started_at = 0, time.monotonic()
    for site, scored in compared:
        shape = (len(columns), len(site.variant.alts), num_labels)
        effects = np.full(shape, np.nan, dtype=np.float32)
        if scored is not None:
            effects[:, site.scored] = scored
        frame.append(site)
        rows.append(effects)
        num_rows += max(1, len(site.variant.alts))
        if num_rows >= FRAME_ALLELES or time.monotonic() - started_at > FRAME_S:
            yield frame, _by_column(rows, columns)
            frame, rows, num_rows, started_at = [], [], 0, time.monotonic()
    if frame:
        yield frame, _by_column(rows, columns)


class Correction(NamedTuple):
    """From the labels that a model reads to the chosen ones: the scaling of its bundles, if any."""

    scaling: Scaling | None
    chosen: list[int]
    """Numbers of the chosen labels among those that are read: of classes with a temperature all are read."""

    def probabilities(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return corrected probabilities of chosen labels."""
        return self.scaling.probabilities(values)[..., self.chosen] if self.scaling else values


def compare(
    logits: NDArray[np.float64], *, higher_of: int = 1, correction: Correction | None = None
) -> NDArray[np.float32]:
    """Return (4, alleles, labels), means over strands and shifts, from (both, 1 + alleles, labels).

    Example:
        >>> compare(np.log([[[1.0], [3.0]], [[1.0], [1.0]]])).ravel().round(2).astype(str).tolist()
        ['0.12', '0.55', '0.5', '0.62']
    """
    # higher_of: neighbouring strands of which each allele has the higher logit, as in `predict`
    # with a directional model: a variant that ends or begins a promoter on either strand counts.
    # Probabilities are corrected as those of `predict`: after the mean over strands. Log odds are the model's own:
    # the slope of each label would only change which label of a variant has the largest effect.
    logits = logits.reshape(-1, higher_of, *logits.shape[1:]).max(axis=1)
    probabilities = sigmoid(logits).mean(axis=0)
    change = (logits[:, 1:] - logits[:, :1]).mean(axis=0)
    if correction:
        probabilities = correction.probabilities(probabilities)
        change = change[:, correction.chosen]
    ref, alt = probabilities[:1], probabilities[1:]
    return np.stack([alt - ref, change, np.broadcast_to(ref, alt.shape), alt]).astype(np.float32)


def _by_column(rows: list[NDArray[np.float32]], columns: Sequence[str]) -> Effects:
    return dict(zip(columns, np.concatenate(rows, axis=1), strict=True))


@dataclass(frozen=True)
class WindowCutter:
    """Cuts the windows of a site; alleles that change the same bases share those of the reference.

    Of an allele that is too long for one window there are two, of its breakpoints.
    """

    genome: Genome
    window_bp: int
    strand: str
    """Unused for sites in the window of an anchor, which has a strand."""
    shifts: tuple[int, ...] = (0,)

    def __call__(self, site: Site) -> list[Windows]:
        """Return the windows of alleles that change the same bases, all shifts and strands one after another."""
        longest = longest_allele(self.window_bp - 2 * max(map(abs, self.shifts)))
        together: dict[Interval, list[tuple[int, AlleleForm]]] = {}
        parts: list[Windows] = []
        for number, i in enumerate(site.scored):
            is_end = site.part in BREAKPOINTS
            form = None if is_end else form_that_fits(self.genome, site.variant, i, longest)
            if form:
                together.setdefault(form.interval, []).append((number, form))
            else:
                pairs = zip(BREAKPOINTS, self._at_breakpoints(site.variant, i), strict=True)
                parts += [([number], x) for end, x in pairs if not is_end or end == site.part]
        for forms in together.values():
            windows = self._windows([form for _, form in forms], site.window)
            parts.append(([number for number, _ in forms], windows))
        return parts

    def _at_breakpoints(self, variant: Variant, number: int) -> Iterator[list[str]]:
        """Yield the windows of the left and of the right breakpoint: the reference, then the allele."""
        edit = trimmed_edit(self.genome, variant, number)
        for both in edit.breakpoints(self.genome):
            sides = [*zip(edit.readers(self.genome), both, strict=True)]
            windows: list[str] = []
            for shift in self.shifts:
                pairs = [windows_around(*x, self.window_bp, shift) for x in sides]
                forward, reverse = map(list, zip(*pairs, strict=True))
                windows += of_strands(forward, reverse, self.strand)
            yield windows

    def _windows(self, forms: Sequence[AlleleForm], anchored: AnchorWindow | None) -> list[str]:
        alleles = [forms[0].ref, *(form.alt for form in forms)]
        if anchored:
            return anchored_windows(self.genome, forms[0].interval, alleles, anchored)
        windows: list[str] = []
        for shift in self.shifts:
            forward, reverse = allele_windows(
                self.genome, forms[0].interval, alleles, self.window_bp, shift
            )
            windows += of_strands(forward, reverse, self.strand)
        return windows


@dataclass(frozen=True)
class OneWindow:
    """Puts substitutions into one window: on each strand the reference, then each scored allele.

    Example:
        >>> from dna_bigbird.genome.variants import Variant
        >>> site = Site(Variant("chr1", 12, ".", "C", ("G", "T"), line=0), (0, 1))
        >>> OneWindow("ACA", 10, "both")(site)
        [(range(0, 2), ['ACA', 'AGA', 'ATA', 'TGT', 'TCT', 'TAT'])]
    """

    bases: str
    start: int
    """0-based position of the first base."""
    strand: str

    def __call__(self, site: Site) -> list[Windows]:
        """Return the windows of all alleles, both strands one after another."""
        variant = site.variant
        first, end = variant.interval.start - self.start, variant.interval.end - self.start
        alleles = [variant.ref, *(variant.alts[i] for i in site.scored)]
        forward = [self.bases[:first] + allele + self.bases[end:] for allele in alleles]
        reverse = [reverse_complement(window) for window in forward]
        return [(range(len(site.scored)), of_strands(forward, reverse, self.strand))]


def of_strands(forward: list[str], reverse: list[str], strand: str) -> list[str]:
    """Return the windows that are read."""
    return {"both": forward + reverse, "forward": forward, "reverse": reverse}[strand]


def with_effects(
    compute: Callable[[Iterable[list[str]]], Iterator[NDArray[np.float64]]],
    cut: Callable[[Site], list[Windows]],
    sites: Iterable[Site],
    compare: Callable[[NDArray[np.float64]], NDArray[np.float32]],
) -> Iterator[tuple[Site, NDArray[np.float32] | None]]:
    """Yield every site with effects (columns, alleles, labels) of its scored alleles, or None."""
    waiting: deque[tuple[Site, list[Sequence[int]]]] = deque()

    def groups() -> Iterator[list[str]]:
        for site in sites:
            parts = cut(site) if site.scored else []
            waiting.append((site, [alleles for alleles, _ in parts]))
            for _, windows in parts:
                yield windows

    effects: list[NDArray[np.float32]] = []
    for values in compute(groups()):
        while not waiting[0][1]:
            yield waiting.popleft()[0], None
        site, parts = waiting[0]
        alleles = len(parts[len(effects)])
        effects.append(compare(values.reshape(-1, 1 + alleles, values.shape[-1])))
        if len(effects) == len(parts):
            yield site, _of_alleles(np.concatenate(effects, axis=1), np.concatenate(parts))
            waiting.popleft()
            effects = []
    while waiting:
        yield waiting.popleft()[0], None


def _of_alleles(effects: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return (columns, alleles, labels) in the order of the alleles; of two breakpoints the larger effect."""
    size = np.nan_to_num(np.abs(effects[:2][-1]), nan=-1)
    labels = np.arange(effects.shape[-1])
    rows = []
    for number in np.unique(numbers):
        here = np.flatnonzero(numbers == number)
        rows.append(effects[:, here[size[here].argmax(axis=0)], labels])
    return np.stack(rows, axis=1)


def shifts_of(number: int, step_bp: int) -> tuple[int, ...]:
    """Return so many shifts of the window: none, then one step to both sides, then two.

    Example:
        >>> shifts_of(1, 16), shifts_of(5, 16)
        ((0,), (0, 16, -16, 32, -32))
    """
    return tuple((i + 1) // 2 * step_bp * (1 if i % 2 else -1) for i in range(number))


def choose_window(window: int | None, model_bp: int, genome: Genome) -> int:
    """Return the window in bp: the one asked for, or that of the model."""
    if window is None:
        return model_bp
    longest = max(*genome.lengths.values(), model_bp)
    if not 2 <= window <= longest:
        raise InputError(f"--window {window}: expected from 2 to {longest} base pairs")
    return window


def allele_windows(
    genome: Genome, site: Interval, alleles: Sequence[str], window_bp: int, shift: int = 0
) -> tuple[list[str], list[str]]:
    """Return a window per allele as the forward strand reads it, and as the reverse strand does.

    Example:
        >>> import os, tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(os.fsdecode(folder.name)) / "toy.fa"
        >>> _ = path.write_text(">chr1\\nAACCGGTTAC\\n")
        >>> allele_windows(Genome(path), Interval("chr1", 4, 5), ["G", "T", "GA"], window_bp=4)
        (['CCGG', 'CCTG', 'CCGA'], ['ACCG', 'ACAG', 'ACTC'])
        >>> folder.cleanup()
    """
    # alleles: over A C G T N on the forward strand, REF for its own window. shift: so many more
    # bases are before the site and fewer after it, each in the direction of its strand.
    before = window_bp // 2 - site.length // 2 + shift
    flank = max(before, window_bp - before - min(len(a) for a in alleles))
    bases = genome.fetch(Interval(site.chrom, site.start - flank, site.end + flank))
    left, right = bases[:flank], bases[flank + site.length :]
    return flanked_windows(left, right, [*map(normalise, alleles)], window_bp, before, before)


def flanked_windows(
    left: str, right: str, alleles: Sequence[str], window_bp: int, before: int, after: int
) -> tuple[list[str], list[str]]:
    """Return a window per allele between two flanks, `before` bases before it on one strand, `after` on the other."""
    forward = [(left[len(left) - before :] + x + right)[:window_bp] for x in alleles]
    reverse = [reverse_complement((left + x + right[:after])[-window_bp:]) for x in alleles]
    return forward, reverse


def windows_around(
    read: Read, bases: tuple[int, int], window_bp: int, shift: int = 0
) -> tuple[str, str]:
    """Return the window centred on some bases, or between two, as the forward strand reads it, and as the reverse strand does.

    Example:
        >>> windows_around(lambda start, end: "AACCGGTTAC"[start:end], (4, 4), 4)
        ('CCGG', 'CCGG')
        >>> windows_around(lambda start, end: "AACCGGTTAC"[start:end], (4, 5), 4)
        ('CCGG', 'ACCG')
    """
    start, end = bases
    before = window_bp // 2 - (end - start) // 2 + shift
    reverse = reverse_complement(read(end + before - window_bp, end + before))
    return read(start - before, start - before + window_bp), reverse


def anchored_windows(
    genome: Genome, site: Interval, alleles: Sequence[str], anchored: AnchorWindow
) -> list[str]:
    """Return a window per allele with the anchor at its base, as the strand of the anchor reads it.

    Example:
        >>> import os, tempfile, pathlib
        >>> path = pathlib.Path(os.fsdecode(tempfile.mkdtemp())) / "toy.fa"
        >>> _ = path.write_text(">chr1\\nAACCGGTTAC\\n")
        >>> window = AnchorWindow(Interval("chr1", 2, 8, "+"), anchor=6, name="start")
        >>> anchored_windows(Genome(path), Interval("chr1", 4, 5), ["G", "T", "GA", ""], window)
        ['CCGGTT', 'CCTGTT', 'CGAGTT', 'ACCGTT']
    """
    # Of an insertion or deletion the side with the anchor stays, or of one at the anchor the side before it; the
    # other side gets more or fewer bases at the end of the window.
    window, length = anchored.interval, anchored.interval.length
    is_reverse = window.strand == "-"
    keeps_right = site.end <= anchored.anchor or (is_reverse and site.start <= anchored.anchor)
    bases = genome.fetch(Interval(site.chrom, site.start - length, site.end + length))
    left, right = bases[:length], bases[length + site.length :]
    if keeps_right:
        right = right[: window.end - site.end]
        windows = [(left + allele + right)[-length:] for allele in map(normalise, alleles)]
    else:
        left = left[length - (site.start - window.start) :]
        windows = [(left + allele + right)[:length] for allele in map(normalise, alleles)]
    return [reverse_complement(x) for x in windows] if is_reverse else windows
