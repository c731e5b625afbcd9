"""Classifiers and question answering of the library: the same logits here, and back again."""

import json

import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from tests.interop.edited import edited
from tests.text_vocabulary import tiny_text_tokenizer

CLOSE = {"rtol": 0, "atol": 1e-4}
CLASSIFIER, QUESTIONS = "BigBirdForSequenceClassification", "BigBirdForQuestionAnswering"
LABELS = {0: "sport", 1: "law", 2: "other"}
LENGTHS = [
    pytest.param([400, 130], id="full"),
    pytest.param([1024, 700, 65], id="sparse"),
    pytest.param([1985, 1024], id="ragged"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_text_tokenizer()


@pytest.fixture(scope="module")
def build(library_model, tokenizer, tmp_path_factory):
    """Function (class, settings) -> (model of the library, its folder)."""

    def build(name, **settings):
        special = {
            "vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.pad_id,
            "bos_token_id": tokenizer.bos_id, "eos_token_id": tokenizer.eos_id,
            "sep_token_id": tokenizer.sep_id, "hidden_size": 32, "intermediate_size": 48,
            "max_position_embeddings": 2048,
        }  # fmt: skip
        if name == CLASSIFIER:
            special |= {"id2label": LABELS, "label2id": {v: k for k, v in LABELS.items()}}
        model = library_model(name, **(special | settings))
        folder = tmp_path_factory.mktemp("library")
        model.save_pretrained(folder)
        for file, content in tokenizer.files.items():
            (folder / file).write_bytes(content)
        return model, folder

    return build


def batch(tokenizer, lengths, question=9):
    """[CLS] question [SEP] document [SEP], padded on the right to the first length."""
    generator = torch.Generator().manual_seed(sum(lengths))
    ids_BT = torch.randint(
        tokenizer.first_piece_id, tokenizer.vocab_size, (len(lengths), lengths[0]),
        generator=generator,
    )  # fmt: skip
    ids_BT[:, 0] = tokenizer.cls_id
    for row, length in enumerate(lengths):
        ids_BT[row, question + row] = ids_BT[row, length - 1] = tokenizer.sep_id
        ids_BT[row, length:] = tokenizer.pad_id
    is_padding_BT = torch.arange(lengths[0]) >= torch.tensor(lengths)[:, None]
    after = torch.tensor([question + row for row in range(len(lengths))])
    segments_BT = (torch.arange(lengths[0]) > after[:, None]).long()
    return ids_BT, is_padding_BT, segments_BT


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("activation", ["gelu_new", "relu", "gelu"])
def test_a_classifier_gives_the_same_logits(build, tokenizer, lengths, activation):
    theirs, folder = build(CLASSIFIER, hidden_act=activation)
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT, segments_BT = batch(tokenizer, lengths)
    with torch.no_grad():
        expected = theirs(
            ids_BT, attention_mask=(~is_padding_BT).long(), token_type_ids=segments_BT
        ).logits
        found = ours(ids_BT, is_padding_BT, segments_BT)
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_question_answering_gives_the_same_logits(build, tokenizer, lengths):
    """The library finds the question by its first [SEP], gives it segment 0 and blocks it."""
    theirs, folder = build(QUESTIONS)
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT, segments_BT = batch(tokenizer, lengths)
    with torch.no_grad():
        expected = theirs(ids_BT, attention_mask=(~is_padding_BT).long())
        found = ours(ids_BT, is_padding_BT, segments_BT)
    real_BT = ~is_padding_BT
    blocked_BT = real_BT & (segments_BT == 0)
    blocked_BT[:, 0] = False
    assert blocked_BT.sum() > 0
    for logits_BT, wanted_BT in (
        (found.start_BT, expected.start_logits),
        (found.end_BT, expected.end_logits),
    ):
        assert (logits_BT[blocked_BT] < -9e5).all()
        assert (wanted_BT[blocked_BT] < -9e5).all()
        free_BT = real_BT & ~blocked_BT
        torch.testing.assert_close(logits_BT[free_BT], wanted_BT[free_BT], **CLOSE)


@pytest.mark.parametrize("name", [CLASSIFIER, QUESTIONS])
def test_there_and_back_is_the_same_folder(build, tmp_path, name, capsys):
    """Through the command line; every tensor of the library finds its place again."""
    transformers = pytest.importorskip("transformers")
    theirs, folder = build(name, hidden_dropout_prob=0.2)
    main(["convert", "--from-huggingface", str(folder), "--to", str(tmp_path / "bundle")])
    bundle = load_bundle(tmp_path / "bundle")
    assert bundle.config["head"]["dropout"] == 0.2
    assert bundle.config["options"]["max_tokens"] == 2048
    if name == CLASSIFIER:
        assert bundle.config["label_names"] == list(LABELS.values())
    main(["convert", "--from", str(tmp_path / "bundle"), "--to-huggingface", str(tmp_path / "hf")])
    again, info = getattr(transformers, name).from_pretrained(
        tmp_path / "hf", output_loading_info=True
    )
    # The library's classifier holds a pooler that it never uses; a bundle has none.
    assert {key.removeprefix("bert.").split(".")[0] for key in info["missing_keys"]} <= {"pooler"}
    assert not info["unexpected_keys"]
    state = again.state_dict()
    for key, tensor in theirs.state_dict().items():
        assert ".pooler." in key or torch.equal(state[key], tensor), key
    assert again.config.id2label == theirs.config.id2label
    capsys.readouterr()
    main(["info", str(tmp_path / "bundle")])
    assert "converted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"problem_type": "multi_label_classification"},
            "problem_type 'multi_label_class.*' and 3",
        ),
        ({"problem_type": "regression"}, "problem_type 'regression' and 3 labels"),
        ({"id2label": {"0": "a", "1": "b"}}, "id2label does not name 0 to 2"),
        ({"id2label": {"0": "a", "1": "b", "2": 3}}, "id2label holds something else than names"),
        ({"id2label": {"0": "a", "1": "b", "2": "a"}}, "gives two classes the same name"),
        ({"classifier_dropout": 2}, "classifier_dropout: dropout"),
        ({"classifier_dropout": "x"}, "classifier_dropout: dropout is 'x', expected a finite"),
        ({"architectures": [QUESTIONS]}, "tensors are missing .* qa_classifier.intermediate"),
    ],
)
def test_other_classifiers_are_one_line(build, values, message):
    _, folder = build(CLASSIFIER)
    with pytest.raises(InputError, match=message):
        read_huggingface(edited(folder, **values))


def test_a_head_that_the_library_lacks_is_not_written(build, tmp_path, capsys):
    _, folder = build(CLASSIFIER)
    bundle, written = tmp_path / "bundle", tmp_path / "hf"
    main(["convert", "--from-huggingface", str(folder), "--to", str(bundle)])
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["head"]["activation"] = "tanh"
    path.write_text(json.dumps(config))
    with pytest.raises(SystemExit, match="2"):
        main(["convert", "--from", str(bundle), "--to-huggingface", str(written)])
    assert "the head's activation is tanh, that of the library's" in capsys.readouterr().err
    assert not written.exists()
