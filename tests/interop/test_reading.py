"""Every form of a checkpoint that is known, and one line for each that is not ours."""

import json
import shutil

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.bundles.huggingface.tensor_names import architecture, to_library
from dna_bigbird.core.errors import InputError


@pytest.fixture(scope="module")
def original(library_model, save_library_model, tmp_path_factory):
    """A folder as the library writes it: BigBirdForPreTraining."""
    return save_library_model(library_model(), tmp_path_factory.mktemp("original"))


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "copy")


def tensors_of(folder):
    return safetensors.torch.load_file(folder / "model.safetensors")


def write_tensors(folder, tensors):
    safetensors.torch.save_file(tensors, folder / "model.safetensors")


def edit_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def assert_same(folder, original):
    found, expected = read_huggingface(folder).model, read_huggingface(original).model
    for name, tensor in expected.state_dict().items():
        assert torch.equal(found.state_dict()[name], tensor), name


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("BigBirdForPreTraining", ["mlm", "pooler", "nsp"]),
        ("BigBirdForMaskedLM", ["mlm", "pooler"]),
        ("BigBirdModel", ["pooler"]),
    ],
)
def test_classes(library_model, save_library_model, tmp_path, name, heads):
    found = read_huggingface(save_library_model(library_model(name), tmp_path))
    assert found.config["heads"] == list(found.model.heads) == heads
    assert not found.model.training


def test_encoder_without_pooler(folder):
    tensors = {k[5:]: v for k, v in tensors_of(folder).items() if k.startswith("bert.")}
    write_tensors(folder, {k: v for k, v in tensors.items() if not k.startswith("pooler")})
    edit_config(folder, architectures=None)
    found = read_huggingface(folder)
    assert found.model.heads == ()
    ids_BT = torch.tensor([[1, 7, 8, 2]])
    with pytest.raises(ValueError, match="the model has only the heads none"):
        found.model(ids_BT, ids_BT < 0, ids_BT * 0, torch.tensor([1]))


def test_published_settings(folder):
    """What is known of GENA-LM's config.json, and the defaults of google's."""
    edit_config(folder, hidden_act="gelu_new", gradient_checkpointing=False, dtype=None)
    config = json.loads((folder / "config.json").read_text())
    for name in (
        "use_bias",
        "type_vocab_size",
        "num_random_blocks",
        "block_size",
        "attention_type",
    ):
        del config[name]
    config["position_embedding_type"] = "absolute"
    (folder / "config.json").write_text(json.dumps(config))
    encoder = read_huggingface(folder).config["encoder"]
    assert (encoder["block_size"], encoder["num_random"], encoder["qkv_bias"]) == (64, 3, True)
    assert (encoder["activation"], encoder["random_plan"]) == ("gelu_tanh", "huggingface")


def test_old_names_and_buffers(folder, original):
    old = {}
    for name, tensor in tensors_of(folder).items():
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        old[name.replace("LayerNorm.bias", "LayerNorm.beta")] = tensor
    old["bert.embeddings.position_ids"] = torch.arange(4096)[None]
    old["bert.embeddings.token_type_ids"] = torch.zeros(1, 4096, dtype=torch.long)
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"].clone()
    old["cls.predictions.decoder.bias"] = old["cls.predictions.bias"].clone()
    write_tensors(folder, old)
    assert_same(folder, original)
    del old["cls.predictions.bias"]
    write_tensors(folder, old)
    assert_same(folder, original)


