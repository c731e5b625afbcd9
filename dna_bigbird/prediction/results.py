"""What `predict`, `embed`, `score_variants`, `mutagenesis` and `attribute` return."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.representations import html_repr, html_rows, short_repr
from dna_bigbird.prediction import result_frames as first
from dna_bigbird.prediction import result_frames as frames
from dna_bigbird.prediction.result_frames import LETTERS as LETTERS
from dna_bigbird.prediction.result_frames import AnnData, vectors_anndata

Pooling = Literal["mean", "cls", "max", "tokens"]
Effect = Literal["log_odds", "diff"]
VectorFormat = Literal["hdf5", "npz"]


@dataclass(frozen=True)
class Predictions:
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

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_predictions)

    def __len__(self) -> int:
        return len(self.start)

    def to_dataframe(self) -> DataFrame:
        """Return a row per window, with the columns of the table: sequence, start, end, labels, name."""
        return frames.predictions_frame(self)


@dataclass(frozen=True)
class WrittenPredictions:
    """A file of predictions."""

    output: str
    """The file or folder; '-' is standard output."""
    windows: int
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""

    __repr__ = short_repr
    _repr_html_ = html_repr

    def to_dataframe(self) -> DataFrame:
        """Read the table or HDF5 file, as `Predictions.to_dataframe`.

        Raises:
            InputError: If the output is a track (BED, bigWig) or standard output.
        """
        return frames.read_predictions(self.output)


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
class Embeddings:
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

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_vectors)

    def to_dataframe(self) -> DataFrame:
        """Return a row per vector: sequence, start, end, name of the window, then v0, v1, ...

        With pooling 'tokens' the rows are tokens, and token_start and token_end are their bases.
        """
        return frames.vectors_frame(self)

    def to_anndata(self) -> AnnData:
        """Return an AnnData object: vectors in X (float32), coordinates in obs, `settings` in uns.

        The rows are those of `to_dataframe`; windows without bases have NaN.

        Raises:
            MissingExtraError: Without anndata; it names the command that installs it.
        """
        return vectors_anndata(self)


@dataclass(frozen=True)
class WrittenVectors:
    """A file of vectors."""

    output: Path
    windows: int
    hidden_size: int
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""
    settings: VectorSettings | None = None

    __repr__ = short_repr
    _repr_html_ = html_repr

    def to_dataframe(self) -> DataFrame:
        """Read the file, as `Embeddings.to_dataframe`."""
        return self._read().to_dataframe()

    def to_anndata(self) -> AnnData:
        """Read the file, as `Embeddings.to_anndata`."""
        return self._read().to_anndata()

    def _read(self) -> Embeddings:
        return Embeddings(**frames.read_vectors(self.output), settings=self.settings)


@dataclass(frozen=True)
class VariantSummary:
    """How many variants were read, and how many were not scored."""

    records: int
    alleles: int
    """Alternative alleles, scored or not."""
    skipped: dict[str, int]
    """Alleles without a score, by reason; a record without an alternative allele counts as one."""
    notes: list[str]
    """As in `Predictions`."""

    __repr__ = short_repr
    _repr_html_ = html_repr


@dataclass(frozen=True)
class VariantScores(VariantSummary):
    """One row per alternative allele, in the order of the file; NaN where there is no score.

    Records that do not fit the genome (`ref_mismatch="skip"`) have no row.
    """

    label_names: list[str]
    chrom: list[str]
    pos: NDArray[np.int64]
    """Counted from 1, as in the file."""
    id: list[str]
    ref: list[str]
    alt: list[str]
    diff: NDArray[np.float32]
    """Probability of ALT minus that of REF, mean over strands, (alleles, labels)."""
    log_odds: NDArray[np.float32]
    """The same difference of the log-odds."""
    ref_probability: NDArray[np.float32]
    """Probability of REF, mean over strands."""
    alt_probability: NDArray[np.float32]
    """Probability of ALT, mean over strands."""

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_alleles)

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
        return frames.variants_frame(self, effect, probabilities)


@dataclass(frozen=True)
class ZeroShotScores(VariantSummary):
    """One row per alternative allele, in the order of the file; NaN where there is no score.

    Records that do not fit the genome (`ref_mismatch="skip"`) have no row.
    """

    chrom: list[str]
    pos: NDArray[np.int64]
    """Counted from 1, as in the file."""
    id: list[str]
    ref: list[str]
    alt: list[str]
    name: str
    """Name of the score, as the column of the table: 'embedding_distance', 'likelihood_log_ratio'."""
    score: NDArray[np.float32]
    """(alleles,)"""

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_zero_shot)

    def to_dataframe(self) -> DataFrame:
        """Return a row per alternative allele: chrom, pos (from 1), id, ref, alt, score."""
        return frames.zero_shot_frame(self)


@dataclass(frozen=True)
class Mutagenesis:
    """Effects of all substitutions in a region of P bases on L labels.

    The bases of an axis of length 4 are A, C, G, T. Effects are 0 at the reference base, NaN
    where the reference is N.
    """

    chrom: str
    start: int
    """0-based position of the first base."""
    reference: str
    """The bases of the region on the forward strand, (P,)."""
    label_names: list[str]
    diff: NDArray[np.float64]
    """Probability with the substitution minus that of the reference, (P, 4, L)."""
    log_odds: NDArray[np.float64]
    """The same difference of the log-odds."""
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_substitutions)

    def to_dataframe(self) -> DataFrame:
        """Return a row per substitution and label: chrom, pos (from 1), ref, alt, label, diff, log_odds.

        A base has three rows per label; where the genome has N it has four, without effects.
        """
        return frames.substitutions_frame(self)

    @checked()
    def effects(self, effect: Effect) -> NDArray[np.float64]:
        """Return one of the two tables, (P, 4, L)."""
        return {"diff": self.diff, "log_odds": self.log_odds}[effect]


@dataclass(frozen=True)
class Attributions:
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

    __repr__ = short_repr
    _repr_html_ = html_rows(first.first_bases)

    def __len__(self) -> int:
        return len(self.start)

    def to_dataframe(self) -> DataFrame:
        """Return a row per base of each window: sequence, pos (from 1), base, a column per label."""
        return frames.attributions_frame(self)


@dataclass(frozen=True)
class WrittenAttributions:
    """A file of effects of bases."""

    output: str
    """The file or folder; '-' is standard output."""
    windows: int
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """As in `Predictions`."""

    __repr__ = short_repr
    _repr_html_ = html_repr
