"""BigBird-Pegasus of the library and ours: the same logits, both ways."""

from dataclasses import asdict, replace

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.huggingface import read_huggingface, write_huggingface
from dna_bigbird.bundles.huggingface.summarizers import summarizer_folder
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.summarizer import Summarizer
from tests.interop.edited import edited
from tests.interop.pegasus_models import library_pegasus, pegasus_pair, save, sources
from tests.text_vocabulary import tiny_text_tokenizer

pytest.importorskip("transformers")
TARGETS = torch.arange(10, 24).view(2, 7)


def their_logits(model, ids_BT, is_padding_BT, target_ids_BU, start=2):
    first = torch.full_like(target_ids_BU[:, :1], start)
    shifted = torch.cat([first, target_ids_BU[:, :-1]], dim=1)
    with torch.no_grad():
        return model(
            input_ids=ids_BT, attention_mask=(~is_padding_BT).long(), decoder_input_ids=shifted
        ).logits


def assert_agree(theirs, ours, lengths, atol=1e-4):
    ids_BT, is_padding_BT = sources(lengths)
    expected = their_logits(theirs, ids_BT, is_padding_BT, TARGETS)
    with torch.no_grad():
        found = ours(ids_BT, is_padding_BT, TARGETS)
    assert expected.std() > 0.3  # not all the same
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("lengths", [(1024, 1024), (1088, 800), (1500, 1025), (704, 704), (300, 9)])
def test_logits_equal_the_library(tmp_path, lengths):
    """Block-sparse attention from 705 tokens on, full attention below, as the library does."""
    assert_agree(*pegasus_pair(tmp_path), lengths)


@pytest.mark.parametrize(
    "settings",
    [
        {"use_bias": True, "scale_embedding": False},
        {"activation_function": "relu"},
        {"attention_type": "original_full", "activation_function": "gelu"},
    ],
    ids=str,
)
def test_settings_of_the_library(tmp_path, settings):
    assert_agree(*pegasus_pair(tmp_path, **settings), (800, 720))


def test_training_draws_the_library_s_random_blocks(tmp_path):
    theirs, ours = (model.train() for model in pegasus_pair(tmp_path))
    assert_agree(theirs, ours, (1024, 960))


def test_a_bias_of_the_logits_and_shared_positions(tmp_path):
    theirs = library_pegasus()
    theirs.final_logits_bias.normal_(generator=torch.Generator().manual_seed(1))
    table = theirs.model.encoder.embed_positions.weight.data
    theirs.model.decoder.embed_positions.weight.data = table.clone()
    ours = read_huggingface(save(theirs, tmp_path)).model
    assert ours.head.logits_bias
    assert ours.head.share_positions
    assert_agree(theirs, ours, (100, 80))


def run_convert(*arguments):
    main(["convert", *map(str, arguments)])


def test_there_and_back_again(tmp_path):
    """Folder -> bundle -> folder: the library loads it and computes the same."""
    import transformers

    theirs = library_pegasus()
    (tmp_path / "theirs").mkdir()
    save(theirs, tmp_path / "theirs")
    edited(
        tmp_path / "theirs",
        "generation_config.json",
        num_beams=3,
        length_penalty=0.7,
        max_length=30,
    )
    run_convert("--from-huggingface", tmp_path / "theirs", "--to", tmp_path / "ours")
    bundle = load_bundle(tmp_path / "ours")
    assert bundle.config["task"] == "summarization"
    options = bundle.config["options"]
    assert (options["beam_size"], options["length_penalty"]) == (3, 0.7)
    assert (options["max_target_tokens"], options["max_source_tokens"]) == (29, 2048)
    assert (options["length_formula"], options["source_form"]) == ("library", "end")
    assert_agree(theirs, bundle.model, (800, 720))
    run_convert("--from", tmp_path / "ours", "--to-huggingface", tmp_path / "back")
    again = transformers.BigBirdPegasusForConditionalGeneration.from_pretrained(tmp_path / "back")
    assert_agree(again.eval(), bundle.model, (800, 720))
    old, new = (
        safetensors.torch.load_file(tmp_path / name / "model.safetensors")
        for name in ("theirs", "back")
    )
    old["model.shared.weight"] = old.pop("lm_head.weight", old.get("model.shared.weight"))
    old.pop("final_logits_bias", None)  # zeros, which a bundle has no use for
    assert old.keys() <= new.keys()
    assert all(torch.equal(new[name], old[name]) for name in old)
    (tokenizer,) = (tmp_path / "back").glob("spiece.model")
    assert tokenizer.read_bytes() == (tmp_path / "theirs/spiece.model").read_bytes()


