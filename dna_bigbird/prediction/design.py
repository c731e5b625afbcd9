"""`dna-bigbird design`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from dna_bigbird.bundles.choice import choose_labels, load_models, notes_on
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.model_options import AveragedModels
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.limits import check_memory
from dna_bigbird.core.paths import GenomeFile, InputFile, OutputPath
from dna_bigbird.core.progress import progress_bar, shows_progress
from dna_bigbird.core.result_folders import DESIGNS, atomic_directory
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import NotNegative, Positive, Range, Seed, Share
from dna_bigbird.core.shared_options import Names, Progress, WindowStrands
from dna_bigbird.core.tables import Table
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.fasta_stream import dna_of, read_fasta
from dna_bigbird.genome.record_names import SeenNames
from dna_bigbird.prediction.compute import Compute, ComputeOptions, exact
from dna_bigbird.prediction.design_search import (
    LETTERS,
    Goal,
    KmerContent,
    Limits,
    Score,
    Steps,
    check_pattern,
    search,
)
from dna_bigbird.prediction.marginalise import draw_windows, log_odds
from dna_bigbird.prediction.motifs import picture_page
from dna_bigbird.prediction.mutagenesis import MOST_BP
from dna_bigbird.prediction.windows.tiling import short_window_notes
from dna_bigbird.prediction.writers.target import file_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# P positions; 4 bases in the order of LETTERS

MOST_DRAWS = 1000
"""Random sequences drawn for each start before the limits count as too narrow."""
MOST_K = 6
"""Longest k-mer that is counted, and shortest sequence."""
REAL_WINDOWS = 500
"""Windows whose k-mers are the real content."""
REAL_SHARE = 0.95
"""Share of the real windows that keeps the default limit."""
MARGIN_BP = 20
"""Bases drawn on either side of the edits."""
LETTERS_FOLDER = "letters"


@dataclass(frozen=True)
class Designs(Rows):
    """Designed sequences and their traces."""

    output: Path
    label: str
    starts: dict[str, str]
    """Sequences by name, as they were."""
    sequences: dict[str, str]
    """As designed."""
    rows: list[dict]
    """Rows of trace.tsv."""

    def summary(self) -> str:
        first, last = (
            np.mean([row[f"{self.label}_log_odds"] for row in rows])
            for rows in zip(*self.ends(), strict=True)
        )
        count = f"{len(self.sequences)} sequence{'s' * (len(self.sequences) != 1)}"
        return f"{self.output}: {count}; {self.label}, mean log odds: {first:.2f} before, {last:.2f} after"

    def ends(self) -> list[tuple[dict, dict]]:
        """Return the first and last row of each sequence."""
        by_name: dict[str, list[dict]] = {}
        for row in self.rows:
            by_name.setdefault(row["sequence"], []).append(row)
        return [(rows[0], rows[-1]) for rows in by_name.values()]


@checked(rest=Compute)
@shows_progress
def design(
    label: str,
    output: Annotated[OutputPath, DESIGNS],
    *,
    start: InputFile | None = None,
    random: Positive | None = None,
    length: Annotated[int, Range(MOST_K, most=MOST_BP)] | None = None,
    random_gc: Share = 0.5,
    model: AveragedModels = None,
    edits: Positive = 10,
    beam: Positive = 1,
    fixed: list[str] | None = None,
    unchanged: Names = None,
    unchanged_weight: NotNegative = 1.0,
    tolerance: NotNegative | None = None,
    min_gc: Share = 0.0,
    max_gc: Share = 1.0,
    forbidden: list[str] | None = None,
    kmers_of: GenomeFile | None = None,
    kmer_bp: Annotated[int, Range(1, most=MOST_K)] = 4,
    max_kmer_distance: Share | None = None,
    strand: WindowStrands = None,
    seed: Seed = 0,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> Designs:
    """Substitute bases of sequences, one after the other, so that a model's log odds of a label rise most.

    Every sequence is one window, read whole. At each step all substitutions are scored, and the best one, or the best
    of --beam, is kept; the result is the best sequence met, with at most --edits substitutions. Limits hold at every
    step; a sequence that begins outside of a limit may only come nearer to it. See docs/how-to/design.md.

    Examples:
        dna-bigbird design --model results/models/chromatin --label CTCF --random 10 --edits 15 --output designed
        dna-bigbird design --model results/models/chromatin --label JUN --start enhancer.fa --fixed 1-450,551-1000 \\
            --beam 4 --unchanged 'DNase*,CTCF' --tolerance 0.5 --forbidden GAATTC --output designed

    Args:
        label: Label to raise: its name in the model.
        output: Result to write: a folder with the sequences before and after (start.fa, designed.fa), every step
            (trace.tsv), a picture per sequence (letters/) and a page (index.html).
        start: Sequences to start from: a FASTA file.
        random: Number of random sequences to start from, in place of --start.
        length: Bases of a random sequence. Default: the window of the model.
        random_gc: Share of G and C among the bases that are drawn.
        edits: Most substitutions of a sequence; a base is changed once.
        beam: Sequences kept at each step: 1 is a greedy search.
        fixed: Positions that stay as they are: from 1, both ends included, as 1-400 or 512.
        unchanged: Labels to leave as they are: names or shell patterns; that to raise is left out of them.
        unchanged_weight: Log odds of the label that a mean change of 1 in the log odds of the unchanged ones costs.
        tolerance: Largest change in the log odds of any unchanged label, from the start on.
        min_gc: Smallest share of G and C.
        max_gc: Largest share of G and C.
        forbidden: Motifs that must not occur on either strand: bases or IUPAC codes, as GAATTC or RGATCY.
        kmers_of: Real DNA: a FASTA file, of which random windows as long as the sequence give the k-mer content.
        kmer_bp: Bases of these k-mers; one and its reverse complement count together.
        max_kmer_distance: Largest Jensen-Shannon distance from that content, from 0 to 1. Default: 95 percent of the
            real windows have at most this.
        seed: Seed of the random numbers: of random sequences and real windows.
        compute: Fields of `Compute`: speed and memory.

    Raises:
        InputError: If an option contradicts another one or the model, a sequence, position or motif is wrong, no random
            sequence keeps the limits, or the model predicts numbers.
    """
    if (start is None) == (random is None):
        raise InputError("--start or --random: expected one of them, sequences to start from")
    if min_gc > max_gc:
        raise InputError(f"--min_gc {min_gc:g} is above --max_gc {max_gc:g}")
    if tolerance is not None and unchanged is None:
        raise InputError(
            f"--tolerance {tolerance:g}: of labels that --unchanged names; none was given"
        )
    if max_kmer_distance is not None and kmers_of is None:
        raise InputError(
            f"--max_kmer_distance {max_kmer_distance:g}: from a FASTA file; name it with --kmers_of"
        )
    if length is not None and random is None:
        raise InputError(f"--length {length}: of random sequences; give their number with --random")
    motifs, spans = [check_pattern(x) for x in forbidden or []], [_span(x) for x in fixed or []]
    starts = {} if start is None else read_starts(start)
    bundles = load_models(model)
    from dna_bigbird.prediction.predictor import Predictor  # imports torch: seconds

    predictor = Predictor(
        bundles,
        compute=exact(Compute(**compute)),
        strand=strand or bundles[0].config.default_strand,
        raw=True,
    )
    predictor.check_probabilities("a change of log odds")
    config, rng = bundles[0].config, np.random.default_rng(seed)
    goal = choose_goal(config, label, unchanged, unchanged_weight, tolerance)
    limits = Limits(min_gc, max_gc, motifs)
    if random is not None:
        starts = draw_starts(random, length or config.window_bp or 0, random_gc, limits, rng)
    longest = max(map(len, starts.values()))
    check_memory(f"--beam {beam}", 3 * beam * longest * (longest + 100))
    free = {name: free_positions(name, text, spans, edits, config) for name, text in starts.items()}
    windows = dict.fromkeys(map(len, starts.values()), limits)
    if kmers_of is not None:
        genome = Genome(kmers_of)
        for size in windows:
            real = list(draw_windows(genome, REAL_WINDOWS, size, rng))
            content = KmerContent.of(real, kmer_bp, max_kmer_distance, REAL_SHARE)
            windows[size] = replace(limits, content=content)

    def score(texts: list[str]) -> np.ndarray:
        return log_odds(predictor, texts)

    paths: dict[str, Steps] = {}
    with progress_bar(total=len(starts) * edits, desc="design", unit=" edits") as bar:
        for name, text in starts.items():
            own = windows[len(text)]
            paths[name] = search(
                score, text, free[name], edits, goal=goal, limits=own, beam=beam, done=bar.update
            )
    rows = trace_rows(paths, config.label_names)
    result = Designs(
        Path(output),
        config.label_names[goal.label],
        starts,
        {name: path[-1].text for name, path in paths.items()},
        rows,
    )
    with atomic_directory(Path(output), DESIGNS) as folder:
        write_files(folder, result, paths, score, goal.label)
    outside = sum(any(windows[len(x[0].text)].excess(x[-1].measures)) for x in paths.values())
    notes = [
        *notes_on(model),
        *predictor.notes(),
        *short_window_notes(longest, config.window_bp or 0),
    ]
    if outside:
        notes.append(
            f"{outside} of {len(paths)} designed sequences are outside of a limit, as their starts were"
        )
    for line in notes:
        note(line)
    return result


def _span(text: str) -> range:
    """Return the 0-based positions of '1-400' or '512'."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise InputError(f"--fixed {text!r}: expected positions from 1, as 1-400 or 512")
    return range(first - 1, last)


