"""The BigBird-ETC encoder against torch's own transformer, and its promises on ragged batches."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from dna_bigbird.bundles.convert_run import extend_positions
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import SENTENCE, EtcChanges, EtcConfig
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.etc_encoder import NO_SENTENCE, EtcEncoder, GlobalTokens, build_encoder
from dna_bigbird.models.flops import etc_pairs, forward_flops
from dna_bigbird.models.lora import adapt
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer, parameter_groups
from tests.models.test_encoder import batch, spread_out
from tests.models.test_flops import counted, pretraining_inputs

ETC = EtcConfig(radius=6, max_distance=3, tokens_per_global=5)
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=100,
    block_size=8, dropout=0.0, attention="etc", etc=ETC,
)  # fmt: skip
WIDE = replace(
    CONFIG, etc=EtcConfig(radius=200, max_distance=3, tokens_per_global=5, hard_g2l=False)
)
OWN_WEIGHTS = [
    {},
    {"sharing": "kv", "shared_ffn": False},
    {"sharing": "none", "shared_output": True},
]


def encoder(config=CONFIG):
    return spread_out(build_encoder(config)).eval()


def as_one_sequence(etc: EtcEncoder, ids, is_padding, segments):
    """Torch's transformer over both streams in one row: equal weights, no labels, full attention."""
    own, c = etc.state_dict(), etc.config
    tokens = GlobalTokens.evenly(is_padding, c.etc.tokens_per_global)

    def norm(x, name):
        return nn.functional.layer_norm(
            x, (16,), own[f"{name}.weight"], own[f"{name}.bias"], c.norm_eps
        )

    x_long = own["word.weight"][ids] + own["segment.weight"][segments]
    x_global = own["global_type.weight"][tokens.types_BG]
    if not c.norm_first:
        x_long, x_global = norm(x_long, "norm"), norm(x_global, "global_norm")
    x = torch.cat([x_long, x_global], dim=1)
    hidden = torch.cat([is_padding, tokens.layout.global_padding], dim=1)
    names = {
        "attention.qkv": "self_attn.in_proj_", "attention.output": "self_attn.out_proj.",
        "attention_norm": "norm1.", "ffn_in": "linear1.", "ffn_out": "linear2.", "ffn_norm": "norm2.",
    }  # fmt: skip
    for i in range(c.num_layers):
        layer = nn.TransformerEncoderLayer(
            16, 2, 24, dropout=0.0, layer_norm_eps=c.norm_eps, batch_first=True, norm_first=c.norm_first,
            activation=lambda x: nn.functional.gelu(x, approximate="tanh"),
        )  # fmt: skip
        layer.load_state_dict(
            {
                theirs + kind: own[f"layers.{i}.{ours}.{kind}"]
                for ours, theirs in names.items()
                for kind in ("weight", "bias")
            }
        )
        x = layer.train()(x, src_key_padding_mask=hidden)
    x_long, x_global = x[:, : ids.shape[1]], x[:, ids.shape[1] :]
    return (
        (norm(x_long, "norm"), norm(x_global, "global_norm"))
        if c.norm_first
        else (x_long, x_global)
    )


@torch.no_grad()
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_wide_band_without_labels_is_a_transformer_over_both_streams(norm_first):
    """Specification §12, item 4, for the whole encoder."""
    etc = encoder(replace(WIDE, norm_first=norm_first))
    for layer in etc.layers:
        attention = layer.attention
        attention.global_output.load_state_dict(attention.output.state_dict())
        layer.global_attention_norm.load_state_dict(layer.attention_norm.state_dict())
        for table in (attention.long_labels, attention.global_labels):
            table.embeddings.zero_(), table.biases.zero_()
    ids, is_padding, segments = batch([37, 60, 12])
    expected = as_one_sequence(etc, ids, is_padding, segments)
    found = etc.both(ids, is_padding, segments)
    hidden = (is_padding, GlobalTokens.evenly(is_padding, 5).layout.global_padding)
    for ours, theirs, is_hidden in zip(found, expected, hidden, strict=True):
        torch.testing.assert_close(ours[~is_hidden], theirs[~is_hidden], atol=2e-5, rtol=2e-5)
        assert not ours[is_hidden].any()


