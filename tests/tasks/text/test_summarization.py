"""Summaries through the real path: rows, model, loss, beam search, text, ROUGE."""

import json

import numpy as np
import pytest
import torch
from rouge_score import rouge_scorer

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.text_config import SummaryHead
from dna_bigbird.prediction.partial_results import as_arrays, in_order, split_rows
from dna_bigbird.text.data.summarization import SummarizationOptions, SummaryExample
from dna_bigbird.text.tasks.summarization import SummarizationTask
from dna_bigbird.text.text_baselines import words
from dna_bigbird.training.objective import ratios
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer

PAIRS = [
    ("the river. a king of the west was born in the old castle. the stone", "a king was born"),
    (
        "the garden. in the north the green house is near the fire. the song",
        "the green house\nfire",
    ),
    ("the film. the new author of the book died in the war. the light", "an author died [1]"),
    ("the water. a school of music was founded in the last year. the day", "a new school"),
]
EXAMPLES = [SummaryExample(str(i), *pair) for i, pair in enumerate(PAIRS)]


def kind_of(head: SummaryHead | None = None, **options) -> SummarizationTask:
    sizes = {"max_source_tokens": 64, "max_target_tokens": 32}
    return SummarizationTask(
        SummarizationOptions(set="xsum", **(sizes | options)), head or SummaryHead()
    )


def model_of(kind: SummarizationTask):
    encoder = EncoderConfig(
        vocab_size=tiny_text_tokenizer().size_with_markers,
        hidden_size=32,
        num_layers=1,
        num_heads=2,
        ffn_size=32,
        max_tokens=64,
        block_size=16,
        num_random=1,
        init_std=0.1,
    )
    return kind.description.build_model(encoder, kind.head, seed=0).eval()


def written(kind, model, made, batch):
    """Search, as `text evaluate` does; return outputs by row."""
    with torch.inference_mode():
        found = as_arrays(kind.predict_outputs(model, batch))
    return in_order(split_rows(found, batch.rows_B.tolist()), len(made.rows))


@pytest.mark.parametrize("coupled", [True, False])
def test_four_pairs_are_learnt_by_heart(coupled):
    """Wrong shift, end, loss or search, and the summaries are not these."""
    kind = kind_of(SummaryHead(coupled=coupled))
    scores, predictions = overfit(
        kind, EXAMPLES, tiny_text_tokenizer(), steps=120, max_tokens=64, block_size=16
    )
    assert predictions == [example.summary for example in EXAMPLES]
    assert [scores[name] for name in ("rouge1", "rouge2", "rougeLsum")] == pytest.approx([100] * 3)
    for baseline in kind.baselines(None, EXAMPLES).values():
        assert kind.summarise(kind.statistics(EXAMPLES, baseline))["rouge1"] < 60


def test_scores_equal_the_package_on_real_pairs(real_data):
    """Row by row the package's F-measures; the mean of bootstrap rows is the score of their texts."""
    kind = SummarizationTask(SummarizationOptions(set="cnn-dailymail"), SummaryHead())
    examples, _ = kind.read(real_data / "nlp/cnn_dailymail/cnn_stories_14.tar.gz", "test")
    predictions = kind.baselines(None, examples)["lead"]
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=True)
    expected = [
        [100 * score.fmeasure for score in scorer.score(one.summary, found).values()]
        for one, found in zip(examples, predictions, strict=True)
    ]
    statistics = kind.statistics(examples, predictions)
    np.testing.assert_allclose(statistics[:, :3], expected, atol=1e-12)
    scores = kind.summarise(statistics)
    assert scores["rougeLsum"] == pytest.approx(np.mean(expected, axis=0)[2])
    assert 30 < scores["rouge1"] < 40  # Lead of Table 20 has 39.6 over the whole test set
    counts = [sum(len(words(text)) for text in texts) for texts in
              (predictions, [one.summary for one in examples])]  # fmt: skip
    assert scores["length_ratio"] == pytest.approx(counts[0] / counts[1])


def test_lengths_of_the_baselines():
    long = ". ".join(["A b c d e"] * 9) + "."
    examples = [SummaryExample("0", long, "one two three four five six")]
    sentences = {"xsum": 1, "cnn-dailymail": 3, "arxiv": 2}
    for name, count in sentences.items():
        kind = SummarizationTask(SummarizationOptions(set=name), SummaryHead())
        for summaries in kind.baselines(None, examples).values():
            assert summaries[0].split("\n") == ["A b c d e."] * count
    longer = [SummaryExample("1", "", " ".join(["w"] * 19))]
    assert kind.baselines(longer, examples)["lead"][0].count("\n") == 3


def test_submission_files():
    files = kind_of().submission(EXAMPLES[:2], ["one\ntwo", "drei ü"])
    assert files["predictions.txt"].decode() == "one<n>two\ndrei ü\n"
    assert files["references.txt"].decode() == "a king was born\nthe green house<n>fire\n"
    items = [json.loads(line) for line in files["predictions.jsonl"].decode().splitlines()]
    assert items == [{"id": "0", "summary": "one\ntwo"}, {"id": "1", "summary": "drei ü"}]
    without = [SummaryExample("0", "a", None)]
    assert sorted(kind_of().submission(without, ["b"])) == ["predictions.jsonl", "predictions.txt"]


def test_documents_without_reference_are_summarised():
    kind = kind_of()
    model = model_of(kind)
    examples = [SummaryExample("0", "the king of the river", None), EXAMPLES[0]]
    made = kind.rows(examples[:1], tiny_text_tokenizer(), training=False)
    batch = kind.collate(list(enumerate(made.rows)))
    assert batch.target_ids_BU.shape == (1, 0)
    (alone,) = kind.decode(made, written(kind, model, made, batch))
    assert isinstance(alone, str)
    made = kind.rows(examples, tiny_text_tokenizer(), training=False)
    batch = kind.collate(list(enumerate(made.rows)))
    assert batch.is_target_padding_BU[0].all()
    assert kind.decode(made, written(kind, model, made, batch))[0] == alone


def test_validation_figures_by_hand():
    """Sums over real tokens only, whatever the padding; bits are nats over ln 2."""
    kind = kind_of()
    model = model_of(kind)
    made = kind.rows(EXAMPLES, tiny_text_tokenizer(), training=False)
    nll, right, count = 0.0, 0, 0
    for number, row in enumerate(made.rows):
        batch = kind.collate([(number, row)])
        log_p = kind.outputs(model, batch)["logits"][0].log_softmax(-1)
        for place, piece in enumerate(row.arrays["target_ids"].tolist()):
            nll -= log_p[place, piece].item()
            right += int(log_p[place].argmax() == piece)
            count += 1
    batch = kind.collate(list(enumerate(made.rows)))
    figures = ratios(kind.loss_sums(kind.outputs(model, batch), batch))
    assert figures == pytest.approx(
        {
            "nll_per_token": nll / count,
            "bits_per_token": nll / count / np.log(2),
            "token_accuracy": right / count,
        },
        rel=1e-4,
    )


def test_another_end_than_the_vocabularys_is_refused():
    kind = kind_of(SummaryHead(start_id=3, end_id=4))
    with pytest.raises(InputError, match=r"end is 1; give --head\.start_id 2 --head\.end_id 1"):
        kind.rows(EXAMPLES, tiny_text_tokenizer(), training=True)
