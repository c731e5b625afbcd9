"""What the name of an output says about its format; a name that says another one is refused.

A parameter says by its type what is written (`dna_bigbird.core.paths` has the types):

    def tokenize(documents: InputPath, output: Hdf5Output) -> None: ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.plain_numbers import whole_number

# Telling from the first bytes which file it is that was given in place of the expected one.

_BINARY = (
    (b"PK\x03\x04", "a zip archive", "Unpack it first: unzip"),
    (b"BZh", "bzip2 data", "Unpack it first: bunzip2"),
    (b"\xfd7zXZ", "xz data", "Unpack it first: unxz"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "Unpack it first: unzstd"),
    (b"\x1f\x8b", "gzip data packed twice", "Unpack it once: gunzip"),
    (b"BAM\x01", "a BAM file", "For its reads as FASTA: samtools fasta"),
    (b"CRAM", "a CRAM file", "For its reads as FASTA: samtools fasta"),
    (b"BCF\x02", "a BCF file", "As VCF: bcftools view"),
    (b"\x43\x27\x41\x1a", "a 2bit file", "As FASTA: twoBitToFa"),
    (b"\x1a\x41\x27\x43", "a 2bit file", "As FASTA: twoBitToFa"),
    (b"\x26\xfc\x8f\x88", "a bigWig file", "As text: bigWigToBedGraph"),
    (b"\xeb\xf2\x89\x87", "a bigBed file", "As BED: bigBedToBed"),
    (b"\x89HDF", "an HDF5 file", "Is it the right file?"),
    (b"%PDF", "a PDF file", "Is it the right file?"),
)
_TEXT = (
    ("##fileformat=VCF", "a VCF file"),
    ("##gff", "a GFF file"),
    ("@HD\t", "a SAM file; for its reads as FASTA: samtools fasta"),
    ("@SQ\t", "a SAM file; for its reads as FASTA: samtools fasta"),
    ("@", "a FASTQ file; as FASTA: seqtk seq -a, or: sed -n '1~4s/^@/>/p;2~4p'"),
    (">", "a FASTA file"),
    ("LOCUS ", "a GenBank file; download the same record as FASTA"),
    ("ID   ", "an EMBL file; download the same record as FASTA"),
    ("<", "an HTML or XML page; was an error page saved in place of the file?"),
    ("{", "a JSON file"),
    ("track", "a BED file"),
    ("browser", "a BED file"),
)
_LOOK = 64
"""Bytes in which UTF-16 shows itself."""


def binary_format(first: bytes) -> tuple[str, str] | None:
    """Return what a file is that starts with these bytes, and what to do; None for plain text.

    Example:
        >>> binary_format(b"BAM\\x01")
        ('a BAM file', 'For its reads as FASTA: samtools fasta')
        >>> binary_format(">chr1".encode("utf-16-le"))[0]
        'UTF-16 text'
    """
    for magic, what, advice in _BINARY:
        if first.startswith(magic):
            return what, advice
    start = first[:_LOOK]
    halves = (start[0::2], start[1::2])
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or any(
        x and not x.strip(b"\0") for x in halves
    ):
        return "UTF-16 text", "Save it as UTF-8, or: iconv -f UTF-16 -t UTF-8"
    return None


def text_format(line: str) -> str | None:
    """Return what a text file probably is whose first line this is; None if nothing fits.

    Example:
        >>> text_format("chr1\\t100\\t200\\tpeak")
        'a BED file'
    """
    for start, what in _TEXT:
        if line.startswith(start):
            return what
    fields = line.split()
    if len(fields) >= 3 and None not in map(whole_number, fields[1:3]):
        return "a BED file"
    return None


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
        return self.what.startswith("a folder")

    def check(self, option: str, path: Path | str) -> None:
        """Raise InputError if the suffix of a name is that of another format.

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
    """Raise InputError for a suffix that names no format, unless `format` is given and it may be any."""
    name, suffix = path.name.lower(), path.suffix.lower()
    if not suffix or name.endswith(tuple(known)) or (format and suffix not in FORMATS):
        return
    raise InputError(
        f"{option} {path}: {path.suffix} is not the suffix of a format that is written here; end the "
        f"name in {listed_words(known)}"
    )
