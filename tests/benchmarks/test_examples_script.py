"""benchmarks/examples.py on a toy corpus."""

from collections import Counter

import numpy as np
import pytest

from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer


def test_what_an_epoch_reads(script, toy_project, tmp_path, capsys):
    """Against the places of all tokens, predicted because everything is hidden, base by base."""
    (tmp_path / "corpus").symlink_to(toy_project, target_is_directory=True)
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "dna_bpe.model").symlink_to(toy_project / "bpe.model")
    tokenizer = DnaTokenizer.from_file(toy_project / "bpe.model")
    store = TokenStore(toy_project / "train.h5")
    examples = PretrainExamples(store, tokenizer, 128, MaskingConfig(1.0), 0)
    read = Counter()
    for index in range(examples.examples_per_epoch):
        chroms, bounds = examples.predicted_spans(index, tokenizer.piece_bp)
        for chrom, (start, end) in zip(chroms.tolist(), bounds.tolist(), strict=True):
            read.update((chrom, base) for base in range(start, end))
    places = [store.document_interval(d) for d in range(store.num_documents)]
    reachable = {(0, base) for place in places for base in range(place.start, place.end)}
    times = np.array([read[base] for base in sorted(reachable)])
    script("examples").main(["--corpus", str(tmp_path / "corpus"), "--max_tokens", "128"])
    shown = capsys.readouterr().out
    assert f"examples of an epoch\t{examples.examples_per_epoch:,}\t" in shown
    expected = f"read {times.mean():.2f} times (sd {times.std() / times.mean():.0%}), "
    assert (
        f"bases of the documents\t{len(times):,}\t{expected}{(times == 0).mean():.2%} not" in shown
    )
    mean = sum(read.values()) / examples.examples_per_epoch
    assert f"mean {mean:,.1f} bases" in shown
    for name in ("plain", "spans of 30 bp", "around sites"):
        assert f"example, {name}\t" in shown


def test_dropout_of_share_0_changes_nothing(script, toy_project, capsys, monkeypatch):
    examples = script("examples")
    monkeypatch.setattr(examples, "SHARES", (0.0, 1.0))
    tokenizer = DnaTokenizer.from_file(toy_project / "bpe.model")
    store = TokenStore(toy_project / "train.h5")
    examples.dropout(store, tokenizer)
    usual, single = (line.split("\t")[1] for line in capsys.readouterr().out.splitlines())
    assert usual == "1.00 times the tokens"
    tokens = store.document(0)
    ratio = tokenizer.piece_bp[tokens].sum() / len(tokens)
    assert float(single.split()[0]) == pytest.approx(ratio, rel=0.1)
