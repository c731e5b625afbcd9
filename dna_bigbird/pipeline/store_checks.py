"""Checks of token stores: made with the model's tokenizer, and not damaged."""

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.datasets.token_store import TokenStore
from dna_bigbird.errors import InputError
from dna_bigbird.progress import progress_bar


def check_tokenizer(store: TokenStore, tokenizer: DnaTokenizer, tokenizer_path: Path | str) -> None:
    """Raise InputError if another tokenizer made a token store."""
    if hashlib.sha256(tokenizer.model_bytes).hexdigest() != store.tokenizer_sha256:
        raise InputError(
            f"{store.path}: made with another tokenizer than {tokenizer_path}; the ids would mean "
            "other bases. Make it again: dna-bigbird tokenize"
        )


def verify_stores(stores: Iterable[TokenStore]) -> None:
    """Compare token stores with their checksums, each file once; progress on a terminal.

    Raises:
        InputError: Naming the damaged store.
    """
    for store in {store.path: store for store in stores}.values():
        store.verify(partial(progress_bar, desc="verify", unit="block"))
