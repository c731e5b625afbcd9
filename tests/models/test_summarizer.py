"""The encoder-decoder against PyTorch's own decoder layers, and its promises."""

import itertools
from dataclasses import asdict, replace

import pytest
import torch
from torch import nn

from dna_bigbird.bundles.convert_run import extend_positions
from dna_bigbird.bundles.weights import unique_tensors
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.summarizer import Summarizer, start_from
from dna_bigbird.models.text_config import SummaryHead

CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=40,
    block_size=8, num_random=1, dropout=0.0, init_std=0.4,
)  # fmt: skip
COUPLED, OWN = SummaryHead(), SummaryHead(coupled=False)
APART = SummaryHead(coupled=False, decoder_layers=3, decoder_heads=4, decoder_ffn_size=20)


def summarizer(head=COUPLED, **changes):
    """Fresh weights with gains and biases away from 1 and 0."""
    model = Summarizer(replace(CONFIG, **changes), head, seed=0)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    return model.double().eval()


def batch(lengths=(37, 20, 40), U=9):
    generator = torch.Generator().manual_seed(3)
    ids_BT = torch.randint(5, 50, (len(lengths), max(lengths)), generator=generator)
    is_padding_BT = torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]
    targets_BU = torch.randint(5, 50, (len(lengths), U), generator=generator)
    return ids_BT, is_padding_BT, targets_BU


def reference(model, ids_BT, is_padding_BT, targets_BU):
    """nn.TransformerDecoderLayer over the encoder's states, layer by layer."""
    config, own = model.encoder.config, model.state_dict()
    decoder = model.decoder.config
    states = model.encoder(ids_BT, is_padding_BT)
    ids = torch.cat([torch.full_like(targets_BU[:, :1], 2), targets_BU], dim=1)[:, :-1]
    positions = own.get("decoder.position.weight", own["encoder.position.weight"])
    x = own["encoder.word.weight"][ids] * (4.0 if config.scale_embeddings else 1.0)
    x = x + positions[: ids.shape[1]]
    x = x + (own["encoder.segment.weight"][0] if config.num_segments else 0.0)
    side = "encoder" if model.head.coupled else "decoder"

    def norm(x):
        gain, shift = own[f"{side}.norm.weight"], own[f"{side}.norm.bias"]
        return nn.functional.layer_norm(x, (16,), gain, shift, config.norm_eps)

    x = x if config.norm_first else norm(x)
    causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
    for i in range(decoder.num_layers):
        layer = nn.TransformerDecoderLayer(
            16, decoder.num_heads, decoder.ffn_size, dropout=0.0, batch_first=True,
            norm_first=config.norm_first, layer_norm_eps=config.norm_eps, dtype=x.dtype,
            activation=lambda x: nn.functional.gelu(x, approximate="tanh"),
        )  # fmt: skip
        state = layer.state_dict()
        for kind in ("weight", "bias"):
            first, cross = f"{side}.layers.{i}.", f"decoder.cross.{i}."
            state |= {
                f"self_attn.in_proj_{kind}": own[f"{first}attention.qkv.{kind}"],
                f"self_attn.out_proj.{kind}": own[f"{first}attention.output.{kind}"],
                f"multihead_attn.in_proj_{kind}": torch.cat(
                    [own[f"{cross}query.{kind}"], own[f"{cross}key_value.{kind}"]]
                ),
                f"multihead_attn.out_proj.{kind}": own[f"{cross}output.{kind}"],
                f"norm1.{kind}": own[f"{first}attention_norm.{kind}"],
                f"norm2.{kind}": own[f"{cross}norm.{kind}"],
                f"norm3.{kind}": own[f"{first}ffn_norm.{kind}"],
                f"linear1.{kind}": own[f"{first}ffn_in.{kind}"],
                f"linear2.{kind}": own[f"{first}ffn_out.{kind}"],
            }
        layer.load_state_dict(state)
        x = layer(x, states, tgt_mask=causal, memory_key_padding_mask=is_padding_BT)
    x = norm(x) if config.norm_first else x
    return x @ own["encoder.word.weight"].T


