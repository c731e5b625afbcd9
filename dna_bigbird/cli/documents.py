"""`dna-bigbird documents`."""

from pathlib import Path

from dna_bigbird.corpus.documents import DocumentConfig


def draw_documents(
    genome: Path,
    output: Path,
    regions: list[str | int] = [],  # noqa: B006 - jsonargparse shows the default
    exclude: list[str | int] = [],  # noqa: B006
    seed: int = 0,
    documents: DocumentConfig = DocumentConfig(),  # noqa: B008
) -> None:
    """Draw documents from a genome as coordinates (BED12: one line a document, blocks = sentences).

    Args:
        genome: Plain FASTA file.
        output: BED12 file to write; name it .bed.gz, it is compressed.
        regions: Where documents may lie, e.g. '[chr1, "chr22:1-20,000,000"]' (1-based, both ends
            included); empty means the whole genome.
        exclude: Regions of which no document touches a base, written likewise.
        seed: Seed of the random starts and lengths.
        documents: The recipe.
    """
    from tqdm import tqdm

    from dna_bigbird.corpus.documents import iter_documents, no_documents_message, write_documents
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome

    drawn = iter_documents(Genome(genome), regions, exclude, documents, seed)
    first = next(drawn, None)
    if first is None:
        raise InputError(no_documents_message(regions, documents))

    def all_documents():
        yield first
        yield from drawn

    write_documents(output, tqdm(all_documents(), desc="documents", unit="doc", disable=None))


# jsonargparse names a group of options after the function, and `--documents.…` is one already.
documents = draw_documents
