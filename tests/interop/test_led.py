"""LED of the library and ours: the same logits and summaries, both ways."""

import json
from dataclasses import replace

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.bundles.huggingface.summarizers import summarizer_folder
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import LongformerConfig
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


def our_logits(ours, *inputs):
    with torch.no_grad():
        return ours(*inputs, TARGETS)


@pytest.mark.parametrize("lengths", [(256, 150), (90, 61), (16, 5)])
@pytest.mark.parametrize(
    "settings", [{}, {"attention_window": 32, "activation_function": "relu"}], ids=str
)
def test_logits_equal_the_library(tmp_path, lengths, settings):
    """Whole windows and ragged ones; the first token is global."""
    theirs, ours = summarizer_pair(tmp_path, "LED", **settings)
    inputs = sources(lengths)
    expected = their_logits(theirs, "LED", *inputs, TARGETS)
    assert expected.std() > 0.3  # not all the same
    torch.testing.assert_close(our_logits(ours, *inputs), expected, **CLOSE)


def test_the_library_s_default_has_no_global_token(tmp_path):
    """Without a mask of global tokens it computes something else; here the first token is global."""
    theirs, ours = summarizer_pair(tmp_path, "LED")
    ids_BT, is_padding_BT = sources((90, 61))
    masks = {"attention_mask": (~is_padding_BT).long()}
    without = their_logits(theirs, "LED", ids_BT, is_padding_BT, TARGETS, **masks)
    assert (our_logits(ours, ids_BT, is_padding_BT) - without).abs().max() > 0.05
    none_BT = torch.zeros_like(is_padding_BT)
    with torch.no_grad():
        states_BTE = ours.encoder(ids_BT, is_padding_BT, is_global_BT=none_BT)
        found = ours.logits(
            ours.decoder(
                ours.encoder, ours.shifted(TARGETS), ours.decoder.sources(states_BTE, is_padding_BT)
            )
        )
    torch.testing.assert_close(found, without, **CLOSE)


@pytest.mark.parametrize("number", [0, 1])
def test_summaries_equal_those_of_generate(tmp_path, number):
    """One and four beams, penalties, a shortest length; ends met and not met."""
    theirs = library_summarizer("LED", seed=number, std=0.2)
    theirs.final_logits_bias[:, 1] = (-50.0, 4.0)[number]
    ours = read_huggingface(save(theirs, tmp_path)).model
    inputs = sources((40, 17), seed=number)
    lengths = set()
    for beams, penalty, least in ((1, 1.0, 5), (4, 0.8, 5), (4, 0.0, 0)):
        rows = theirs.generate(
            inputs[0], **mask_of(inputs[1], "LED"), do_sample=False, num_beams=beams,
            length_penalty=penalty, min_length=least, max_length=LENGTH + 1,
        )  # fmt: skip
        found = beam_search(
            ours, *inputs, max_length=LENGTH, length_formula="library", beam_size=beams,
            length_penalty=penalty, min_length=max(0, least - 1),
        )  # fmt: skip
        assert cut(found) == cut(rows[:, 1:]), (beams, penalty, least)
        lengths |= {len(row) for row in cut(found)}
    assert (min(lengths) < LENGTH) == bool(number)


def cut(rows):
    return [row[: row.index(1) + 1] if 1 in row else row[:LENGTH] for row in rows.tolist()]


def test_there_and_back_again(tmp_path):
    """Folder -> bundle -> folder: equal tensors and settings."""
    theirs = library_summarizer("LED")
    (tmp_path / "theirs").mkdir()
    save(theirs, tmp_path / "theirs")
    main(["convert", "--from-huggingface", f"{tmp_path}/theirs", "--to", f"{tmp_path}/ours"])
    bundle = load_bundle(tmp_path / "ours")
    options, head = bundle.config.options, bundle.config.head
    assert (options.max_source_tokens, options.max_target_tokens) == (256, 64)
    assert (head.decoder_positions, head.start_id, head.end_id) == (64, 2, 1)
    assert bundle.config.encoder.longformer.windows == (4, 8)
    main(["convert", "--from", f"{tmp_path}/ours", "--to-huggingface", f"{tmp_path}/back"])
    again = type(theirs).from_pretrained(tmp_path / "back").eval()
    old, new = (model.state_dict() for model in (theirs, again))
    assert old.keys() == new.keys()
    assert all(torch.equal(new[name], old[name]) for name in old)
    settings = json.loads((tmp_path / "theirs/config.json").read_text())
    written = again.config.to_dict()
    names = set(settings) - {"transformers_version", "dtype", "use_cache"}
    assert {name for name in names if written[name] != settings[name]} == set()


