"""Vocabularies of other projects: ids, places of tokens, and one line for what we cannot read."""

import json
import pickle

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.json_tokenizer import JsonDnaTokenizer
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer import TokenizerConfig, train_tokenizer
from dna_bigbird.corpus.tokenizer_files import load_tokenizer

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("ACGT"), 300)) for _ in range(20)]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
DNA = TEXTS[0] + "NNNN" + TEXTS[1] + "N"


def trained(texts, special=SPECIAL, alphabet="ACGT", size=80, **model) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE(unk_token=special[0], **model))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=list(alphabet),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    made.decoder = decoders.BPEDecoder(suffix=" ")
    return made


def bytes_of(made: tokenizers.Tokenizer) -> bytes:
    return made.to_str().encode()


WITHOUT_N = bytes_of(trained(TEXTS, alphabet="\n"))
"""GENA-LM's first form: its letters are A C G T and a line break."""


@pytest.fixture(scope="module")
def with_gaps() -> bytes:
    """GENA-LM's T2T form: IUPAC letters, and a token for 10 or more N."""
    made = trained(TEXTS, special=[*SPECIAL, "-"], alphabet="ABCGKMNRSTWY")
    made.normalizer = normalizers.Sequence(
        [normalizers.Strip(), normalizers.Replace(tokenizers.Regex("N{10,}"), "-")]
    )
    made.pre_tokenizer = pre_tokenizers.Split("-", "isolated")
    return bytes_of(made)


def test_ids_and_places_without_the_letter_n():
    tokenizer = JsonDnaTokenizer(WITHOUT_N)
    assert [getattr(tokenizer, f"{role}_id") for role in ("unk", "cls", "sep", "pad", "mask")] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
    assert (tokenizer.reads, tokenizer.first_piece_id, tokenizer.vocab_size) == ("dna", 5, 80)
    ids, spans = tokenizer.encode_with_spans(DNA)
    library = tokenizers.Tokenizer.from_str(WITHOUT_N.decode()).encode(DNA)
    assert ids.dtype == np.int64
    assert ids.tolist() == tokenizer.encode(DNA).tolist() == library.ids
    assert (ids == 0).sum() == 5  # each N is one unknown token
    assert tokenizer.decode(ids) == DNA
    assert np.array_equal(tokenizer.spans(ids), spans)
    assert spans.tolist() == [list(place) for place in library.offsets]
    assert tokenizer.piece_bp[ids].sum() == len(DNA)
    assert [x.tolist() for x in tokenizer.encode_all([DNA, "A", ""])] == [
        ids.tolist(), tokenizer.encode("A").tolist(), [],
    ]  # fmt: skip


def test_special_ids_stand_for_no_base():
    tokenizer = JsonDnaTokenizer(WITHOUT_N)
    ids = np.array([1, *tokenizer.encode("ACGT"), 2, 3, 4])
    assert tokenizer.decode(ids) == "ACGT"
    assert tokenizer.spans(ids)[[0, -1]].tolist() == [[0, 0], [4, 4]]
    assert tokenizer.piece_bp[[1, 2, 3, 4]].tolist() == [0] * 4
    assert tokenizer.piece_bp[tokenizer.pieces.index("\n")] == 0


def test_gaps_have_places_but_no_length(with_gaps):
    tokenizer = JsonDnaTokenizer(with_gaps)
    gap = tokenizer.pieces.index("-")
    assert tokenizer.first_piece_id == gap + 1 == 6
    ids, spans = tokenizer.encode_with_spans("ACGT" + "N" * 25 + "ACGT" + "N" * 9)
    assert (ids == gap).sum() == 1
    assert spans[ids == gap].tolist() == [[4, 29]]
    assert (spans[-1, 1], np.diff(spans[:, 1]).min() > 0) == (42, True)
    assert tokenizer.decode(ids[ids != gap]) == "ACGTACGT" + "N" * 9
    for call in (tokenizer.decode, tokenizer.spans):
        with pytest.raises(ValueError, match="token '-' stands for no fixed number of bases"):
            call(ids)


