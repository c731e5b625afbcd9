"""What `predict`, `embed`, `score_variants`, `mutagenesis` and `attribute` return."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.dataframes import DataFrame, dataframe, with_values
from dna_bigbird.core.results import Result
from dna_bigbird.prediction.result_frames import (
    AnnData,
    FirstRows,
    first_of,
    read_predictions,
    read_vectors,
    vectors_anndata,
)

LETTERS = "ACGT"
"""The bases of an axis of length 4 of `Mutagenesis`, in order."""
WINDOWS = ("sequence", "start", "end", "name")
ALLELES = ("chrom", "pos", "id", "ref", "alt")
CARRIERS = ("sample", "haplotype", "background")
EFFECTS = ("diff", "log_odds")
TRACK_EFFECTS = ("shape", "total", "largest")
HAPLOTYPE_EFFECTS = ("alone", "in_background", "together", "interaction")
"""Changes of the log odds: by the allele in the reference, by the allele in the haplotype, by all variants of the
window together, and the second minus the first."""
Pooling = Literal["mean", "cls", "max", "tokens"]
Effect = Literal["log_odds", "diff"]
SubstitutionEffect = Literal[Effect, "total", "shape", "largest"]
VectorFormat = Literal["hdf5", "npz"]


def _windows(result: "Predictions | Embeddings") -> dict[str, np.ndarray]:
    return {"sequence": result.sequence, "start": result.start, "end": result.end}


def _alleles(result: "VariantScores | ZeroShotScores | TrackScores") -> dict[str, Any]:
    columns = {name: getattr(result, name) for name in ALLELES}
    return columns | ({} if result.site is None else {"site": result.site})


@dataclass(frozen=True)
class Predictions(FirstRows):
    """Probabilities of n windows for L labels, in memory."""

    sequence: NDArray[np.str_]
    """(n,), names."""
    start: NDArray[np.int64]
    """(n,), 0-based."""
    end: NDArray[np.int64]
    """(n,), not included."""
    probabilities: NDArray[np.float32]
    """(n, L); NaN where a window has no A, C, G or T."""
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """What to know about the computation: the precision, cut windows and the like."""
    name: NDArray[np.str_] | None = None
    """(n,), names of the BED rows that the windows are from; None without a BED or without names."""

    by_row = (*WINDOWS, "probabilities")

    def __len__(self) -> int:
        return len(self.start)

    def to_dataframe(self) -> DataFrame:
        """Return a row per window, with the columns of the table: sequence, start, end, labels, name."""
        names = {} if self.name is None else {"name": self.name}
        return with_values(_windows(self), self.label_names, self.probabilities, names)


@dataclass(frozen=True)
class WrittenPredictions(Result):
    """A file of predictions."""

    output: str
    """The file or folder; '-' is standard output."""
    windows: int
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""

    def to_dataframe(self) -> DataFrame:
        """Read the table or HDF5 file, as `Predictions.to_dataframe`.

        Raises:
            InputError: If the output is a track (BED, bigWig) or standard output.
        """
        return read_predictions(self.output)


@dataclass(frozen=True)
class VectorSettings:
    """How vectors were computed."""

    model: str
    """Folder of the bundle."""
    pooling: Pooling = "mean"
    layer: int = -1
    """Number of layers that were applied."""
    strand: Literal["both", "forward"] = "both"
    """Strands that were read, as in `embed`."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Embeddings(FirstRows):
    """Vectors of n windows, in memory; coordinates are 0-based, half-open on the sequence."""

    sequence: NDArray[np.str_]
    """(n,), names."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    vectors: NDArray[np.float32]
    """(n, E), NaN where a window has no A, C, G or T; with pooling 'tokens' (T, E)."""
    offset: NDArray[np.int64] | None = None
    """(n + 1,), with 'tokens': the vectors of window i are `vectors[offset[i]:offset[i + 1]]`."""
    token_start: NDArray[np.int64] | None = None
    """(T,), with 'tokens': first base of each token."""
    token_end: NDArray[np.int64] | None = None
    """(T,), with 'tokens': end of each token, not included."""
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""
    name: NDArray[np.str_] | None = None
    """As in `Predictions`."""
    settings: VectorSettings | None = None

    by_row = (*WINDOWS, "vectors")

    def to_dataframe(self) -> DataFrame:
        """Return a row per vector: sequence, start, end, name of the window, then v0, v1, ...

        With pooling 'tokens' the rows are tokens, and token_start and token_end are their bases.
        """
        names = [f"v{i}" for i in range(self.vectors.shape[1])]
        return with_values(self._vector_rows(), names, self.vectors)

    def _vector_rows(self) -> dict[str, np.ndarray]:
        """Return the columns of the window of each vector: sequence, start, end, name, bases of a token."""
        columns = _windows(self) | ({} if self.name is None else {"name": self.name})
        if self.offset is None:
            return columns
        window = np.repeat(np.arange(len(self.start)), np.diff(self.offset))
        columns = {name: values[window] for name, values in columns.items()}
        return columns | {x: np.asarray(getattr(self, x)) for x in ("token_start", "token_end")}

    def _first_rows(self, count: int) -> tuple[DataFrame, int]:
        """Return the first vectors, with tokens those of the first windows."""
        if self.offset is None:
            return super()._first_rows(count)
        offset = self.offset[: count + 1]
        tokens = first_of(self, int(offset[-1]), ("vectors", "token_start", "token_end"))
        windows = replace(first_of(tokens, count, WINDOWS), offset=offset)
        return windows.to_dataframe().head(count), self._num_rows()

    def _num_rows(self) -> int:
        return len(self.vectors)

    def to_anndata(self) -> AnnData:
        """Return an AnnData object: vectors in X (float32), coordinates in obs, `settings` in uns.

        The rows are those of `to_dataframe`; windows without bases have NaN.

        Raises:
            MissingExtraError: Without anndata; it names the command that installs it.
        """
        return vectors_anndata(self._vector_rows(), self.vectors, self.settings)


@dataclass(frozen=True)
class WrittenVectors(Result):
    """A file of vectors."""

    output: Path
    windows: int
    hidden_size: int
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""
    settings: VectorSettings | None = None

    def to_dataframe(self) -> DataFrame:
        """Read the file, as `Embeddings.to_dataframe`."""
        return self._read().to_dataframe()

    def to_anndata(self) -> AnnData:
        """Read the file, as `Embeddings.to_anndata`."""
        return self._read().to_anndata()

    def _read(self) -> Embeddings:
        return Embeddings(**read_vectors(self.output), settings=self.settings)


@dataclass(frozen=True)
class VariantSummary(Result):
    """How many variants were read, and how many were not scored."""

    records: int
    alleles: int
    """Alternative alleles, scored or not."""
    skipped: dict[str, int]
    """Alleles without a score, by reason; a record without an alternative allele counts as one."""
    notes: list[str]
    """As in `Predictions`."""


@dataclass(frozen=True)
class Alleles(VariantSummary, FirstRows):
    """The alleles of a VCF file that have a row, as it names them."""

    chrom: list[str]
    pos: NDArray[np.int64]
    """Counted from 1, as in the file."""
    id: list[str]
    ref: list[str]
    alt: list[str]


@dataclass(frozen=True)
class VariantScores(Alleles):
    """One row per alternative allele, in the order of the file; NaN where there is no score.

    Records that do not fit the genome (`ref_mismatch="skip"`) have no row.
    """

    label_names: list[str]
    diff: NDArray[np.float32]
    """Probability of ALT minus that of REF, mean over strands, (alleles, labels)."""
    log_odds: NDArray[np.float32]
    """The same difference of the log-odds."""
    ref_probability: NDArray[np.float32]
    """Probability of REF, mean over strands."""
    alt_probability: NDArray[np.float32]
    """Probability of ALT, mean over strands."""
    site: list[str] | None = None
    """Name of the anchor whose window an allele is scored in, or span, left, right of breakpoints; None without."""

    by_row = (*ALLELES, "site", "diff", "log_odds", "ref_probability", "alt_probability")

    @checked()
    def to_dataframe(
        self, effect: Effect | None = None, *, probabilities: bool = False
    ) -> DataFrame:
        """Return a row per alternative allele: chrom, pos (from 1), id, ref, alt, scores.

        Args:
            effect: One column per label, with its name. By default the columns are those of the
                table: `<label>_diff` and `<label>_log_odds` for every label.
            probabilities: Also `<label>_ref` and `<label>_alt`; the columns of an effect then have
                its name too.
        """
        alleles = _alleles(self)
        if effect is not None and not probabilities:
            return with_values(alleles, self.label_names, getattr(self, effect))
        tables = {name: getattr(self, name) for name in ((effect,) if effect else EFFECTS)}
        if probabilities:
            tables |= {"ref": self.ref_probability, "alt": self.alt_probability}
        names = [f"{label}_{name}" for label in self.label_names for name in tables]
        values_nLS = np.stack(list(tables.values()), axis=-1)
        return with_values(alleles, names, values_nLS.reshape(len(values_nLS), len(names)))


@dataclass(frozen=True)
class ZeroShotScores(Alleles):
    """One row per alternative allele, in the order of the file; NaN where there is no score.

    Records that do not fit the genome (`ref_mismatch="skip"`) have no row.
    """

    name: str
    """Name of the score, as the column of the table: 'embedding_distance', 'likelihood_log_ratio'."""
    score: NDArray[np.float32]
    """(alleles,)"""
    site: list[str] | None = None
    """As in `VariantScores`."""

    by_row = (*ALLELES, "site", "score")

    def to_dataframe(self) -> DataFrame:
        """Return a row per alternative allele: chrom, pos (from 1), id, ref, alt, score."""
        return dataframe(_alleles(self) | {self.name: self.score})


@dataclass(frozen=True)
class HaplotypeScores(Alleles):
    """One row per alternative allele, sample and haplotype that has it, in the order of the file.

    Changes of the log odds, of tracks of the sum of the bins, means over strands, (rows, labels).
    """

    label_names: list[str]
    sample: list[str]
    haplotype: NDArray[np.int64]
    """1 or 2."""
    background: list[str]
    """Other variants of the haplotype in the window, as 'pos:REF>ALT;...'; '.' if there are none."""
    alone: NDArray[np.float32]
    """By the allele in the reference."""
    in_background: NDArray[np.float32]
    """By the allele in the haplotype."""
    together: NDArray[np.float32]
    """By all variants of the window, in the reference."""
    interaction: NDArray[np.float32]
    """`in_background` minus `alone`."""

    by_row = (*ALLELES, *CARRIERS, *HAPLOTYPE_EFFECTS)

    def to_dataframe(self) -> DataFrame:
        """Return the columns of the table: chrom, pos, id, ref, alt, sample, haplotype, background, scores."""
        columns = {name: getattr(self, name) for name in (*ALLELES, *CARRIERS)}
        return _with_effects(columns, self, HAPLOTYPE_EFFECTS)


def _with_effects(columns: dict, scores: Any, effects: tuple[str, ...]) -> DataFrame:
    names = [f"{label}_{name}" for label in scores.label_names for name in effects]
    values_nLS = np.stack([getattr(scores, name) for name in effects], axis=-1)
    return with_values(columns, names, values_nLS.reshape(len(values_nLS), len(names)))


@dataclass(frozen=True)
class TrackScores(Alleles):
    """One row per alternative allele, in the order of the file; NaN where there is no score, (alleles, tracks)."""

    label_names: list[str]
    shape: NDArray[np.float32]
    """Half of the sum of absolute differences of the two profiles, each divided by its sum: 0 to 1."""
    total: NDArray[np.float32]
    """Sum of the bins with ALT minus that with REF, in the unit of the track."""
    largest: NDArray[np.float32]
    """Change of the bin that changes most."""
    site: list[str] | None = None
    """As in `VariantScores`."""

    by_row = (*ALLELES, "site", *TRACK_EFFECTS)

    def to_dataframe(self) -> DataFrame:
        """Return the columns of the table: chrom, pos, id, ref, alt, then TRACK_shape, TRACK_total, TRACK_largest."""
        return _with_effects(_alleles(self), self, TRACK_EFFECTS)


@dataclass(frozen=True)
class Substitutions(FirstRows):
    """Effects of all substitutions in a region of P bases on L labels or tracks.

    The bases of an axis of length 4 are A, C, G, T. Effects are 0 at the reference base, NaN
    where the reference is N.
    """

    columns: ClassVar[tuple[str, ...]] = ()
    """Names of the effects, (P, 4, L) each."""
    usual: ClassVar[SubstitutionEffect]
    """The one that is written if none is chosen."""

    chrom: str
    start: int
    """0-based position of the first base."""
    reference: str
    """The bases of the region on the forward strand, (P,)."""
    label_names: list[str]

    def to_dataframe(self) -> DataFrame:
        """Return a row per substitution and label: chrom, pos (from 1), ref, alt, label, then `columns`.

        A base has three rows per label; where the genome has N it has four, without effects.
        """
        letters, labels = np.array(list(LETTERS)), np.array(self.label_names, np.str_)
        reference = np.array(list(self.reference), np.str_)
        position, base = np.nonzero(reference[:, None] != letters)
        row = np.repeat(np.arange(len(position)), len(labels))
        return dataframe(
            {
                "chrom": [self.chrom] * len(row),
                "pos": self.start + position[row] + 1,
                "ref": reference[position[row]],
                "alt": letters[base[row]],
                "label": np.tile(labels, len(position)),
                **{name: getattr(self, name)[position, base].ravel() for name in self.columns},
            }
        )

    def _num_rows(self) -> int:
        per_base = (len(LETTERS) - (base in LETTERS) for base in self.reference)
        return sum(per_base) * len(self.label_names)

    @checked()
    def effects(self, effect: SubstitutionEffect) -> NDArray[np.float64]:
        """Return one of the tables, (P, 4, L)."""
        return getattr(self, effect)


@dataclass(frozen=True)
class Mutagenesis(Substitutions):
    """Effects of all substitutions in a region on labels; see `Substitutions`."""

    columns = EFFECTS
    usual = "log_odds"
    by_row = ("reference", *EFFECTS)

    diff: NDArray[np.float64]
    """Probability with the substitution minus that of the reference, (P, 4, L)."""
    log_odds: NDArray[np.float64]
    """The same difference of the log-odds."""
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""


@dataclass(frozen=True)
class TrackMutagenesis(Substitutions):
    """Effects of all substitutions in a region on tracks; see `Substitutions`."""

    columns = TRACK_EFFECTS
    usual = "total"
    by_row = ("reference", *TRACK_EFFECTS)

    shape: NDArray[np.float64]
    """(P, 4, L), as in `TrackScores`."""
    total: NDArray[np.float64]
    largest: NDArray[np.float64]
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""


@dataclass(frozen=True)
class Attributions(FirstRows):
    """Effects of the W bases of n windows on the log odds of L labels, in memory.

    Effects are NaN beyond the end of a window that is shorter than the others, and where a window has no A, C, G or T.
    """

    sequence: NDArray[np.str_]
    """(n,), names."""
    start: NDArray[np.int64]
    """(n,), 0-based."""
    end: NDArray[np.int64]
    """(n,), not included."""
    bases: NDArray[np.uint8]
    """(n, W) on the forward strand: 0 to 3 are A C G T, 4 is N, 5 is beyond the end."""
    effects: NDArray[np.float32]
    """(n, W, L) of the bases as they are."""
    difference: NDArray[np.float32]
    """(n, L): log odds of the window minus those of the reference. With method 'integrated' the effects add up to it."""
    label_names: list[str]
    of_bases: NDArray[np.float32] | None = None
    """(n, W, 4, L) of A, C, G and T in place of the base ("hypothetical"); None if tokens are longer than a base."""
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""
    name: NDArray[np.str_] | None = None
    """As in `Predictions`."""

    by_row = (*WINDOWS, "bases", "effects")

    def __len__(self) -> int:
        return len(self.start)

    def to_dataframe(self) -> DataFrame:
        """Return a row per base of each window: sequence, pos (from 1), base, a column per label."""
        window, offset = np.nonzero(self.bases <= len(LETTERS))
        columns = {
            "sequence": self.sequence[window],
            "pos": self.start[window] + offset + 1,
            "base": np.array([*LETTERS, "N"])[self.bases[window, offset]],
        }
        return with_values(columns, self.label_names, self.effects[window, offset])

    def _num_rows(self) -> int:
        return int((self.bases <= len(LETTERS)).sum())


@dataclass(frozen=True)
class WrittenAttributions(Result):
    """A file of effects of bases."""

    output: str
    """The file or folder; '-' is standard output."""
    windows: int
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""
