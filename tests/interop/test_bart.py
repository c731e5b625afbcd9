"""BART of the library and ours: the same logits and summaries, both ways."""

import itertools

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.bundles.huggingface.summarizers import summarizer_folder
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.beam_search import beam_search
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.text_config import SummaryHead
from tests.interop.bart_models import library_summarizer, mask_of, summarizer_pair, their_logits
from tests.interop.edited import edited
from tests.interop.pegasus_models import save, sources

pytest.importorskip("transformers")
TARGETS = torch.arange(10, 24).view(2, 7)
CLOSE = {"rtol": 0, "atol": 1e-4}
LENGTH = 8


def assert_agree(theirs, ours, lengths):
    inputs = sources(lengths)
    expected = their_logits(theirs, "Bart", *inputs, TARGETS)
    with torch.no_grad():
        found = ours(*inputs, TARGETS)
    assert expected.std() > 0.3  # not all the same
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize(
    "settings",
    [{}, {"scale_embedding": True}, {"activation_function": "relu"}, {"decoder_layers": 1}],
    ids=str,
)
def test_logits_equal_the_library(tmp_path, settings):
    assert_agree(*summarizer_pair(tmp_path, "Bart", **settings), (128, 90))


@pytest.mark.parametrize("number", [0, 1])
def test_summaries_equal_those_of_generate(tmp_path, number):
    """One and four beams, three penalties, a shortest length; ends met and not met."""
    theirs = library_summarizer("Bart", seed=number, std=0.2)
    theirs.final_logits_bias[:, 1] = (-50.0, 4.0)[number]
    ours = read_huggingface(save(theirs, tmp_path)).model
    ids_BT, is_padding_BT = sources((40, 17), seed=number)
    lengths = set()
    for beams, penalty, least in ((1, 1.0, 0), (1, 1.0, 5), (4, 0.0, 0), (4, 0.8, 5), (4, 1.0, 0)):
        rows = theirs.generate(
            ids_BT, **mask_of(is_padding_BT, "Bart"), do_sample=False, num_beams=beams,
            length_penalty=penalty, min_length=least, max_length=LENGTH + 1,
        )  # fmt: skip
        found = beam_search(
            ours, ids_BT, is_padding_BT, max_length=LENGTH, length_formula="library",
            beam_size=beams, length_penalty=penalty, min_length=max(0, least - 1),
        )  # fmt: skip
        assert cut(found) == cut(rows[:, 1:]), (beams, penalty, least)
        lengths |= {len(row) for row in cut(found)}
    assert (min(lengths) < LENGTH) == bool(number)


def test_tokens_that_generate_forces_or_forbids(tmp_path):
    """Settings of published BART models: no run of tokens twice, a first token, an end at last."""
    theirs = library_summarizer("Bart", std=0.2)
    theirs.final_logits_bias[:, 30:32] = 9.0  # they repeat themselves
    theirs.final_logits_bias[:, 1] = -50.0
    ours = read_huggingface(save(theirs, tmp_path)).model
    ids_BT, is_padding_BT = sources((60, 17))
    written = {}
    for beams, size, first, end in (
        (4, 0, -1, False),
        (4, 2, 7, True),
        (1, 3, 7, False),
        (1, 1, -1, True),
    ):
        forced = {"forced_bos_token_id": 7} if first > 0 else {}
        rows = theirs.generate(
            ids_BT, **mask_of(is_padding_BT, "Bart"), do_sample=False, num_beams=beams, max_length=LENGTH + 1,
            no_repeat_ngram_size=size, forced_eos_token_id=1 if end else None, **forced,
        )  # fmt: skip
        found = beam_search(
            ours, ids_BT, is_padding_BT, max_length=LENGTH, length_formula="library", beam_size=beams,
            length_penalty=1.0, no_repeat=size, first_id=first, forced_end=end,
        )  # fmt: skip
        written[size] = cut(found)
        assert written[size] == cut(rows[:, 1:]), (beams, size, first, end)
    assert {row[0] for row in written[2]} == {7}
    assert {row[-1] for row in written[2]} == {1}
    runs = [list(itertools.pairwise(row)) for row in written[0] + written[2]]
    assert [len(set(run)) < len(run) for run in runs] == [True, True, False, False]


