"""The vocabulary loses nothing and does not depend on the machine."""

import itertools
import pickle
import re

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import normalise

RNG = np.random.default_rng(0)
MOTIFS = ["TATAAA", "CCGCGG", "GATTACA", "TTAGGG"]
TEXTS = [
    "".join(
        itertools.chain.from_iterable(
            ("".join(RNG.choice(list("ACGT"), 6)), MOTIFS[RNG.integers(4)]) for _ in range(60)
        )
    )
    for _ in range(30)
]
CONFIG = TokenizerConfig(vocab_size=200, max_piece_bp=6)
MODEL = train_tokenizer(TEXTS, CONFIG)
TOKENIZER = DnaTokenizer.from_bytes(MODEL)


def test_ids_and_letters():
    assert TOKENIZER.vocab_size == 200
    assert TOKENIZER.pieces[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert (TOKENIZER.pad_id, TOKENIZER.unk_id, TOKENIZER.cls_id) == (0, 1, 2)
    assert (TOKENIZER.sep_id, TOKENIZER.mask_id, TOKENIZER.first_piece_id) == (3, 4, 5)
    assert set("ACGTN") <= set(TOKENIZER.pieces), "N, too, though no training text has one"
    assert all(set(piece) <= set("ACGTN") for piece in TOKENIZER.pieces[5:])
    assert "TATAAA" in TOKENIZER.pieces


def test_base_pairs_of_every_id():
    assert TOKENIZER.piece_bp.dtype == np.int64
    assert TOKENIZER.piece_bp[:5].tolist() == [0] * 5
    assert TOKENIZER.piece_bp[5:].tolist() == [len(p) for p in TOKENIZER.pieces[5:]]
    assert TOKENIZER.piece_bp.max() == CONFIG.max_piece_bp


@given(st.text(alphabet="ACGTNacgtnRYSWKMBDHVryswkmbdhvUu", max_size=300))
def test_round_trip_of_any_iupac_or_lower_case_text(text):
    clean = normalise(text)
    ids = TOKENIZER.encode(clean)
    assert TOKENIZER.decode(ids) == clean
    assert (ids >= TOKENIZER.first_piece_id).all()
    spans = TOKENIZER.spans(ids)
    assert [clean[a:b] for a, b in spans] == [TOKENIZER.pieces[i] for i in ids]


def test_nothing_and_special_ids():
    assert TOKENIZER.encode("").shape == (0,)
    assert TOKENIZER.encode("").dtype == np.int64
    assert TOKENIZER.spans(np.zeros(0, dtype=int)).shape == (0, 2)
    ids = np.array([2, *TOKENIZER.encode("TATAAA"), 3])
    assert TOKENIZER.decode(ids) == "TATAAA"
    assert TOKENIZER.spans(ids).tolist() == [[0, 0], [0, 6], [6, 6]]


def test_greedy_merging_agrees_with_a_hand_written_bpe():
    """The best-scored (earliest learnt) adjacent pair is merged first, leftmost of equals."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
    score = {processor.id_to_piece(i): processor.get_score(i) for i in range(5, 200)}

    def bpe(text: str) -> list[str]:
        parts = list(text)
        while True:
            pairs = [(score.get(a + b), -i) for i, (a, b) in enumerate(itertools.pairwise(parts))]
            pairs = [pair for pair in pairs if pair[0] is not None]
            if not pairs:
                return parts
            i = -max(pairs)[1]
            parts[i : i + 2] = [parts[i] + parts[i + 1]]

    for text in TEXTS[:3]:
        assert [TOKENIZER.pieces[i] for i in TOKENIZER.encode(text[:200])] == bpe(text[:200])


@pytest.mark.parametrize("text", ["ACGTacgt", "ACGTR", "AC GT", "MKV"])
def test_letters_that_were_not_normalised_are_refused(text):
    with pytest.raises(ValueError, match="are not A C G T N"):
        TOKENIZER.encode(text)


def test_many_at_once_are_as_each_alone():
    for one, ids in zip(TEXTS, TOKENIZER.encode_all(TEXTS), strict=True):
        assert np.array_equal(ids, TOKENIZER.encode(one))


def test_equal_bytes_and_threads_change_no_piece():
    assert train_tokenizer(iter(TEXTS), CONFIG) == MODEL
    threaded = DnaTokenizer.from_bytes(train_tokenizer(TEXTS, CONFIG, num_threads=4))
    assert threaded.pieces == TOKENIZER.pieces
    for text in TEXTS[:5]:
        assert np.array_equal(threaded.encode(text), TOKENIZER.encode(text))


def test_the_model_bytes_hold_no_path():
    text = re.findall(rb"[ -~]{5,}", MODEL)
    assert not [word for word in text if b"/" in word or b".model" in word]


def test_long_sequences_are_learnt_from_like_short_ones():
    whole = "".join(TEXTS)
    assert "TATAAA" in DnaTokenizer.from_bytes(train_tokenizer([whole], CONFIG)).pieces


def test_too_little_text_for_the_vocabulary():
    with pytest.raises(InputError, match=r"vocab_size 30000 is too large .* at most \d+\."):
        train_tokenizer(TEXTS[:2], TokenizerConfig(vocab_size=30000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vocab_size": 9}, "vocab_size 9"),
        ({"vocab_size": 65537}, "--tokenizer.vocab_size 65537"),
        ({"max_piece_bp": 0}, "max_piece_bp"),
        ({"sample_bp": 0}, "sample_bp"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        TokenizerConfig(**settings)


def test_files_and_pickles(tmp_path):
    path = tmp_path / "dna_bpe.model"
    path.write_bytes(MODEL)
    loaded = DnaTokenizer.from_file(path)
    copy = pickle.loads(pickle.dumps(loaded))
    assert loaded.model_bytes == copy.model_bytes == MODEL
    assert np.array_equal(copy.encode(TEXTS[0]), TOKENIZER.encode(TEXTS[0]))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.model: no such tokenizer"):
        DnaTokenizer.from_file(tmp_path / "none.model")
    for content in (b"", b"not a model"):
        (tmp_path / "bad.model").write_bytes(content)
        with pytest.raises(InputError, match=r"bad\.model: (this is not a Sent|not a tokenizer)"):
            DnaTokenizer.from_file(tmp_path / "bad.model")


def test_a_foreign_sentencepiece_model_is_refused(real_data):
    models = sorted((real_data / "vocab").glob("*.model"))
    if not models:
        pytest.skip("no foreign SentencePiece model among the sample data")
    with pytest.raises(InputError, match="not a tokenizer of dna-bigbird"):
        DnaTokenizer.from_file(models[0])
