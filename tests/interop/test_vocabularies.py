"""Vocabularies keep their ids on the way between the library and us."""

import gzip
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.bundles.huggingface import read_huggingface, write_huggingface
from dna_bigbird.bundles.huggingface.huggingface_writing import tokenizer_json
from dna_bigbird.corpus.json_tokenizer import JsonDnaTokenizer, parse
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome.alphabet import normalise


@pytest.fixture(scope="module", params=["bpe", "symmetric_bpe", "bases"])
def random_tokenizer(dna, request):
    texts = [dna(300, seed) + "TATA" * 20 + "A" * 30 for seed in range(20)]
    size = None if request.param == "bases" else 300
    config = TokenizerConfig(algorithm=request.param, vocab_size=size)
    return DnaTokenizer.from_bytes(train_tokenizer(texts, config))


@pytest.fixture(scope="module")
def as_json(random_tokenizer):
    return parse(tokenizer_json(random_tokenizer), "tokenizer.json")


@settings(max_examples=300, deadline=None)
@given(
    unit=st.text("ACGTN", min_size=1, max_size=6), times=st.integers(1, 40), end=st.text("ACGTN")
)
def test_repeats_are_cut_alike(random_tokenizer, as_json, unit, times, end):
    """Where pieces overlap themselves, the order of joining matters most."""
    sequence = unit * times + end + unit * times
    expected = random_tokenizer.encode(sequence).tolist()
    assert as_json.encode(sequence, add_special_tokens=False).ids == expected


@pytest.mark.parametrize(
    ("algorithm", "vocab_size"), [("bpe", 500), ("bpe", 4000), ("symmetric_bpe", 1000)]
)
def test_real_dna_is_cut_alike(real_data, algorithm, vocab_size):
    with gzip.open(real_data / "genome/hg19_chr17_1-1000000.fa.gz", "rt") as lines:
        raw = "".join(line.strip() for line in lines if not line.startswith(">"))
    windows = [raw[i : i + 8000] for i in range(0, 800_000, 8000)]
    training = [normalise(window) for window in windows[:60]]
    config = TokenizerConfig(algorithm=algorithm, vocab_size=vocab_size)
    ours = DnaTokenizer.from_bytes(train_tokenizer(training, config))
    theirs = parse(tokenizer_json(ours), "tokenizer.json")
    for window in windows:  # raw: in either case
        expected = ours.encode(normalise(window)).tolist()
        assert theirs.encode(window, add_special_tokens=False).ids == expected


def converted(folder, target, plan=None):
    found = read_huggingface(folder, plan)
    write_huggingface(
        target,
        model=found.model,
        config=found.config,
        tokenizer=found.tokenizer,
        card=found.card,
        source="bundle",
    )
    return found


def test_auto_tokenizer_reads_our_vocabulary(library_model, random_tokenizer, tmp_path, dna):
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "first"
    library_model(vocab_size=300).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer_json(random_tokenizer))
    (folder / "tokenizer.model").write_bytes(random_tokenizer.model_bytes)
    found = converted(folder, tmp_path / "second")
    assert isinstance(found.tokenizer, DnaTokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "second")
    sequence = dna(2000, 7)
    pair = theirs(sequence, sequence[:100])
    a, b = (random_tokenizer.encode(text).tolist() for text in (sequence, sequence[:100]))
    assert pair["input_ids"] == [2, *a, 3, *b, 3]
    assert pair["token_type_ids"] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
    assert theirs("acgu[MASK]R")["input_ids"] == theirs("ACGT[MASK]N")["input_ids"]
    assert (theirs.pad_token_id, theirs.mask_token_id, theirs.unk_token_id) == (0, 4, 1)
    assert theirs.decode(pair["input_ids"], skip_special_tokens=True) == sequence + sequence[:100]
    assert theirs.model_max_length == 4096


def test_auto_tokenizer_reads_a_dna_vocabulary_of_others(
    library_model, save_library_model, tmp_path, dna
):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "first").mkdir()
    folder = save_library_model(library_model(), tmp_path / "first")
    found = converted(folder, tmp_path / "second")
    assert isinstance(found.tokenizer, JsonDnaTokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "second")
    ids = found.tokenizer.encode(dna(500, 3)).tolist()
    assert theirs(dna(500, 3))["input_ids"] == [1, *ids, 2]
    assert (theirs.unk_token_id, theirs.pad_token_id, theirs.mask_token_id) == (0, 3, 4)


TEXT = "Sparse attention reads far apart words, at 4096 tokens; naïve ones don't."


def test_text_vocabulary(library_model, real_data, tmp_path):
    """The form of google/bigbird-roberta-base: the published English vocabulary."""
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 50358, "hidden_size": 8, "pad_token_id": 0, "bos_token_id": 1}
    model = library_model(**small, eos_token_id=2, sep_token_id=66)
    model.save_pretrained(tmp_path / "first")
    published = real_data / "vocab/bigbird_gpt2_sentencepiece.model"
    shutil.copy(published, tmp_path / "first/spiece.model")
    found = converted(tmp_path / "first", tmp_path / "second")
    tokenizer = found.tokenizer
    assert (tokenizer.reads, tokenizer.vocab_size) == ("text", 50358)
    ids = [
        tokenizer.pad_id,
        tokenizer.unk_id,
        tokenizer.cls_id,
        tokenizer.sep_id,
        tokenizer.mask_id,
    ]
    assert ids == [0, 100, 65, 66, 67]
    assert (tmp_path / "second/spiece.model").read_bytes() == published.read_bytes()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "second")
    expected = theirs(TEXT)["input_ids"]
    assert [65, *tokenizer.encode(TEXT), 66] == expected
    assert tokenizer.decode(expected) == TEXT
    config = transformers.AutoConfig.from_pretrained(tmp_path / "second")
    assert (config.bos_token_id, config.eos_token_id, config.sep_token_id) == (1, 2, 66)


def test_gena_vocabulary(real_data):
    """The published 32,000 pieces: no letter N, special ids in an order of their own."""
    packed = real_data / "vocab/gena_human_bpe32k_tokenizer.json.gz"
    tokenizer = JsonDnaTokenizer(gzip.decompress(packed.read_bytes()))
    ids = [
        tokenizer.unk_id,
        tokenizer.cls_id,
        tokenizer.sep_id,
        tokenizer.pad_id,
        tokenizer.mask_id,
    ]
    assert (ids, tokenizer.vocab_size, tokenizer.first_piece_id) == ([0, 1, 2, 3, 4], 32000, 5)
    with gzip.open(real_data / "genome/hg19_chr17_1-1000000.fa.gz", "rt") as lines:
        raw = "".join(line.strip() for line in lines if not line.startswith(">"))
    sequence = normalise(raw[500_000:600_000]) + "NNACGTN"
    found, spans = tokenizer.encode_with_spans(sequence)
    assert tokenizer.decode(found) == sequence
    assert np.array_equal(tokenizer.spans(found), spans)
    assert (found == 0).sum() == sequence.count("N")
    assert 6 < len(sequence) / len(found) < 8
