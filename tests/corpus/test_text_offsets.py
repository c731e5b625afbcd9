"""Where the pieces of a text stand in it, for every form of vocabulary."""

import functools
import pickle
import unicodedata

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from dna_bigbird.corpus.text_tokenizer import MARKERS, TextTokenizer
from tests.text_vocabulary import WORDS, tiny_text_tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = st.lists(
    st.sampled_from(
        [*WORDS[:20], " ", "  ", "\n", "\t", "\u00a0", "\u2028", "é", "日本", "😀", "e\u0301"]
    ),
    max_size=30,
).map("".join) | st.text(max_size=40)


@functools.cache
def byte_level() -> TextTokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([" ".join(WORDS)], trainer)
    return TextTokenizer(made.to_str().encode(), "tokenizer.json")


def word_piece() -> TextTokenizer:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIAL, show_progress=False)
    made.train_from_iterator([" ".join(WORDS)], trainer)
    return TextTokenizer(made.to_str().encode(), "tokenizer.json")


MADE = {
    "sentencepiece": tiny_text_tokenizer,
    "byte-level": byte_level,
    "wordpiece": word_piece,
}


@pytest.fixture(scope="module", params=MADE)
def tokenizer(request):
    return MADE[request.param]()


def check_places(tokenizer, text):
    """Pieces stand in order, without white space around them, and only white space is outside."""
    ids, starts, ends = tokenizer.encode_with_offsets(text)
    assert ids.tolist() == tokenizer.encode(text).tolist()
    assert ids.dtype == starts.dtype == ends.dtype == np.int64
    assert (np.diff(starts) >= 0).all()
    assert (starts <= ends).all()
    covered = np.zeros(len(text), dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        assert text[start:end] == text[start:end].strip()
        covered[start:end] = True
    return ids, starts, ends, covered


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_pieces_are_where_they_say(text):
    """An identity vocabulary: each piece is, letter for letter, the text it points at."""
    tokenizer = tiny_text_tokenizer()
    ids, starts, ends, covered = check_places(tokenizer, text)
    for i, start, end in zip(ids, starts, ends, strict=True):
        if i != tokenizer.unk_id:
            assert text[start:end] == tokenizer.pieces[i].replace("▁", "").strip()
    assert "".join(np.array(list(text))[~covered]).strip() == ""


@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_every_letter_belongs_to_a_byte_level_piece(text):
    _, _, _, covered = check_places(byte_level(), text)
    assert "".join(np.array(list(text))[~covered]).strip() == ""


def test_a_text_with_everything_in_it(tokenizer):
    text = "  The  river\n\nKing é 😀 café’s (old) bridge  "
    ids, starts, ends, _ = check_places(tokenizer, text)
    named = {text[a:b].lower() for a, b in zip(starts, ends, strict=True)}
    joined = "".join(text[a:b] for a, b in zip(starts, ends, strict=True))
    assert "bridge" in named or "bridge" in joined
    first = text.index("bridge")
    inside = [(a, b) for a, b in zip(starts, ends, strict=True) if a >= first and a < b]
    assert "".join(text[a:b] for a, b in inside) == "bridge"
    assert pickle.loads(pickle.dumps(tokenizer)).encode(text).tolist() == ids.tolist()


def test_no_text_has_no_pieces(tokenizer):
    assert [x.shape for x in tokenizer.encode_with_offsets("")] == [(0,), (0,), (0,)]


def test_words_begin_where_the_text_has_a_space(tokenizer):
    text = "the river was written in old paper"
    ids, starts, _ = tokenizer.encode_with_offsets(text)
    begins = {0, *(i + 1 for i, letter in enumerate(text) if letter == " ")}
    found = {int(s) for s, i in zip(starts, ids, strict=True) if tokenizer.is_word_start[i]}
    # The first word has no mark in a vocabulary that puts no space before a text.
    assert found | {0} == begins


def test_markers_stand_behind_the_vocabulary(tokenizer):
    ids = [tokenizer.marker_id(name) for name in MARKERS]
    assert ids == list(range(tokenizer.vocab_size, tokenizer.size_with_markers))
    assert tokenizer.decode([*ids, *tokenizer.encode("the old king")]) == "the old king"
    with pytest.raises(ValueError, match=r"no marker '\[w\]'"):
        tokenizer.marker_id("[w]")


def test_ordinary_entries_start_behind_the_special_ones(tokenizer):
    special = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id}
    special |= {tokenizer.mask_id}
    assert tokenizer.first_piece_id > max(special)
    assert tokenizer.pieces[tokenizer.first_piece_id] not in tokenizer.names.values()


def test_the_published_vocabulary(real_data):
    path = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(path.read_bytes(), path.name)
    special = ("pad", "eos", "bos", "cls", "sep", "mask", "unk")
    assert [getattr(tokenizer, f"{role}_id") for role in special] == [0, 1, 2, 65, 66, 67, 100]
    assert (tokenizer.vocab_size, tokenizer.first_piece_id) == (50358, 101)
    text = "  Zürich’s “Bahnhof” —  naïve\n\n日本語 😀 e\u0301t\u00e9; ½ kg."
    ids, starts, ends, covered = check_places(tokenizer, text)
    assert "".join(np.array(list(text))[~covered]).strip() == ""
    for i, start, end in zip(ids, starts, ends, strict=True):
        if i != tokenizer.unk_id:
            assert text[start:end] == tokenizer.pieces[i].replace("▁", "")


def test_a_vocabulary_that_normalises(real_data):
    """Pegasus applies NFKC: the place is in the text as given, the piece in the normalised one."""
    path = real_data / "vocab" / "bigbird_pegasus_sentencepiece.model"
    tokenizer = TextTokenizer(path.read_bytes(), path.name)
    text = "The ﬁnal oﬃce costs Ⅷ coins,  １２ in all"
    ids, starts, ends, _ = check_places(tokenizer, text)
    assert starts[-1] == len(text) - 3
    joined = "".join(tokenizer.pieces[i] for i in ids).replace("▁", "")
    assert joined == unicodedata.normalize("NFKC", text).replace(" ", "")
    word = [i for i, (a, b) in enumerate(zip(starts, ends, strict=True)) if text[a:b] == "coins"]
    assert [tokenizer.pieces[ids[i]] for i in word] == ["▁coins"]