def test_a_coupled_decoder_is_written_as_two_copies(tmp_path, text_bundle_config):
    """The library has no shared layers; it computes the same with equal ones."""
    import transformers

    encoder, config = text_bundle_config
    model = Summarizer(encoder, seed=1).eval()
    write_huggingface(
        tmp_path / "out",
        model=model,
        config=config,
        tokenizer=tiny_text_tokenizer(),
        card="",
        source="here",
    )
    theirs = transformers.BigBirdPegasusForConditionalGeneration.from_pretrained(tmp_path / "out")
    assert_agree(theirs.eval(), model, (40, 33))


@pytest.fixture
def text_bundle_config():
    encoder = EncoderConfig(
        vocab_size=400, hidden_size=32, num_layers=2, num_heads=2, ffn_size=48, max_tokens=64,
        block_size=16, num_random=1, num_segments=0, norm_first=True, norm_eps=1e-5, init_std=0.5,
        qkv_bias=False, output_bias=False, random_plan="huggingface",
    )  # fmt: skip
    return encoder, {"task": "summarization", "encoder": asdict(encoder), "head": {}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["BigBirdPegasusForCausalLM"]}, "of bigbird_pegasus only"),
        ({"tie_word_embeddings": False}, "only tied word tables are read"),
        ({"decoder_layers": 2}, "decoder_layers is 2, the weights have 3"),
        ({"decoder_ffn_dim": 41}, r"fc1.weight is \(40, 32\), config.json asks for \(41, 32\)"),
        ({"eos_token_id": [1, 2]}, r"end_id is \[1, 2\], expected a whole number"),
        ({"attention_type": "sparse"}, "attention_type is 'sparse', not one of block_sparse"),
        ({"decoder_start_token_id": 4000}, "start_id 4000 is beyond the vocabulary of 400"),
        ({"pad_token_id": "zero"}, "pad_token_id is 'zero', expected a number"),
        ({"decoder_layers": 10**9}, "decoder_layers 1000000000"),
    ],
    ids=str,
)
def test_other_models_are_refused(tmp_path, changes, message):
    edited(save(library_pegasus(), tmp_path), **changes)
    with pytest.raises(InputError, match=message):
        read_huggingface(tmp_path)


def test_a_vocabulary_with_shifted_ids_is_refused(tmp_path):
    save(library_pegasus(), tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"offset": 103}')
    with pytest.raises(InputError, match=r"tokenizer_config\.json: offset is 103"):
        read_huggingface(tmp_path)


def test_settings_of_a_search_of_another_type(tmp_path):
    edited(save(library_pegasus(), tmp_path), "generation_config.json", num_beams="five")
    with pytest.raises(InputError, match="num_beams of the search is 'five', expected int"):
        read_huggingface(tmp_path)


def test_untied_tables_are_refused(tmp_path):
    path = save(library_pegasus(), tmp_path) / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["lm_head.weight"] = torch.zeros(400, 32)
    safetensors.torch.save_file(tensors, path)
    with pytest.raises(InputError, match=r"lm_head\.weight differs from model\.shared\.weight"):
        read_huggingface(tmp_path)


def test_models_that_the_library_lacks_are_not_written(tmp_path, text_bundle_config):
    encoder, _ = text_bundle_config
    for change in ({"norm_first": False}, {"norm_eps": 1e-6}, {"output_bias": True}):
        (name,) = change
        with pytest.raises(InputError, match=f"here: {name} is .* would compute something else"):
            summarizer_folder(Summarizer(replace(encoder, **change)), {}, "here")
    _, _, different = summarizer_folder(Summarizer(replace(encoder, random_plan="uniform")), {}, "")
    assert "random_plan uniform" in different[0]


def test_the_published_vocabulary(real_data):
    """96,103 pieces; ids as in the paper's code."""
    content = (real_data / "vocab/bigbird_pegasus_sentencepiece.model").read_bytes()
    tokenizer = TextTokenizer(content, "spiece.model")
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id) == (0, 1, 2)
    assert (tokenizer.unk_id, tokenizer.mask_id, tokenizer.vocab_size) == (105, 67, 96103)
    assert tokenizer.decode(tokenizer.encode("The first line. <n> A second.")) == (
        "The first line. <n> A second."
    )