@pytest.mark.parametrize("kind", ["bin", "parts", "bin-parts", "half"])
def test_weight_files(folder, original, kind):
    tensors = tensors_of(folder)
    if kind != "half":
        (folder / "model.safetensors").unlink()
    if kind == "bin":
        torch.save(tensors, folder / "pytorch_model.bin")
    elif kind == "half":
        halved = {k: v.bfloat16() for k, v in tensors.items()}
        write_tensors(folder, halved)
        state = read_huggingface(folder).model.state_dict()
        words = state["encoder.word.weight"]
        assert words.dtype == torch.float32
        assert torch.equal(words, halved["bert.embeddings.word_embeddings.weight"].float())
        return
    else:
        base, end = ("model", "safetensors") if kind == "parts" else ("pytorch_model", "bin")
        names, weight_map = sorted(tensors), {}
        for part, chosen in enumerate((names[:9], names[9:]), start=1):
            file = f"{base}-0000{part}-of-00002.{end}"
            save = safetensors.torch.save_file if end == "safetensors" else torch.save
            save({k: tensors[k] for k in chosen}, folder / file)
            weight_map |= dict.fromkeys(chosen, file)
        (folder / f"{base}.{end}.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert_same(folder, original)


def test_parts_that_are_not_there(folder):
    write = folder / "model.safetensors.index.json"
    shutil.move(folder / "model.safetensors", folder / "a.safetensors")
    for file, message in (
        ("b.safetensors", "its part b.safetensors is not in the folder"),
        ("../a.safetensors", r"its part \.\./a\.safetensors is not in the folder"),
        ("a.safetensors", "the index promises x, which is not in it"),
    ):
        write.write_text(json.dumps({"weight_map": {"x": file}}))
        with pytest.raises(InputError, match=message):
            read_huggingface(folder)
    for text in (
        "[]",
        "[" * 100_000,
        "{}",
        '{"weight_map": 3}',
        '{"weight_map": {"x": "\\u0000"}}',
    ):
        write.write_text(text)
        with pytest.raises(InputError, match=r"not an index of weights|is not in the folder"):
            read_huggingface(folder)


class _Surprise:
    def __reduce__(self):
        return print, ("code from the file was run",)


def test_code_in_a_weight_file_is_never_run(folder, capsys):
    (folder / "model.safetensors").unlink()
    torch.save({"x": _Surprise()}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"holds more than tensors and reading it could run code"):
        read_huggingface(folder)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_truncated_weights(folder, name):
    if name == "pytorch_model.bin":
        torch.save(tensors_of(folder), folder / name)
        (folder / "model.safetensors").unlink()
    path = folder / name
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match=rf"copy/{name}: .*damaged"):
        read_huggingface(folder)


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"no weights; expected model\.safetensors or"):
        read_huggingface(folder)
    (folder / "flax_model.msgpack").write_bytes(b"x")
    with pytest.raises(InputError, match=r"found only flax_model\.msgpack, which needs another"):
        read_huggingface(folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "bert"}, "model_type is 'bert'; only big_bird is read"),
        ({"model_type": "longformer"}, "a BigBirdForPreTraining; only LongformerM"),
        ({"model_type": "bigbird_pegasus"}, "of bigbird_pegasus only BigBirdPegasusForC"),
        ({"is_decoder": True}, "is_decoder is set; only encoders are read"),
        ({"add_cross_attention": True}, "add_cross_attention is set"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"hidden_act": "silu"}, "hidden_act is 'silu', not one of gelu_new"),
        ({"attention_type": "simulated"}, "attention_type is 'simulated', not one of block_sparse"),
        (
            {"architectures": ["BigBirdForTokenClassification"]},
            "a BigBirdForTokenClassification; only",
        ),
        ({"architectures": ["BigBirdForCausalLM"]}, "a BigBirdForCausalLM; only BigBirdForPreTr"),
        ({"num_attention_heads": 3}, "hidden_size 64 is not a multiple of num_heads 3"),
        ({"hidden_size": "64"}, "copy/config.json: hidden_size is '64', expected a whole number"),
        ({"hidden_size": True}, "hidden_size is True, expected a whole number"),
        (
            {"hidden_size": 10**8},
            r"word_embeddings.weight is \(120, 64\), config.json asks for \(120, 100000000\)",
        ),
        ({"hidden_size": 2 * 10**9}, "it describes no model: Storage size"),
        ({"max_position_embeddings": 10**12}, "max_tokens 1000000000000"),
        ({"block_size": 2**31 - 1}, "block_size 2147483647 must be at most 4096"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000, the weights have 2"),
        ({"attention_type": ["full"]}, r"attention_type is \['full'\], not one of block_sparse"),
        ({"hidden_act": {}}, "hidden_act is {}, not one of gelu_new"),
        ({"bos_token_id": "\ud800"}, r"config\.json: not valid JSON: .* is half of a character"),
        ({"architectures": 7}, "architectures is 7, expected a list of names"),
        ({"architectures": [[]]}, r"architectures is \[\[\]\], expected a list of names"),
        (
            {"vocab_size": 110},
            r"word_embeddings.weight is \(120, 64\), config.json asks for \(110,",
        ),
        (
            {"intermediate_size": 64},
            r"intermediate.dense.weight is \(96, 64\), .* asks for \(64, 64",
        ),
        ({"num_hidden_layers": 3}, "num_hidden_layers is 3, the weights have 2"),
        ({"num_hidden_layers": 1}, "num_hidden_layers is 1, the weights have 2"),
        (
            {"use_bias": False},
            r"6 tensors have no place in our model, the first one encoder.layer.0",
        ),
        (
            {"tie_word_embeddings": False},
            "tie_word_embeddings is false, and cls.predictions.decoder",
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_other_models_are_refused(folder, values, message):
    edit_config(folder, **values)
    with pytest.raises(InputError, match=message) as refusal:
        read_huggingface(folder)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("BigBirdForSequenceClassification", "a BigBirdForSequenceClassification over DNA;"),
        ("BigBirdForQuestionAnswering", "a BigBirdForQuestionAnswering over DNA;"),
    ],
)
def test_task_heads_are_refused(library_model, save_library_model, tmp_path, name, message):
    folder = save_library_model(library_model(name), tmp_path)
    with pytest.raises(InputError, match=message):
        read_huggingface(folder)
    edit_config(folder, architectures=None)
    with pytest.raises(
        InputError, match=r"the first one (qa_)?classifier.* \(a (qa_)?classifier head"
    ):
        read_huggingface(folder)


