"""What the name of an output says about its format; a name that says another one is refused.

A parameter says by its type what is written (`dna_bigbird.core.paths` has the types):

    def tokenize(documents: InputPath, output: Hdf5Output) -> None: ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import listed_words

FORMATS = {
    ".tsv": "TSV", ".csv": "CSV", ".xlsx": "Excel", ".xls": "Excel", ".ods": "OpenDocument",
    ".parquet": "Parquet", ".feather": "Feather", ".json": "JSON", ".jsonl": "JSON lines",
    ".yaml": "YAML", ".yml": "YAML", ".md": "Markdown", ".html": "HTML", ".htm": "HTML",
    ".h5": "HDF5", ".hdf5": "HDF5", ".npz": "NumPy", ".npy": "NumPy", ".mat": "MATLAB",
    ".pkl": "pickle", ".pickle": "pickle", ".pt": "PyTorch", ".pth": "PyTorch",
    ".ckpt": "PyTorch", ".safetensors": "safetensors", ".onnx": "ONNX", ".rds": "R",
    ".bed": "BED", ".narrowpeak": "narrowPeak", ".broadpeak": "broadPeak", ".bb": "bigBed",
    ".bigbed": "bigBed", ".bw": "bigWig", ".bigwig": "bigWig", ".wig": "wiggle",
    ".bedgraph": "bedGraph", ".bdg": "bedGraph", ".vcf": "VCF", ".bcf": "BCF", ".fa": "FASTA",
    ".fasta": "FASTA", ".fna": "FASTA", ".2bit": "2bit", ".fastq": "FASTQ", ".fq": "FASTQ",
    ".gtf": "GTF", ".gff": "GFF", ".gff3": "GFF", ".sam": "SAM", ".bam": "BAM", ".cram": "CRAM",
    ".png": "PNG", ".svg": "SVG", ".pdf": "PDF", ".jpg": "JPEG", ".jpeg": "JPEG",
    ".gz": "gzip", ".bgz": "bgzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip",
    ".tar": "tar", ".tgz": "tar",
}  # fmt: skip
"""Formats by suffix. `.txt` and unknown suffixes may be any format."""


@dataclass(frozen=True)
class Form:
    """What an output is written as, and the suffixes that its name may have."""

    what: str
    suffixes: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.what.startswith("a folder")

    def check(self, option: str, path: Path | str) -> None:
        """Raise InputError if the suffix of a name is that of another format.

        Args:
            option: Which argument, such as '--output'.

        Example:
            >>> Form("HDF5", (".h5", ".hdf5")).check("--output", "set.csv")
            Traceback (most recent call last):
            dna_bigbird.core.errors.InputError: --output set.csv: .csv is the suffix of CSV, but this is written as HDF5; end the name in .h5 or .hdf5
        """
        name = Path(path).name.lower()
        suffix = Path(name).suffix
        if suffix not in FORMATS or name.endswith(self.suffixes):
            return
        advice = f"leave out {suffix}"
        if self.suffixes:
            advice = f"end the name in {listed_words(self.suffixes)}"
        raise InputError(
            f"{option} {path}: {suffix} is the suffix of {FORMATS[suffix]}, but this is written as "
            f"{self.what}; {advice}"
        )


def check_known(option: str, path: Path, known: Sequence[str], format: str | None = None) -> None:
    """Raise InputError for a suffix that names no format, where the suffix chooses the format.

    Args:
        known: Suffixes that the command writes.
        format: Format that was named; it allows a suffix that may be any format.
    """
    name, suffix = path.name.lower(), path.suffix.lower()
    if not suffix or name.endswith(tuple(known)) or (format and suffix not in FORMATS):
        return
    raise InputError(
        f"{option} {path}: {path.suffix} is not the suffix of a format that is written here; end the "
        f"name in {listed_words(known)}"
    )