def test_the_search_goes_back_too(tmp_path):
    """`generate` on the written folder, without settings, is the search of the bundle."""
    theirs = library_summarizer("LED", std=0.2)
    theirs.final_logits_bias[:, 30:32] = 9.0
    theirs.generation_config.update(
        num_beams=3, length_penalty=0.6, max_length=9, min_length=4, no_repeat_ngram_size=2, forced_bos_token_id=7,
        forced_eos_token_id=1, early_stopping=True,
    )  # fmt: skip
    (tmp_path / "theirs").mkdir()
    save(theirs, tmp_path / "theirs")
    main(["convert", "--from-huggingface", f"{tmp_path}/theirs", "--to", f"{tmp_path}/ours"])
    main(["convert", "--from", f"{tmp_path}/ours", "--to-huggingface", f"{tmp_path}/back"])
    again = type(theirs).from_pretrained(tmp_path / "back").eval()
    inputs = sources((40, 17))
    first, second = (
        model.generate(inputs[0], **mask_of(inputs[1], "LED")) for model in (theirs, again)
    )
    assert first.tolist() == second.tolist()
    assert (first[:, 1] == 7).all()
    card = (tmp_path / "back/README.md").read_text()
    assert (
        "`global_attention_mask` for it (1 for that token, 0 for the others), in `generate`, too"
        in card
    )


def test_a_longer_context(tmp_path):
    """`--positions tile` repeats the encoder's table; the decoder keeps its own."""
    (tmp_path / "theirs").mkdir()
    save(library_summarizer("LED"), tmp_path / "theirs")
    main(["convert", "--from-huggingface", f"{tmp_path}/theirs", "--to", f"{tmp_path}/ours"])
    longer = f"--from {tmp_path}/ours --to {tmp_path}/longer --max-tokens 600 --positions tile"
    main(["convert", *longer.split()])
    old, new = (load_bundle(tmp_path / name).model for name in ("ours", "longer"))
    positions = old.encoder.position.weight
    assert torch.equal(new.encoder.position.weight, positions.repeat(3, 1)[:600])
    assert torch.equal(new.decoder.position.weight, old.decoder.position.weight)
    inputs = sources((60, 41))
    torch.testing.assert_close(our_logits(new, *inputs), our_logits(old, *inputs))


@pytest.mark.parametrize("separate", [True, False])
def test_a_coupled_decoder_is_written_as_copies(tmp_path, separate):
    """So are global projections that are not separate: the library computes the same with them."""
    import transformers

    encoder = EncoderConfig(
        vocab_size=400, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=64, norm_eps=1e-5,
        attention="longformer", num_segments=0, init_std=0.5,
        longformer=LongformerConfig(window_tokens=4, separate_global=separate),
    )  # fmt: skip
    model = Summarizer(encoder, SummaryHead()).eval()
    written, tensors, different = summarizer_folder(model, {}, "here")
    assert different == []
    (tmp_path / "config.json").write_text(json.dumps(written))
    safetensors.torch.save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    theirs = transformers.LEDForConditionalGeneration.from_pretrained(tmp_path).eval()
    inputs = sources((60, 41))
    expected = their_logits(theirs, "LED", *inputs, TARGETS)
    assert expected.std() > 0.3
    torch.testing.assert_close(our_logits(model, *inputs), expected, **CLOSE)
    gaps = replace(encoder.longformer, dilations=(1, 2))
    with pytest.raises(
        InputError, match=r"here: longformer.dilations is \[1, 2\] \(its windows hav"
    ):
        summarizer_folder(Summarizer(replace(encoder, longformer=gaps)), {}, "here")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["LEDForQuestionAnswering"]}, "of led only LEDForConditionalGeneration"),
        (
            {"attention_window": [8, 9]},
            r"attention_window is \[8, 9\]; expected an even number, or",
        ),
        (
            {"max_decoder_position_embeddings": 32},
            r"embed_positions.weight is \(64, 32\), .*\(32, 32\)",
        ),
        ({"forced_eos_token_id": 7}, "forced_eos_token_id is 7; only the end token, 1, is read"),
    ],
    ids=str,
)
def test_other_models_are_refused(tmp_path, changes, message):
    folder = save(library_summarizer("LED"), tmp_path)
    (folder / "generation_config.json").unlink()
    edited(folder, **changes)
    with pytest.raises(InputError, match=message):
        read_huggingface(tmp_path)
