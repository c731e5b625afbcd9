"""What we write, the library loads, and computes the same with."""

import json
import re

import pytest
import torch

from dna_bigbird.bundles.huggingface import read_huggingface, write_huggingface
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.attention_config import EtcConfig, LongformerConfig, PerformerConfig
from dna_bigbird.models.config import PRETRAINING_HEADS, EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel

transformers = pytest.importorskip("transformers")
ENCODER = EncoderConfig(
    vocab_size=64, hidden_size=32, num_layers=2, num_heads=2, ffn_size=48, max_tokens=1024,
    block_size=16, num_random=2, random_plan="huggingface", dropout=0.1, init_std=0.3,
)  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer(dna):
    texts = [dna(500, seed) for seed in range(20)]
    return DnaTokenizer.from_bytes(train_tokenizer(texts, TokenizerConfig(vocab_size=64)))


@pytest.fixture
def write(tokenizer, tmp_path):
    """Function (encoder settings, options) -> (our model, folder)."""

    def write(encoder=ENCODER, heads=PRETRAINING_HEADS, config=None, **options):
        model = PretrainingModel(encoder, heads=heads).eval()
        described = {"task": "pretraining", "encoder": vars(encoder)} | (config or {})
        write_huggingface(
            tmp_path / "hf",
            model=model,
            config=described,
            tokenizer=tokenizer,
            card="# card\n",
            source="bundle",
            **options,
        )
        return model, tmp_path / "hf"

    return write


def load(folder):
    """The model of the class that config.json names; every weight must find its place."""
    name = json.loads((folder / "config.json").read_text())["architectures"][0]
    model, info = getattr(transformers, name).from_pretrained(folder, output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return model.eval()


def hidden_states(model, ids_BT, segments_BT):
    with torch.no_grad():
        if isinstance(model, PretrainingModel):
            return model.encoder(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool), segments_BT)
        base = getattr(model, "bert", model)
        return base(ids_BT, token_type_ids=segments_BT).last_hidden_state