def cut(rows):
    return [row[: row.index(1) + 1] if 1 in row else row[:LENGTH] for row in rows.tolist()]


def test_there_and_back_again(tmp_path):
    """Folder -> bundle -> folder: equal tensors, but for the two rows of positions that no token has."""
    theirs = library_summarizer("Bart")
    (tmp_path / "theirs").mkdir()
    save(theirs, tmp_path / "theirs")
    edited(
        tmp_path / "theirs",
        "generation_config.json",
        num_beams=3,
        max_length=30,
        min_length=5,
        no_repeat_ngram_size=3,
        forced_bos_token_id=2,
        forced_eos_token_id=1,
    )
    main(["convert", "--from-huggingface", f"{tmp_path}/theirs", "--to", f"{tmp_path}/ours"])
    bundle = load_bundle(tmp_path / "ours")
    options = bundle.config.options
    assert (options.beam_size, options.max_target_tokens, options.min_target_tokens) == (3, 29, 4)
    assert (options.no_repeat_tokens, options.first_id, options.forced_end) == (3, 2, True)
    assert (options.source_form, options.length_formula) == ("cls_sep", "library")
    main(["convert", "--from", f"{tmp_path}/ours", "--to-huggingface", f"{tmp_path}/back"])
    again = type(theirs).from_pretrained(tmp_path / "back").eval()
    assert_agree(again, bundle.model, (128, 90))
    old, new = (
        safetensors.torch.load_file(tmp_path / name / "model.safetensors")
        for name in ("theirs", "back")
    )
    old["model.shared.weight"] = old.pop("lm_head.weight", old.get("model.shared.weight"))
    old.pop("final_logits_bias", None)  # zeros, which a bundle has no use for
    assert old.keys() <= new.keys()
    for name, tensor in old.items():
        skipped = 2 if "embed_positions" in name else 0
        assert torch.equal(new[name][skipped:], tensor[skipped:]), name


def test_the_class_without_the_last_layer(tmp_path):
    """`bart-base` is published as this; its word table is the last layer."""
    theirs = library_summarizer("Bart")
    (tmp_path / "whole").mkdir()
    (tmp_path / "base").mkdir()
    whole = read_huggingface(save(theirs, tmp_path / "whole")).model.state_dict()
    base = read_huggingface(save(theirs.model, tmp_path / "base")).model.state_dict()
    assert whole.keys() == base.keys()
    assert all(torch.equal(whole[name], base[name]) for name in whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["BartForQuestionAnswering"]}, "of bart only BartForConditionalGen"),
        ({"max_position_embeddings": 64}, r"embed_positions.weight is \(128, 32\), .* \(64, 32\)"),
        ({"activation_function": "swish"}, "activation_function is 'swish', not one of gelu_new"),
        ({"decoder_layers": 2}, "decoder_layers is 2, the weights have 3"),
    ],
    ids=str,
)
def test_other_models_are_refused(tmp_path, changes, message):
    edited(save(library_summarizer("Bart"), tmp_path), **changes)
    with pytest.raises(InputError, match=message):
        read_huggingface(tmp_path)


def test_a_plan_of_random_blocks_is_refused(tmp_path):
    with pytest.raises(InputError, match="--plan uniform: attention is full, which has no random"):
        read_huggingface(save(library_summarizer("Bart"), tmp_path), plan="uniform")


def test_models_that_the_library_lacks_are_not_written():
    encoder = EncoderConfig(
        vocab_size=20, hidden_size=8, num_layers=1, num_heads=1, ffn_size=8, max_tokens=32,
        attention="full", num_segments=0, norm_eps=1e-5,
    )  # fmt: skip
    head = SummaryHead(coupled=False, share_positions=False, decoder_positions=16)
    with pytest.raises(
        InputError, match="decoder_positions is 16, max_tokens 32; the library's Ba"
    ):
        summarizer_folder(Summarizer(encoder, head), {}, "here")