@pytest.mark.parametrize("head", [COUPLED, OWN, APART, replace(APART, share_positions=False)])
@pytest.mark.parametrize(
    "changes",
    [{}, {"norm_first": True, "num_segments": 0, "scale_embeddings": True}],
    ids=["post", "pre"],
)
def test_equals_torch_decoder_layers(head, changes):
    model = summarizer(head, **changes)
    found = model(*batch())
    torch.testing.assert_close(found, reference(model, *batch()), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("head", "changes"), [(COUPLED, {}), (APART, {"norm_first": True})], ids=["coupled", "apart"]
)
def test_steps_with_cached_keys_equal_the_whole_pass(head, changes):
    """Two targets a source, one token at a time, and swapped half way."""
    model = summarizer(head, **changes)
    ids_BT, is_padding_BT, targets_BU = batch()
    sources = model.encode(ids_BT, is_padding_BT)
    both = torch.stack([targets_BU, targets_BU.flip(1)], dim=1).flatten(0, 1)
    twice = ids_BT.repeat_interleave(2, 0), is_padding_BT.repeat_interleave(2, 0)
    expected = model(*twice, both)
    cache = model.cache(sources, 6, 9)
    inputs, order = model.shifted(both), torch.arange(6)
    for u in range(9):
        found = model.step(inputs[order, u], sources, cache)
        torch.testing.assert_close(found, expected[order, u], rtol=0, atol=1e-10)
        if u in (3, 5):
            swap = torch.tensor([1, 0, 3, 3, 4, 5])
            cache.reorder(swap)
            order = order[swap]


def test_later_targets_change_nothing_before():
    model = summarizer()
    ids_BT, is_padding_BT, targets_BU = batch()
    changed_BU = targets_BU.clone()
    changed_BU[:, 4] = 49
    before, after = (model(ids_BT, is_padding_BT, x) for x in (targets_BU, changed_BU))
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(dim=-1).all()


def test_padding_of_the_source_is_not_read():
    model = summarizer()
    ids_BT, is_padding_BT, targets_BU = batch()
    alone = model(ids_BT[1:2, :20], is_padding_BT[1:2, :20], targets_BU[1:2])
    torch.testing.assert_close(model(*batch())[1:2], alone, rtol=0, atol=1e-12)
    none = model(ids_BT, torch.ones_like(is_padding_BT), targets_BU)
    assert none.isfinite().all()


def test_the_source_is_read():
    ids_BT, is_padding_BT, targets_BU = batch()
    model = summarizer()
    other = model(ids_BT.flip(1), is_padding_BT, targets_BU)
    assert (model(ids_BT, is_padding_BT, targets_BU) - other).abs().mean() > 0.1


def test_what_a_coupled_decoder_shares_is_held_once():
    """Only cross-attention is new; nothing is stored under two names."""
    names = unique_tensors(summarizer()).keys()
    assert names == summarizer().state_dict().keys()
    assert {name.split(".")[1] for name in names if name.startswith("decoder.")} == {"cross"}
    own = {n.split(".")[1] for n in unique_tensors(summarizer(OWN)) if n.startswith("decoder.")}
    assert own == {"cross", "layers", "norm"}


def test_gradients_reach_every_weight():
    """Of the shared layers too, from both sides."""
    for head in (COUPLED, replace(APART, share_positions=False)):
        model = summarizer(head)
        model(*batch()).square().sum().backward()
        still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
        assert not still


def masked_language_model(**changes):
    return PretrainingModel(replace(CONFIG, vocab_size=41, **changes), seed=5, heads=("mlm",))


def test_start_from_a_masked_language_model():
    """The encoder as it was, own layers as copies of it, new words and cross-attention fresh."""
    pretrained = masked_language_model()
    for head in (COUPLED, OWN, replace(OWN, share_positions=False, decoder_layers=1)):
        model = Summarizer(CONFIG, head, seed=1)
        fresh = model.decoder.cross[0].query.weight.clone()
        start_from(model, pretrained, seed=2)
        theirs = pretrained.encoder.state_dict()
        ours = model.encoder.state_dict()
        assert all(torch.equal(ours[n], x) for n, x in theirs.items() if n != "word.weight")
        assert torch.equal(ours["word.weight"][:41], theirs["word.weight"])
        assert torch.equal(model.decoder.cross[0].query.weight, fresh)
        for name, value in model.decoder.state_dict().items():
            if not name.startswith("cross."):
                assert torch.equal(value, theirs[name]), name
                assert value is not theirs[name]