@pytest.mark.parametrize("attention", ["bigbird", "full"])
@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu", "relu"])
def test_the_library_computes_the_same(write, attention, activation):
    settings = vars(ENCODER) | {"attention": attention, "activation": activation, "norm_eps": 1e-6}
    model, folder = write(EncoderConfig(**settings))
    theirs = load(folder)
    ids_BT = torch.randint(5, 64, (2, 640), generator=torch.Generator().manual_seed(0))
    segments_BT = (ids_BT % 3 == 0).long()
    found = theirs(ids_BT, token_type_ids=segments_BT)
    hidden_BTE = hidden_states(model, ids_BT, segments_BT)
    torch.testing.assert_close(
        model.mlm(hidden_BTE, model.encoder.word.weight), found.prediction_logits, rtol=0, atol=1e-4
    )
    is_padding_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    nsp_B2 = model.nsp(model.pooler(hidden_BTE, is_padding_BT))
    torch.testing.assert_close(nsp_B2, found.seq_relationship_logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("heads", "name"),
    [
        (("mlm", "pooler"), "BigBirdForMaskedLM"),
        (("pooler",), "BigBirdModel"),
    ],
)
def test_models_without_some_heads(write, heads, name):
    model, folder = write(heads=heads)
    assert type(load(folder)).__name__ == name
    assert read_huggingface(folder).model.heads == heads
    ids_BT = torch.randint(5, 64, (1, 300), generator=torch.Generator().manual_seed(0))
    expected = hidden_states(model, ids_BT, ids_BT * 0)
    found = hidden_states(load(folder), ids_BT, ids_BT * 0)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "heads", [PRETRAINING_HEADS, ("mlm", "pooler"), ("mlm",), ("pooler",), ()], ids=len
)
def test_ours_to_theirs_to_ours(write, tokenizer, heads):
    model, folder = write(heads=heads)
    again = read_huggingface(folder)
    assert again.model.heads == heads
    assert again.config["encoder"] == stored_encoder(ENCODER) | {"random_plan": "huggingface"}
    assert again.tokenizer.files == tokenizer.files
    for (name, a), b in zip(
        model.state_dict().items(), again.model.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("name", ["BigBirdForPreTraining", "BigBirdForMaskedLM", "BigBirdModel"])
def test_theirs_to_ours_to_theirs(library_model, save_library_model, tmp_path, name):
    settings = {"hidden_act": "gelu_pytorch_tanh", "attention_probs_dropout_prob": 0.3}
    model = library_model(name, **settings)
    (tmp_path / "first").mkdir()
    found = read_huggingface(save_library_model(model, tmp_path / "first"))
    write_huggingface(
        tmp_path / "second",
        model=found.model,
        config=found.config,
        tokenizer=found.tokenizer,
        card=found.card,
        source="bundle",
    )
    again = load(tmp_path / "second")
    assert type(again) is type(model)
    for (key, a), b in zip(model.state_dict().items(), again.state_dict().values(), strict=True):
        assert torch.equal(a, b), key
    texts = [(tmp_path / part / "tokenizer.json").read_bytes() for part in ("first", "second")]
    assert texts[0] == texts[1]
    first, second = (
        json.loads((tmp_path / part / "config.json").read_text()) for part in ("first", "second")
    )
    ignored = {"transformers_version", "use_cache", "classifier_dropout"}
    assert {k: v for k, v in first.items() if k not in ignored} == second
    ids_BT = torch.randint(5, 120, (1, 832), generator=torch.Generator().manual_seed(0))
    expected, result = (hidden_states(m, ids_BT, ids_BT * 0) for m in (model, again))
    assert torch.equal(expected, result)


DIFFERENT = [
    ({"random_plan": "uniform"}, r"random_plan uniform \(it draws its own"),
    ({"random_plan": "original"}, "random_plan original"),
    ({"random_plan": "uniform", "window_blocks": 5}, r"window_blocks 5 \(its window is three"),
    ({"random_plan": "uniform", "global_blocks": "first_two"}, "global_blocks first_two"),
    (
        {"global_blocks": "first_two"},
        r"global_blocks first_two \(its global blocks are the first and",
    ),
    ({"attention_dropout": 0.1}, r"attention_dropout 0\.1"),
    ({"num_random": 0}, r"num_random 0 \(it fails without"),
    ({"max_tokens": 1000}, "max_tokens 1000 .it pads to blocks of 16"),
]


@pytest.mark.parametrize(("settings", "message"), DIFFERENT, ids=lambda x: "-".join(x)[:40])
def test_what_the_library_cannot_compute(write, tmp_path, settings, message):
    encoder = EncoderConfig(**(vars(ENCODER) | settings))
    with pytest.raises(InputError, match=message) as refusal:
        write(encoder)
    assert "--allow-different-attention true" in str(refusal.value)
    assert not (tmp_path / "hf").exists()
    _, folder = write(encoder, allow_different_attention=True)
    card = (folder / "README.md").read_text()
    assert "**The library computes something else than the bundle did:**" in card
    assert f"- {next(reversed(settings))} " in card
    load(folder)


OTHER = {
    "vocab_size": 70, "hidden_size": 64, "num_layers": 1, "num_heads": 4, "ffn_size": 40,
    "max_tokens": 512, "block_size": 32, "num_segments": 3, "attention": "full",
    "window_blocks": 5, "global_blocks": "first_two", "num_random": 1, "random_plan": "uniform",
    "pattern_seed": 7, "activation": "relu", "norm_eps": 0.01, "qkv_bias": False,
    "output_bias": False, "norm_first": True, "positions": "rotary", "rotary_base": 500.0,
    "qk_norm": True, "stem_width": 3, "patch_tokens": 2, "scale_residual": True, "train_positions": False,
    "scale_embeddings": True, "dropout": 0.3, "attention_dropout": 0.2, "init_std": 0.1,
    "layer_skips": True, "value_embeddings": True, "head_gates": True, "untied_head": True, "logit_cap": 9.0,
    "word_memory": 40, "word_tokens": 4,
    "gradient_checkpointing": True, "etc": EtcConfig(radius=5),
    "longformer": LongformerConfig(5), "performer": PerformerConfig(5),
}  # fmt: skip
"""Another value of every setting of the encoder."""
NEVER_HELD = {"norm_first", "positions", "qk_norm", "stem_width", "patch_tokens", "output_bias"}
NEVER_HELD |= {
    "layer_skips",
    "value_embeddings",
    "head_gates",
    "untied_head",
    "logit_cap",
    "word_memory",
}
NEEDED = {
    "window_blocks": {"random_plan": "uniform"},
    "patch_tokens": {"norm_first": True, "positions": "rotary"},
    "layer_skips": {"num_layers": 2},
    "etc": {"attention": "etc"},
    "longformer": {"attention": "longformer"},
    "performer": {"attention": "performer"},
}
"""Settings that another one goes with only."""


def test_no_setting_is_forgotten():
    assert OTHER.keys() == vars(ENCODER).keys()
    assert all(OTHER[name] != value for name, value in vars(ENCODER).items())


def written_or_refused(write, encoder):
    """Our model and the folder, or the message of the refusal."""
    try:
        return write(encoder)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("name", sorted(OTHER.keys() - {"longformer"}))  # in test_longformer.py
def test_each_setting_is_refused_by_name_or_computes_the_same(write, tmp_path, name):
    encoder = EncoderConfig(**(vars(ENCODER) | NEEDED.get(name, {}) | {name: OTHER[name]}))
    result = written_or_refused(write, encoder)
    if isinstance(result, str):
        assert re.search(rf"^bundle: the library.*cannot.*\b{name} ", result)
        assert not (tmp_path / "hf").exists()
        return
    model, folder = result
    ids_BT = torch.randint(5, 64, (1, 480), generator=torch.Generator().manual_seed(0))
    expected = hidden_states(model, ids_BT, ids_BT * 0)
    found = hidden_states(load(folder), ids_BT, ids_BT * 0)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", sorted(NEVER_HELD))
def test_weights_without_a_place_are_never_written(write, tmp_path, name):
    encoder = EncoderConfig(**(vars(ENCODER) | NEEDED.get(name, {}) | {name: OTHER[name]}))
    value = re.escape(str(OTHER[name]))
    with pytest.raises(InputError, match=rf"cannot hold this model: (.*; )?{name} is {value} \(it"):
        write(encoder, allow_different_attention=True)
    assert not (tmp_path / "hf").exists()


def test_a_model_without_segments_is_not_written(write):
    with pytest.raises(InputError, match="cannot hold this model: num_segments is 0"):
        write(EncoderConfig(**(vars(ENCODER) | {"num_segments": 0})))


def test_only_pretrained_models(write):
    with pytest.raises(InputError, match="bundle: a promoter model; the library has no head like"):
        write(config={"task": "promoter"})


def test_the_card_says_that_it_agrees_and_keeps_the_old_one(write):
    _, folder = write()
    card = (folder / "README.md").read_text()
    assert "The library computes the same hidden states and logits" in card
    assert card.endswith("# card\n")
