"""Checks of token stores: made with the model's tokenizer, from the genome, and not damaged."""

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome
from dna_bigbird.genome.checksum import combined_sha256, sequence_sha256


def check_tokenizer(store: TokenStore, tokenizer: DnaTokenizer, tokenizer_path: Path | str) -> None:
    """Raise InputError if another tokenizer made a token store."""
    if hashlib.sha256(tokenizer.model_bytes).hexdigest() != store.tokenizer_sha256:
        raise InputError(
            f"{store.path}: made with another tokenizer than {tokenizer_path}; the ids would mean "
            "other bases. Make it again: dna-bigbird tokenize"
        )


def check_store_genome(store: TokenStore, genome: Genome) -> None:
    """Raise InputError if a token store was made from another genome.

    The same file is recognised by its checksum, another file by that of its sequences. Stores of
    earlier versions have the checksum of the file only, so another file is refused.
    """
    if sha256_of(genome.path) == store.attributes.get("genome_sha256"):
        return
    recorded = store.attributes.get("sequences_sha256")
    if recorded is None:
        reason = f"{genome.path} is another file (its checksum differs)"
    else:
        checksums = {chrom: sequence_sha256(genome, chrom) for chrom in store.chromosomes}
        if combined_sha256(checksums) == recorded:
            return
        reason = f"{genome.path} has other bases on {', '.join(store.chromosomes[:5])}"
    assembly = f" ({store.assembly})" if store.assembly else ""
    raise InputError(
        f"{store.path}: made from another genome{assembly}: {reason}. Use the FASTA that it was made "
        "from, or make the store again: dna-bigbird tokenize"
    )


def verify_stores(stores: Iterable[TokenStore]) -> None:
    """Compare token stores with their checksums, each file once; progress on a terminal.

    Raises:
        InputError: Naming the damaged store.
    """
    for store in {store.path: store for store in stores}.values():
        store.verify(partial(progress_bar, desc="verify", unit="block"))
