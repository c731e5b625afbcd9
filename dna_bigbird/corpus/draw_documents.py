"""`dna-bigbird documents`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import GenomePath, PackedBedOutput
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Result
from dna_bigbird.corpus.documents import DocumentConfig


@dataclass(frozen=True)
class DrawnDocuments(Result):
    """Documents of a genome in a BED12 file."""

    output: Path
    count: int
    predicted: int
    """How many the lengths of the stretches predict."""
    num_stretches: int
    """Parts of the regions between gaps and excluded regions."""
    stretches_bp: int

    def summary(self) -> str:
        """Return the counts."""
        return (
            f"{self.output}: {self.count:,} documents, {self.predicted:,} predicted, on "
            f"{self.stretches_bp:,} bp in {self.num_stretches:,} stretches between gaps and excluded "
            "regions"
        )


@checked()
def draw_documents(
    genome: GenomePath,
    output: PackedBedOutput,
    regions: list[str | int] = [],  # noqa: B006 - --help shows the default
    exclude: list[str | int] = [],  # noqa: B006
    seed: int = 0,
    documents: DocumentConfig = DocumentConfig(),  # noqa: B008
) -> DrawnDocuments:
    """Draw documents, the stretches of a genome that pretraining reads, as coordinates.

    The output is BED12: one line per document, its blocks are sentences. Comment lines name
    the sequences that they were drawn from, so that another genome is refused later.

    The result compares how many were drawn with how many the lengths of the stretches predict. For
    the whole of GRCh37 and the paper's recipe that is about 510,000 (550,455 if gaps were sequence);
    the paper says 450,000.

    Examples:
        dna-bigbird documents --genome hg19.fa --output train.bed.gz --exclude chr7 chr8 chr9
        dna-bigbird documents --genome hg19.fa --output validation.bed.gz --regions chr7 --documents.passes 1
        dna-bigbird documents --genome hg19.fa --output test.bed.gz --regions chr8 chr9 --documents.passes 1

    Args:
        genome: Genome: a plain FASTA file.
        output: Result to write: a BED12 file, compressed if its name ends in .gz.
        regions: Only these regions: chr1 or chr22:1-20,000,000 (1-based, both ends included); none
            means the whole genome.
        exclude: Regions that no document overlaps, in the same form.
        seed: Seed of the random numbers: starts and lengths.
        documents: The recipe.
    """
    from dna_bigbird.core.errors import InputError
    from dna_bigbird.corpus import documents as corpus
    from dna_bigbird.corpus.document_file import genome_lines, write_documents
    from dna_bigbird.genome import Genome

    reference = Genome(genome)
    stretches = corpus.find_stretches(reference, regions, exclude, documents)
    lengths = [stretch.length for stretch in stretches]
    predicted = round(corpus.expected_documents(lengths, documents))
    if not predicted:
        raise InputError(corpus.no_documents_message(regions, documents))
    drawn = corpus.draw_documents(stretches, documents, seed)
    shown = progress_bar(drawn, desc="documents", unit="doc", total=predicted)
    long_enough = (x.chrom for x in stretches if x.length >= documents.min_sentence_bp)
    lines = genome_lines(reference, dict.fromkeys(long_enough))
    count = write_documents(output, shown, lines)
    return DrawnDocuments(output, count, predicted, len(lengths), sum(lengths))