def test_start_from_a_summarizer():
    pretrained = Summarizer(
        replace(CONFIG, vocab_size=41), replace(APART, logits_bias=True), seed=1
    )
    pretrained.logits_bias.normal_()
    model = Summarizer(CONFIG, replace(APART, logits_bias=True), seed=2)
    start_from(model, pretrained, seed=3)
    inputs = [x.remainder(41) if not x.dtype.is_floating_point and x.dtype != torch.bool else x
              for x in batch()]  # fmt: skip
    torch.testing.assert_close(
        model.eval()(*inputs)[..., :41], pretrained.eval()(*inputs), rtol=0, atol=1e-5
    )
    with pytest.raises(ValueError, match=r"the pretrained summarizer has .*decoder_layers=3"):
        start_from(Summarizer(CONFIG, COUPLED), pretrained, 0)
    with pytest.raises(ValueError, match=r"give --head\.logits_bias true"):
        start_from(Summarizer(CONFIG, APART), pretrained, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coupled": True, "decoder_heads": 4}, "--head.coupled true has the encoder's sizes"),
        ({"decoder_layers": -1}, "--head.decoder_layers -1"),
        ({"decoder_layers": 10**6}, "--head.decoder_layers 1000000"),
    ],
)
def test_contradictions_of_the_head(settings, message):
    with pytest.raises(ValueError, match=message):
        SummaryHead(**settings)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (SummaryHead(decoder_layers=3), "--head.decoder_layers 3 with --head.coupled true"),
        (SummaryHead(end_id=50), "--head.end_id 50 is beyond the vocabulary of 50"),
    ],
)
def test_contradictions_of_head_and_encoder(head, message):
    with pytest.raises(ValueError, match=message):
        Summarizer(CONFIG, head)


def test_own_decoders_that_no_encoder_fits():
    with pytest.raises(ValueError, match=r"--head\.decoder_layers 3: a decoder that starts from"):
        start_from(Summarizer(CONFIG, APART), masked_language_model(), 0)
    head = replace(OWN, decoder_heads=4)
    with pytest.raises(ValueError, match=r"--head\.decoder_heads and --head\.decoder_ffn_size"):
        start_from(Summarizer(CONFIG, head), masked_language_model(), 0)


def test_targets_beyond_the_position_table():
    ids_BT, is_padding_BT, _ = batch()
    with pytest.raises(ValueError, match="a target of 41 tokens, the model writes at most 40"):
        summarizer()(ids_BT, is_padding_BT, torch.ones(3, 41, dtype=torch.long))


@pytest.mark.parametrize("head", [COUPLED, replace(APART, share_positions=False)])
def test_a_bundle_brings_the_same_logits_back(tmp_path, head):
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.text.data.summarization import SummarizationOptions
    from tests.text_vocabulary import tiny_text_tokenizer

    model = summarizer(head, vocab_size=tiny_text_tokenizer().size_with_markers).float()
    config = {
        "task": "summarization",
        "reads": "text",
        "encoder": model.encoder.config,
        "head": asdict(head),
        "options": asdict(SummarizationOptions()),
        "label_names": [],
    }
    save_bundle(
        tmp_path / "b",
        model=model,
        config=config,
        tokenizer=tiny_text_tokenizer(),
        metrics={},
        card="",
    )
    loaded = load_bundle(tmp_path / "b").model
    assert torch.equal(loaded(*batch()), model(*batch()))
    assert len(list(itertools.chain(loaded.parameters()))) == len(list(model.parameters()))


@pytest.mark.parametrize("head", [COUPLED, replace(APART, share_positions=False)])
def test_longer_sources_after_tiling_the_positions(head):
    """Short sources keep their logits; the settings describe the longer model."""
    model = summarizer(head)
    longer = extend_positions(model, 80, "tile")
    assert torch.equal(longer(*batch()), model(*batch()))
    again = Summarizer(longer.encoder.config, head).double().eval()
    again.load_state_dict(longer.state_dict())
    assert again(*batch((70, 50, 80))).isfinite().all()
