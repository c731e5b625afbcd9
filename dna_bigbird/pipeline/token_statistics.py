"""`dna-bigbird token-statistics`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath

PAPER_BP_PER_TOKEN = 8.78
"""Appendix F.1, 32K pieces over GRCh37."""


@checked()
def token_statistics(
    store: InputPath,
    genome: InputPath,
    tokenizer: InputPath,
    output: OutputPath,
    repeats: InputPath | None = None,
    pieces: bool = False,
    documents: int = 2000,
) -> None:
    """Measure base pairs per token, per chromosome and repeat class.

    Documents that do not overlap are read, so every base counts once. A token in two classes is
    shared between them by its bases.

    Args:
        store: Token store of `dna-bigbird tokenize`.
        genome: The FASTA file it was made from.
        tokenizer: The SentencePiece model it was made with.
        output: JSON file to write.
        repeats: BED file with the class of a repeat in column 4 (LINE or LINE/L1), as RepeatMasker's
            tables give them. Without it lower case in the FASTA file is soft_masked, and a
            chromosome written in one case is unknown.
        pieces: The FASTA file may hold only the first part of a chromosome; repeats beyond are cut.
        documents: Most documents to read, evenly spaced over the genome.
    """
    import json

    from tqdm import tqdm

    from dna_bigbird.baselines.counted_documents import covering_documents
    from dna_bigbird.corpus.tokenizer import DnaTokenizer
    from dna_bigbird.datasets.same_genome import check_store_genome
    from dna_bigbird.datasets.token_statistics import describe_tokens
    from dna_bigbird.datasets.token_store import TokenStore
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.repeats import repeat_classes
    from dna_bigbird.pipeline.store_checks import check_tokenizer, verify_stores
    from dna_bigbird.writing import atomic_path

    if documents < 1:
        raise InputError(f"--documents {documents}: expected at least 1")
    tokens, bpe, reference = TokenStore(store), DnaTokenizer.from_file(tokenizer), Genome(genome)
    check_tokenizer(tokens, bpe, tokenizer)
    check_store_genome(tokens, reference)
    verify_stores([tokens])
    classes = repeat_classes(reference, repeats, pieces)
    found = describe_tokens(
        tokens,
        bpe,
        classes,
        covering_documents(tokens, documents),
        progress=lambda chosen: tqdm(chosen, desc="measure", unit="doc", disable=None),
    )
    with atomic_path(output) as path:
        path.write_text(json.dumps({"vocab_size": bpe.vocab_size, **found}, indent=2) + "\n")
    print(
        f"{output}: {found['bp_per_token']} bp per token (paper: {PAPER_BP_PER_TOKEN}), by class:"
    )
    for name in classes.names:
        if f"n.{name}" in found:
            print(f"  {name}: {found[f'bp_per_token.{name}']} (n = {found[f'n.{name}']:,})")