@pytest.mark.parametrize("letter", ["a", "R", "-", "["])
def test_other_letters_are_refused_as_by_our_own(letter, with_gaps):
    for content in (WITHOUT_N, with_gaps):
        with pytest.raises(ValueError, match=r"are not A C G T N; pass the sequence through norm"):
            JsonDnaTokenizer(content).encode(f"ACGT{letter}")


def test_names_of_special_entries():
    other = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
    content = bytes_of(trained(TEXTS, special=other))
    with pytest.raises(
        InputError, match=r"t.json: the vocabulary has no \[CLS\], needed as cls token"
    ):
        JsonDnaTokenizer(content, name="t.json")
    names = {"cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    tokenizer = JsonDnaTokenizer(content, names)
    assert (tokenizer.cls_id, tokenizer.pad_id) == (1, 3)
    assert tokenizer.names == names | {"unk": "<unk>", "pad": "<pad>"}
    with pytest.raises(InputError, match="the vocabulary has no <sep>, needed as sep token"):
        JsonDnaTokenizer(content, names | {"sep": "<sep>"})


def test_truncation_and_padding_of_the_file_are_switched_off():
    made = tokenizers.Tokenizer.from_str(WITHOUT_N.decode())
    made.enable_truncation(8)
    made.enable_padding(length=8)
    assert len(JsonDnaTokenizer(bytes_of(made)).encode(DNA)) > 8


def test_not_for_dna():
    text = trained(["a vocabulary of words"] * 9, alphabet="ACGTN", size=60)
    with pytest.raises(InputError, match=r"t\.json: the vocabulary is not one of DNA"):
        JsonDnaTokenizer(bytes_of(text), name="t.json")
    with pytest.raises(InputError, match=r"t\.json: the tokenizers library cannot read it"):
        JsonDnaTokenizer(b"{}", name="t.json")
    with pytest.raises(InputError, match=r"makes a run of them one unknown token \(fuse_unk\)"):
        JsonDnaTokenizer(bytes_of(trained(TEXTS, fuse_unk=True)))


@pytest.mark.parametrize("kind", ["dna", "text-json", "text-model"])
def test_a_folder_holds_a_tokenizer(tmp_path, kind):
    """By its files, with the names beside them; workers get it as a pickle."""
    if kind == "dna":
        first = JsonDnaTokenizer(WITHOUT_N)
    elif kind == "text-json":
        made = trained(["a vocabulary of words"] * 9, alphabet="abc", size=60)
        first = TextTokenizer(bytes_of(made), "tokenizer.json")
    else:
        own = train_tokenizer(TEXTS, TokenizerConfig(vocab_size=60))
        first = TextTokenizer(own, "spiece.model")
    for name, content in first.files.items():
        (tmp_path / name).write_bytes(content)
    names = json.loads((tmp_path / "special_tokens_map.json").read_text())
    assert names["mask_token"] == "[MASK]"
    for second in (load_tokenizer(tmp_path), pickle.loads(pickle.dumps(first))):
        assert type(second) is type(first)
        assert second.files == first.files
        assert (second.mask_id, second.vocab_size) == (first.mask_id, first.vocab_size)
        assert second.encode("ACGT").tolist() == first.encode("ACGT").tolist()


def test_text_comes_back():
    made = trained(["a vocabulary of words"] * 9, alphabet="abc", size=60)
    made.decoder = decoders.Fuse()
    tokenizer = TextTokenizer(bytes_of(made), "tokenizer.json")
    ids = [tokenizer.cls_id, *tokenizer.encode("words of a vocabulary"), tokenizer.sep_id]
    assert tokenizer.decode(ids) == "words of a vocabulary"


def test_no_tokenizer(tmp_path):
    with pytest.raises(InputError, match=r"no tokenizer; expected tokenizer\.model or tokenizer"):
        load_tokenizer(tmp_path)
    (tmp_path / "spiece.model").write_bytes(b"nonsense")
    with pytest.raises(InputError, match=r"spiece\.model: this is not a SentencePiece model"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(WITHOUT_N)
    (tmp_path / "tokenizer_config.json").write_text('{"cls_token": {"content": "[SEP]"}}')
    assert load_tokenizer(tmp_path).cls_id == 2
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(InputError, match=r"tokenizer_config\.json: not valid JSON"):
        load_tokenizer(tmp_path)