def choose_goal(
    config: BundleConfig,
    label: str,
    unchanged: Sequence[str] | str | None,
    weight: float,
    tolerance: float | None,
) -> Goal:
    """Return the objective; InputError if a name matches no label, or that to raise several."""
    columns = choose_labels(config.label_names, [label])
    if len(columns) > 1:
        raise InputError(f"--label {label!r}: expected one label; this names {len(columns)}")
    others = [] if unchanged is None else choose_labels(config.label_names, unchanged)
    return Goal(columns[0], [i for i in others if i != columns[0]], weight, tolerance)


def read_starts(path: Path | str) -> dict[str, str]:
    """Return the sequences of a FASTA file by name."""
    seen, starts = SeenNames(str(path)), {}
    for record in read_fasta(path):
        seen.add(record.name, record.line)
        where = f"{path}:{record.line}: record {shortened(record.name)!r}"
        if not MOST_K <= len(record.letters) <= MOST_BP:
            raise InputError(
                f"{where}: {len(record.letters):,} bases; expected from {MOST_K} to {MOST_BP:,}"
            )
        starts[record.name] = dna_of(record, path)
    seen.finish()
    if not starts:
        raise InputError(f"{path}: no records; expected sequences to start from")
    return starts


def draw_starts(
    count: int, length: int, gc: float, limits: Limits, rng: np.random.Generator
) -> dict[str, str]:
    """Return random sequences that keep the limits."""
    if not length:
        raise InputError("--random: the model has no window; give the bases with --length")
    shares = [(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2]
    starts = {}
    for number in range(1, count + 1):
        for _ in range(MOST_DRAWS):
            text = "".join(rng.choice(list(LETTERS), length, p=shares))
            if not any(limits.excess(limits.measures(text))):
                starts[f"random_{number}"] = text
                break
        else:
            raise InputError(
                f"--random_gc {gc:g}: none of {MOST_DRAWS:,} sequences of {length:,} bases keeps --min_gc, --max_gc and "
                "--forbidden; choose wider limits"
            )
    return starts


def free_positions(
    name: str, text: str, fixed: Sequence[range], edits: int, config: BundleConfig
) -> list[int]:
    """Return the 0-based positions that may change: those of known bases that are not fixed."""
    where = f"sequence {shortened(name)!r} has {len(text):,} bases"
    if config.is_aligned and len(text) != config.window_bp:
        raise InputError(
            f"{where}; this model was trained on windows aligned on {config.alignment}; expected "
            f"{config.window_bp:,} bases"
        )
    for span in fixed:
        if span.stop > len(text):
            raise InputError(f"--fixed {span.start + 1}-{span.stop}: {where}")
    held = set().union(*fixed)
    free = [i for i, base in enumerate(text) if base in LETTERS and i not in held]
    if len(free) < edits:
        raise InputError(f"--edits {edits}: {where}, and {len(free):,} of them may change")
    return free


def trace_rows(paths: dict[str, Steps], labels: Sequence[str]) -> list[dict]:
    """Return a row per sequence and step; step 0 is the start."""
    return [
        {
            "sequence": name, "step": number, "position": step.position + 1 if number else None,
            "ref": step.ref or None, "alt": step.alt or None, "objective": round(step.value, 4),
            **{key: round(value, 4) for key, value in step.measures.items()},
            **{f"{x}_log_odds": round(float(v), 4) for x, v in zip(labels, step.log_odds, strict=True)},
        }
        for name, path in paths.items()
        for number, step in enumerate(path)
    ]  # fmt: skip


def write_files(
    folder: Path, result: Designs, paths: dict[str, Steps], score: Score, label: int
) -> None:
    """Write all files into an empty folder."""
    from dna_bigbird.core.figures.style import save

    for file, sequences in (("start.fa", result.starts), ("designed.fa", result.sequences)):
        fasta = "".join(f">{name}\n{text}\n" for name, text in sequences.items())
        (folder / file).write_text(fasta, encoding="utf-8")
    (folder / "trace.tsv").write_text(Table(result.rows).to_tsv(), encoding="utf-8")
    (folder / LETTERS_FOLDER).mkdir()
    shown = [*next(iter(paths.values()))[0].measures, f"{result.label}_log_odds"]
    rows = []
    names = file_names(list(paths), ".png")
    for (name, path), file, (first, last) in zip(paths.items(), names, result.ends(), strict=True):
        figure = letters(name, path, score, label, result.label)
        (folder / LETTERS_FOLDER / file).write_bytes(save(figure, "png"))
        rows.append(
            {
                "letters": f"{LETTERS_FOLDER}/{file}", "sequence": name, "edits": str(len(path) - 1),
                **{key: f"{first[key]:.4g} to {last[key]:.4g}" for key in shown},
            }
        )  # fmt: skip
    caption = (
        f"Sequences in which substitutions raise the log odds of {result.label}. Letters: what every base of the "
        f"designed sequence does for {result.label}, around the edits; every step is in trace.tsv."
    )
    alts = [f"Effects of substitutions in {name}" for name in paths]
    columns = ["sequence", "edits", *shown]
    page = picture_page("Designed sequences", caption, "letters", columns, rows, alts)
    (folder / "index.html").write_text(page, encoding="utf-8")


def letters(name: str, path: Steps, score: Score, label: int, label_name: str) -> "Figure":
    """Draw the picture of `mutagenesis` around the edits of a designed sequence, which is its window."""
    from dna_bigbird.prediction.mutagenesis_figure import MOST_BASES, mutagenesis_figure

    last = path[-1]
    known = [i for i, base in enumerate(last.text) if base in LETTERS]
    edited = [step.position for step in path[1:]] or known[:1]
    first = max(min(edited) - MARGIN_BP, 0)
    bases = last.text[first : max(edited) + MARGIN_BP + 1][:MOST_BASES]
    effects_P41 = np.zeros((len(bases), 4, 1))
    effects_P41[[base not in LETTERS for base in bases]] = np.nan
    changes = [
        (p, i) for p, ref in enumerate(bases) for i in range(4) if ref not in (LETTERS[i], "N")
    ]
    texts = [last.text[: first + p] + LETTERS[i] + last.text[first + p + 1 :] for p, i in changes]
    rows, columns = zip(*changes, strict=True)
    effects_P41[rows, columns, 0] = score(texts)[:, label] - last.log_odds[label]
    return mutagenesis_figure(name, first, bases, [label_name], effects_P41, effect="log_odds")[0]