def test_tensors_that_do_not_fit(folder):
    tensors = tensors_of(folder)
    write_tensors(folder, tensors | {"bert.extra.weight": torch.ones(2)})
    with pytest.raises(InputError, match=r"1 tensors have no place .* first one extra.weight;"):
        read_huggingface(folder)
    words = tensors["bert.embeddings.word_embeddings.weight"]
    write_tensors(folder, tensors | {"cls.predictions.decoder.weight": words + 1e-6})
    with pytest.raises(InputError, match="differs from the word embeddings; only tied heads"):
        read_huggingface(folder)
    bias = tensors["cls.predictions.bias"]
    write_tensors(folder, tensors | {"cls.predictions.decoder.bias": bias + 1})
    with pytest.raises(InputError, match=r"decoder.bias and cls.predictions.bias differ"):
        read_huggingface(folder)
    write_tensors(folder, tensors | {"bert.pooler.weight": tensors["bert.pooler.weight"].int()})
    with pytest.raises(InputError, match=r"pooler.weight is torch.int32, not real numbers"):
        read_huggingface(folder)
    large = tensors["bert.pooler.weight"].double() * 1e300
    write_tensors(folder, tensors | {"bert.pooler.weight": large})
    with pytest.raises(InputError, match=r"pooler.weight holds values that are not finite"):
        read_huggingface(folder)
    del tensors["cls.seq_relationship.bias"]
    write_tensors(folder, tensors)
    with pytest.raises(InputError, match=r"1 tensors are missing .* cls.seq_relationship.bias"):
        read_huggingface(folder)


def test_missing_files(folder):
    tokenizer = folder / "tokenizer.json"
    text = tokenizer.read_text()
    tokenizer.unlink()
    with pytest.raises(InputError, match=r"no tokenizer; expected tokenizer.json or spiece.model"):
        read_huggingface(folder)
    tokenizer.write_text(text[:100])
    with pytest.raises(InputError, match="the tokenizers library cannot read it"):
        read_huggingface(folder)
    (folder / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="expected a JSON object, found list"):
        read_huggingface(folder)
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"no config\.json; expected a folder of the Hugging Face"):
        read_huggingface(folder)


def test_vocabulary_larger_than_the_model(folder, gena_json, library_model):
    small = library_model(vocab_size=50)
    small.save_pretrained(folder)
    with pytest.raises(InputError, match=r"the tokenizer has 100 pieces, .* vocab_size 50"):
        read_huggingface(folder)


def test_full_attention_has_no_plan(folder):
    edit_config(folder, attention_type="original_full", attention_probs_dropout_prob=0.2)
    assert read_huggingface(folder).config["encoder"]["attention_dropout"] == 0.2
    with pytest.raises(InputError, match="--plan uniform: attention_type is original_full"):
        read_huggingface(folder, "uniform")


def test_names_are_the_ones_the_library_writes(original):
    """Names and shapes, both ways, from the library's own file."""
    model = read_huggingface(original).model
    written = to_library(model.state_dict(), architecture(model.heads))
    expected = tensors_of(original)
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(written[name], tensor), name