@torch.no_grad()
@pytest.mark.parametrize("own", OWN_WEIGHTS, ids=str)
def test_a_sequence_has_the_same_states_alone_and_next_to_longer_ones(own):
    etc = encoder(replace(CONFIG, etc=replace(ETC, **own), stem_width=3))
    lengths = [23, 60, 1, 151]  # longer than max_tokens: there is no table of positions
    ids, is_padding, segments = batch(lengths)
    together = etc.both(ids, is_padding, segments)
    for i, length in enumerate(lengths):
        part = slice(i, i + 1), slice(0, length)
        alone = etc.both(ids[part], is_padding[part], segments[part])
        torch.testing.assert_close(together[0][part], alone[0], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(
            together[1][i, : -(-length // 5)], alone[1][0], atol=1e-5, rtol=1e-5
        )


@torch.no_grad()
def test_what_a_token_reads_in_one_layer():
    """The band, and through its global token, not before the second layer, everything else."""
    etc = encoder(replace(CONFIG, num_layers=2))
    ids, is_padding, _ = batch([90])
    other = ids.clone()
    other[0, 70] = 5 + (ids[0, 70] - 4) % 45
    # States after one layer: of the long stream only the band of token 70 has changed.
    once = [etc.both(x, is_padding, num_layers=1) for x in (ids, other)]
    changed = [(a != b).any(-1)[0].nonzero().flatten().tolist() for a, b in zip(*once, strict=True)]
    assert changed == [list(range(64, 77)), [14]]
    twice = [etc.both(x, is_padding) for x in (ids, other)]
    for a, b in zip(*twice, strict=True):
        assert (a != b).any(-1).all()


@torch.no_grad()
def test_skips_add_what_the_mirrored_layer_read_to_both_streams():
    etc = encoder(replace(CONFIG, num_layers=5, layer_skips=True))
    etc.skip_scales.copy_(torch.tensor([0.3, -2.0]))
    ids, is_padding, _ = batch([90])
    layout = GlobalTokens.evenly(is_padding, 5).layout
    read = [etc.both(ids, is_padding, num_layers=n) for n in range(3)]
    states = etc.layers[2](*read[2], layout)
    states = etc.layers[3](*(x - 2.0 * y for x, y in zip(states, read[1], strict=True)), layout)
    states = etc.layers[4](*(x + 0.3 * y for x, y in zip(states, read[0], strict=True)), layout)
    for found, expected in zip(etc.both(ids, is_padding), states, strict=True):
        torch.testing.assert_close(found, expected)


def test_global_tokens_of_sentences():
    sentences = torch.tensor(
        [[NO_SENTENCE, 0, 0, 1, 1, 1, NO_SENTENCE], [NO_SENTENCE, 0, 0, 0, 9, 9, 9]]
    )
    is_padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    tokens = GlobalTokens.of_sentences(sentences, is_padding)
    assert tokens.types_BG[0].tolist() == [SENTENCE, SENTENCE]
    assert tokens.layout.global_padding.tolist() == [[False, False], [False, True]]
    belongs = tokens.layout.belongs.int().tolist()
    assert belongs[0] == [[0, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 0]]
    assert belongs[1] == [[0, 0], *[[1, 0]] * 3, *[[0, 0]] * 3]


def test_weights_depend_on_the_seed_alone_and_labels_keep_their_own_size():
    torch.manual_seed(1)
    first = PretrainingModel(CONFIG, seed=3).state_dict()
    torch.manual_seed(2)
    again, other = (PretrainingModel(CONFIG, seed=s).state_dict() for s in (3, 4))
    assert all(torch.equal(x, again[name]) for name, x in first.items())
    name = "encoder.layers.1.attention.long_labels.embeddings"
    assert not torch.equal(first[name], other[name])
    wide = build_encoder(replace(CONFIG, hidden_size=256)).state_dict()
    deviation = wide["layers.0.attention.global_labels.embeddings"].std()
    assert deviation == pytest.approx(0.44, abs=0.02)  # 0.5, cut at two deviations
    assert wide["layers.0.attention.qkv.weight"].std() == pytest.approx(0.0176, abs=0.001)


@pytest.mark.parametrize("own", OWN_WEIGHTS, ids=str)
def test_every_weight_learns_and_checkpointing_changes_nothing(own):
    config = replace(CONFIG, etc=replace(ETC, **own))
    gradients = []
    for is_recomputed in (False, True):
        etc = encoder(replace(config, gradient_checkpointing=is_recomputed)).train()
        states = etc.both(*batch([40, 33]))
        (states[0].square().sum() + states[1].sin().sum()).backward()
        gradients.append({name: p.grad for name, p in etc.named_parameters()})
        unread = {"global_type.weight", "segment.weight", "word.weight"}
        assert all(g.abs().max() > 0 for n, g in gradients[-1].items() if n not in unread)
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name])


def test_backends_agree_and_others_are_refused():
    etc = encoder(replace(CONFIG, etc=replace(ETC, radius=20)))
    inputs = batch([300, 211])
    states = []
    for name in ("auto", "dense"):
        etc.set_backend(name)
        states.append(etc(*inputs))
    torch.testing.assert_close(*states, atol=1e-5, rtol=1e-5)
    with pytest.raises(InputError, match=r"'native' computes block patterns.*auto and dense"):
        etc.set_backend("native")
    assert etc.without_native() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": "rotary"}, "etc has no --model.positions rotary"),
        ({"qk_norm": True}, "etc has no --model.qk_norm true"),
        ({"patch_tokens": 2}, "etc has no --model.patch_tokens 2"),
        ({"head_gates": True}, "etc has no --model.head_gates true: its two streams"),
        ({"value_embeddings": True}, "etc has no --model.value_embeddings true"),
        ({"window_blocks": 2}, "window_blocks 2"),
        ({"etc": {"radius": 0}}, "radius 0"),
        ({"etc": {"sharing": "all"}}, "sharing='all'"),
        ({"etc": {"local_mode": "three_blocks", "radius": 5}}, "needs a etc.radius of at least"),
        ({"etc": {"radius": 2.5}}, "radius is 2.5, expected a whole number"),
        ({"etc": {"width": 2}}, "unknown setting 'width'"),
        ({"attention": "full", "etc": ETC}, "etc is read with --model.attention etc only"),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other(changes, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**{"attention": "etc"} | changes)


def test_a_decoder_on_it_is_refused():
    with pytest.raises(ValueError, match="a decoder needs the layers of bigbird, full, longformer"):
        Summarizer(CONFIG)


def test_changes_of_an_encoder():
    small = EncoderConfig(positions="rotary", norm_first=True)
    changes = EncoderChanges(attention="etc", etc=EtcChanges(**vars(ETC)))
    changed = changes.applied_to(small)
    assert (changed.attention, changed.etc, changed.positions) == ("etc", ETC, "learned")
    assert changes.other_weights(small) == ["attention", "etc.max_distance"]
    assert EncoderChanges(attention="bigbird").other_weights(changed) == ["attention"]
    assert EncoderChanges(attention="etc", max_tokens=9).other_weights(changed) == []
    assert EncoderChanges(etc=EtcChanges(radius=3)).other_weights(changed) == []
    assert EncoderChanges(etc=EtcChanges(max_distance=4)).other_weights(changed) == [
        "etc.max_distance"
    ]
    with pytest.raises(ValueError, match=r"etc has no --model.positions rotary"):
        EncoderChanges(attention="etc", positions="rotary").applied_to(small)


@torch.no_grad()
def test_longer_sequences_need_no_rule():
    model = encoder()
    longer = extend_positions(model, 400)
    assert isinstance(longer, EtcEncoder)
    assert longer.config.max_tokens == 400
    inputs = batch([60])
    torch.testing.assert_close(longer(*inputs), model(*inputs))
    with pytest.raises(ValueError, match="--positions"):
        extend_positions(model, 400, "tile")


def test_parts_of_the_long_stream_have_the_names_and_shapes_of_the_other_encoder():
    """So that weights move from one to the other."""
    etc = build_encoder(CONFIG).state_dict()
    itc = Encoder(replace(CONFIG, attention="bigbird", etc=EtcConfig())).state_dict()
    missing = {name for name, x in itc.items() if name not in etc or etc[name].shape != x.shape}
    assert missing == {"position.weight"}


@pytest.mark.parametrize("own", OWN_WEIGHTS[:2], ids=str)
def test_lora_adapts_both_streams(own):
    model = encoder(replace(CONFIG, etc=replace(ETC, **own)))
    before = model(*batch([40]))
    adapt(model, LoraConfig(rank=2, targets=["query", "value", "output", "ffn"]), torch.Generator())
    torch.testing.assert_close(model(*batch([40])), before)
    adapted = {
        n.split(".parametrizations")[0] for n, p in model.named_parameters() if p.requires_grad
    }
    linears = {n for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    assert adapted == linears
    with pytest.raises(ValueError, match=r"--model.etc.sharing none is not adapted"):
        adapt(
            encoder(replace(CONFIG, etc=EtcConfig(sharing="none"))),
            LoraConfig(rank=2),
            torch.Generator(),
        )


def test_label_biases_do_not_decay_and_are_not_for_muon():
    model = PretrainingModel(CONFIG)
    label_biases = [p for n, p in model.named_parameters() if n.endswith("labels.biases")]
    spared = {id(p) for p in parameter_groups(model, 0.1)[1]["params"]}
    assert len(label_biases) == 4
    assert all(id(p) in spared for p in label_biases)
    training = TrainConfig(optimizer="muon", max_steps=5, validate_every=5)
    optimizer, _ = build_optimizer(model, training)
    by_muon = {id(p) for g in optimizer.param_groups if g["is_muon"] for p in g["params"]}
    matrices = {id(m.weight) for m in model.encoder.layers.modules() if isinstance(m, nn.Linear)}
    assert by_muon == matrices


@pytest.mark.parametrize("own", OWN_WEIGHTS, ids=str)
def test_operations_are_those_that_torch_counts(own):
    """Where everything is read, one token stands for all, and all weights are used by both streams."""
    etc = replace(WIDE.etc, tokens_per_global=64, **own)
    model = PretrainingModel(replace(CONFIG, etc=etc))
    inputs = pretraining_inputs(2, 64, 3)
    assert forward_flops(model, [64, 64], 3) == counted(model, inputs)


@pytest.mark.parametrize("length", [1, 7, 50])
@pytest.mark.parametrize(
    "etc",
    [ETC, replace(ETC, local_mode="three_blocks"), replace(ETC, hard_g2l=False, hard_l2g=True)],
    ids=str,
)
def test_pairs_are_those_of_the_pattern(etc, length):
    model = build_encoder(replace(CONFIG, etc=etc))
    pattern = model.layers[0].attention.pattern
    layout = GlobalTokens.evenly(torch.zeros(1, length, dtype=torch.bool), 5).layout
    whole = slice(0, length)
    pairs = sum(pattern.in_band(i, j) for i in range(length) for j in range(length))
    pairs += int(layout.long_reads_global(pattern, whole).sum())
    pairs += int(layout.global_reads_long(pattern, whole).sum())
    pairs += int(layout.global_reads_global().sum())
    assert etc_pairs(model.config, length, -(-length // 5)) == pairs


def test_a_classifier_of_it():
    model = SequenceClassifier(CONFIG, 3, HeadConfig(pooling="mean"))
    ids, is_padding, _ = batch([40, 31])
    logits = model(ids, is_padding)
    assert logits.shape == (2, 3)
    assert isinstance(model.encoder, EtcEncoder)
