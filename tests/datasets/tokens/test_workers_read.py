"""Data workers read the store from disk: none of them holds a copy of it."""

from pathlib import Path

import numpy as np
import pytest
from torch.utils.data import DataLoader, Dataset

from dna_bigbird.corpus import token_store_writer
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.genome import Interval

DOCUMENTS, TOKENS = 600, 50_000


@pytest.fixture(scope="module")
def big_store(toy_corpus, tmp_path_factory) -> Path:
    """60 MB of tokens; what they are does not matter, so nothing is tokenized."""

    def random_tokens(documents, genome, tokenizer):
        count = len(documents)
        rng = np.random.default_rng(documents[0].interval.start)
        return token_store_writer.Part(
            rng.integers(5, 300, count * TOKENS).astype(np.uint16),
            np.full(count, TOKENS),
            np.array([(d.interval.start, d.interval.end) for d in documents]),
            np.ones(count, np.int64),
            np.array([(d.interval.start, d.interval.end) for d in documents]),
            np.array(["chr1"] * count),
            np.ones(count, np.int8),
        )

    path = tmp_path_factory.mktemp("big") / "big.h5"
    documents = [Document(Interval("chr1", i, i + 9), (9,)) for i in range(DOCUMENTS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_store_writer, "tokenize_documents", random_tokens)
        write_token_store(path, documents, toy_corpus.genome, toy_corpus.tokenizer)
    assert path.stat().st_size > 2 * DOCUMENTS * TOKENS
    return path


def resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


class Sums(Dataset):
    """The sum of a document's tokens, and how much memory the worker holds then."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store

    def __len__(self) -> int:
        return self.store.num_documents

    def __getitem__(self, document: int) -> tuple[int, int]:
        return int(self.store.document(document).sum()), resident_bytes()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_holds_no_copy(big_store, method):
    store = TokenStore(big_store)
    expected = [int(store.document(d).sum()) for d in range(store.num_documents)]
    loader = DataLoader(Sums(store), batch_size=None, num_workers=1, multiprocessing_context=method)
    sums, resident = zip(*loader, strict=True)
    assert list(sums) == expected
    # Some documents are read before the first figure counts, to fill buffers and caches of chunks.
    assert max(resident) - resident[20] < big_store.stat().st_size / 3
