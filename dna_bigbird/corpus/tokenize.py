"""`dna-bigbird tokenize`."""

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import Hdf5Output, InputPath
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Written
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import DocumentGenome


@checked()
def tokenize(
    genome: DocumentGenome,
    documents: InputPath,
    tokenizer: InputPath,
    output: Hdf5Output,
    workers: Count = 1,
    assembly: str = "",
) -> Written:
    """Turn documents into a token store (HDF5), the same bytes for any number of workers.

    Killed and started again with the same inputs, it continues: until the end, finished parts are in
    the hidden folder `.NAME.parts` next to the output.

    Examples:
        dna-bigbird tokenize --genome hg19.fa --documents train.bed.gz --tokenizer dna_bpe.model --output train.h5
        dna-bigbird tokenize --genome hg19.fa --documents validation.bed.gz --tokenizer dna_bpe.model \\
            --output validation.h5
        dna-bigbird tokenize --genome hg19.fa --documents test.bed.gz --tokenizer dna_bpe.model --output test.h5

    Args:
        documents: Documents: the BED12 file of `dna-bigbird documents`.
        tokenizer: Tokenizer: the SentencePiece model of `dna-bigbird train-tokenizer`.
        output: Result to write: a token store, an HDF5 file.
        workers: Worker processes: they tokenize, at most four per usable processor and what memory
            holds.
        assembly: Name of the assembly: GRCh37 for example; the file records it.
    """
    from dna_bigbird.core.files import sha256_of
    from dna_bigbird.corpus.document_file import check_documents, iter_document_file
    from dna_bigbird.corpus.token_store_writer import write_token_store
    from dna_bigbird.corpus.tokenizer import DnaTokenizer
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.fasta_stream import combined_sha256, sequence_sha256

    bpe = DnaTokenizer.from_file(tokenizer)
    reference = Genome(genome)
    sequences = {
        chrom: checksum or sequence_sha256(reference, chrom)
        for chrom, checksum in check_documents(documents, reference).items()
    }
    checksums = {"genome_sha256": sha256_of(genome), "documents_sha256": sha256_of(documents)}
    shown = progress_bar(iter_document_file(documents), desc="tokenize", unit="doc")
    write_token_store(
        output,
        shown,
        reference,
        bpe,
        workers=workers,
        assembly=assembly,
        attributes={
            **checksums,
            "sequences_sha256": combined_sha256(sequences),
            "command": "dna-bigbird tokenize",
        },
        restart_key=" ".join(checksums.values()),
    )
    return Written(output)
