"""Question answering with BigBird-ETC: heads against states read by hand, and a few questions learned by heart."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from dna_bigbird.models.attention_config import HIDDEN_SENTENCE, SENTENCE, EtcConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import CpcHead
from dna_bigbird.models.text_config import CandidateHead, FactsHead, LongAnswerHead, SpanHead
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.hotpotqa import HotpotQaExample, HotpotQaOptions, Paragraph
from dna_bigbird.text.data.natural_questions import NaturalQuestionsOptions
from dna_bigbird.text.data.rows import TextFeatures
from dna_bigbird.text.data.triviaqa import TriviaQaOptions
from dna_bigbird.text.data.wikihop import WikiHopOptions
from dna_bigbird.text.made.pages import nq_item, triviaqa
from dna_bigbird.text.made.writing import hotpot_item, wikihop_item
from dna_bigbird.text.tasks.hotpotqa import HotpotQaTask
from dna_bigbird.text.tasks.natural_questions import NaturalQuestionsTask
from dna_bigbird.text.tasks.triviaqa import TriviaQaTask
from dna_bigbird.text.tasks.wikihop import WikiHopTask
from dna_bigbird.text.text_train_run import TextModule, hide_sentences
from dna_bigbird.training.objective_config import CpcConfig
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer

ETC = {
    "attention": "etc",
    "num_segments": 5,
    "max_tokens": 512,
    "etc": EtcConfig(radius=8, max_distance=3, hard_g2l=False),
}
CONFIG = EncoderConfig(
    vocab_size=tiny_text_tokenizer().size_with_markers, hidden_size=16, num_layers=2, num_heads=2,
    ffn_size=16, block_size=16, dropout=0.0, init_std=0.2, **ETC,
)  # fmt: skip


def hotpotqa(folder):
    task = HotpotQaTask(HotpotQaOptions(max_tokens=512), FactsHead(dropout=0.0))
    return with_items(task, folder, [hotpot_item(random.Random(i), i, "train") for i in range(8)])


def wikihop(folder):
    task = WikiHopTask(WikiHopOptions(max_tokens=512), CandidateHead(dropout=0.0))
    items = [wikihop_item(random.Random(i), i, "train", False) for i in range(8)]
    return with_items(task, folder, items)


def with_items(task, folder, items):
    path = folder / "items.json"
    path.write_text(json.dumps(items))
    return task, path


def natural_questions(folder):
    options = NaturalQuestionsOptions(max_tokens=128, max_question_tokens=16, stride=64)
    path = folder / "nq-train-00.jsonl"
    pages = [nq_item(random.Random(i), i, "train") for i in range(8)]
    path.write_text("".join(json.dumps(page) + "\n" for page in pages))
    options = replace(options, min_annotators=1)
    return NaturalQuestionsTask(options, LongAnswerHead(dropout=0.0)), path


def trivia(folder):
    for name, content in triviaqa(0, 16).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    task = TriviaQaTask(TriviaQaOptions(max_tokens=256), SpanHead(dropout=0.0))
    return task, folder / "triviaqa/triviaqa-rc"


SETS = {
    "hotpotqa": (hotpotqa, "joint_f1", 160),
    "wikihop": (wikihop, "accuracy", 80),
    "natural-questions": (natural_questions, "mean_f1", 80),
    "triviaqa": (trivia, "f1", 80),
}


def opened(name, folder):
    task, path = SETS[name][0](folder)
    task.two_streams = True
    examples, _ = task.read(path, "train")
    return task, examples


@pytest.mark.parametrize("name", SETS)
def test_a_tiny_model_learns_questions_by_heart(name, tmp_path):
    task, examples = opened(name, tmp_path)
    scores, _ = overfit(task, examples, tiny_text_tokenizer(), steps=SETS[name][2], **ETC)
    assert scores[SETS[name][1]] >= 0.9


@pytest.mark.parametrize("name", SETS)
def test_a_row_has_the_same_outputs_alone_and_next_to_longer_ones(name, tmp_path):
    task, examples = opened(name, tmp_path)
    rows = task.rows(examples, tiny_text_tokenizer(), training=False).rows[:4]
    assert len({len(row.token_ids) for row in rows}) > 1
    model = task.description.build_model(CONFIG, task.head).double().eval()
    with torch.no_grad():
        together = task.outputs(model, task.collate(list(enumerate(rows))))
        for number, row in enumerate(rows):
            for key, value in task.outputs(model, task.collate([(number, row)])).items():
                alone = value[0]
                there = together[key][number][: len(alone)]
                torch.testing.assert_close(there, alone, atol=1e-9, rtol=1e-9)


def by_hand(model, row):
    """States of both streams from the encoder, one row, its pairs written into a table one by one."""
    from dna_bigbird.attention.patterns.etc_layout import EtcLayout
    from dna_bigbird.models.etc_encoder import GlobalTokens

    arrays = {name: torch.from_numpy(np.asarray(value))[None] for name, value in row.arrays.items()}
    ids = torch.from_numpy(row.token_ids).long()[None]
    none, types = torch.zeros_like(ids, dtype=torch.bool), arrays["global_types"].long()
    belongs = torch.zeros(1, ids.shape[1], types.shape[1], dtype=torch.bool)
    for long, owner in row.arrays["links"].tolist():
        belongs[0, long, owner] = True
    layout = EtcLayout(
        none, types < 0, belongs, arrays["parts"], arrays["global_parts"], arrays["free_global"]
    )
    segments = torch.from_numpy(row.segment_ids).long()[None]
    tokens = GlobalTokens(types, layout)
    long, short = model.encoder.both(ids, none, segments, global_tokens=tokens)
    return long[0], short[0]


def test_facts_are_read_at_global_tokens_and_spans_at_tokens(tmp_path):
    task, examples = opened("hotpotqa", tmp_path)
    row = task.rows(examples[:1], tiny_text_tokenizer(), training=True).rows[0]
    model = task.description.build_model(CONFIG, task.head).double().eval()
    found = task.outputs(model, task.collate([(0, row)]))
    long, short = by_hand(model, row)
    weight, bias = model.facts.weight[0], model.facts.bias[0]
    facts = [(state @ weight + bias).item() for state in short]
    assert found["facts"][0].tolist() == pytest.approx(facts, abs=1e-5)
    torch.testing.assert_close(found["kind"][0], model.kind(short[0]).float(), atol=1e-5, rtol=0)
    spans = model.tokens(long).float()
    torch.testing.assert_close(found["start"][0], spans[:, 0], atol=1e-5, rtol=0)
    torch.testing.assert_close(found["end"][0], spans[:, 1], atol=1e-5, rtol=0)


def test_a_candidate_is_scored_at_its_global_token(tmp_path):
    task, examples = opened("wikihop", tmp_path)
    row = task.rows(examples[:1], tiny_text_tokenizer(), training=True).rows[0]
    model = task.description.build_model(CONFIG, task.head).double().eval()
    found = task.outputs(model, task.collate([(0, row)]))["scores"][0]
    _, short = by_hand(model, row)
    count = len(examples[0].candidates)
    expected = [model.dense(short[i]).item() for i in range(count)]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_local_attention_ends_at_a_paragraph_and_a_link_is_read(tmp_path):
    """One layer: a token is unmoved by the paragraph before it, and a free global token reads everything."""
    example = HotpotQaExample(
        id="a", question="who", answer="yes", facts=(("river", 0),),
        paragraphs=(Paragraph("lake", ("old.",)), Paragraph("river", ("new.",))),
    )  # fmt: skip
    changed = replace(example, paragraphs=(Paragraph("lake", ("bad.",)), example.paragraphs[1]))
    task = HotpotQaTask(HotpotQaOptions(max_tokens=512), FactsHead(dropout=0.0))
    task.two_streams = True
    made = task.rows([example, changed], tiny_text_tokenizer(), training=True).rows
    etc = replace(CONFIG.etc, hard_g2l=True)
    config = replace(CONFIG, num_layers=1, etc=etc)
    model = task.description.build_model(config, task.head).double().eval()
    both = [by_hand(model, row) for row in made]
    difference = [(one - other).abs().amax(1) for one, other in zip(*both, strict=True)]
    parts = made[0].arrays["parts"]
    moved = difference[0] > 0
    assert moved[parts == 2].any()
    assert not moved[parts != 2].any()
    # [CLS] is free; of the others, those of the changed paragraph and sentence
    types = made[0].arrays["global_types"]
    first = int(np.flatnonzero(types == 5)[0])
    assert torch.nonzero(difference[1] > 0)[:, 0].tolist() == [0, first, first + 2]


@pytest.mark.parametrize("name", SETS)
def test_hidden_sentences_are_those_of_their_global_tokens(name, tmp_path):
    """All tokens of a chosen sentence are masked, nothing else is, and the targets are the tokens before."""
    task, examples = opened(name, tmp_path)
    tokenizer = tiny_text_tokenizer()
    rows = task.rows(examples, tokenizer, training=True).rows[:4]
    batch = task.collate(list(enumerate(rows)))
    torch.manual_seed(1)
    hidden = hide_sentences(batch, CpcConfig(0.2, 0.3, 2), tokenizer.mask_id)
    expected = batch.token_ids_BT.clone()
    assert len(hidden.rows_S) >= len(rows)
    chosen = zip(hidden.rows_S.tolist(), hidden.numbers_S.tolist(), strict=True)
    for place, (row, number) in enumerate(chosen):
        arrays = rows[row].arrays
        assert arrays["global_types"][number] == SENTENCE
        owned = [long for long, owner in arrays["links"].tolist() if owner == number]
        is_there = ~hidden.is_sentence_padding_SU[place]
        alone = hidden.sentence_ids_SU[place][is_there].tolist()
        assert alone == rows[row].token_ids[owned].tolist()
        expected[row, owned] = tokenizer.mask_id
    assert hidden.hidden_ids_BT.tolist() == expected.tolist()
    shares = np.bincount(hidden.rows_S) / [
        len(
            {
                owner
                for _, owner in row.arrays["links"].tolist()
                if row.arrays["global_types"][owner] == SENTENCE
            }
        )
        for row in rows
    ]
    assert shares.max() < 1


def test_the_loss_with_hidden_sentences_is_written_again(tmp_path):
    task, examples = opened("hotpotqa", tmp_path)
    tokenizer = tiny_text_tokenizer()
    rows = task.rows(examples, tokenizer, training=True)
    batch = task.collate(list(enumerate(rows.rows[:4])))
    model = task.description.build_model(CONFIG, task.head)
    model.cpc = CpcHead(CONFIG.hidden_size)
    cpc = CpcConfig(0.25, 0.3, 2)
    module = TextModule(model, task, TrainConfig(), rows, cpc, tokenizer.mask_id)
    torch.manual_seed(1)
    loss, _ = module.loss_and_sums(batch)
    torch.manual_seed(1)
    hidden = hide_sentences(batch, cpc, tokenizer.mask_id)
    contexts, targets = [], []
    for place, (row, number) in enumerate(zip(hidden.rows_S, hidden.numbers_S, strict=True)):
        masked = replace(rows.rows[row], token_ids=hidden.hidden_ids_BT[row].numpy())
        masked = replace(masked, token_ids=masked.token_ids[: len(rows.rows[row].token_ids)])
        types = masked.arrays["global_types"].copy()
        types[hidden.numbers_S[hidden.rows_S == row].numpy()] = HIDDEN_SENTENCE
        masked = replace(masked, arrays=masked.arrays | {"global_types": types})
        contexts.append(model.cpc.context(by_hand(model, masked)[1][number]))
        ids = hidden.sentence_ids_SU[place][~hidden.is_sentence_padding_SU[place]]
        alone = {
            "global_types": np.array([SENTENCE]), "global_parts": np.array([0]),
            "parts": np.zeros(len(ids), int), "free_global": np.array([False]),
            "links": np.array([[i, 0] for i in range(len(ids))]),
        }  # fmt: skip
        row_alone = TextFeatures(ids.numpy(), 0, np.zeros(len(ids), np.int8), alone)
        targets.append(model.cpc.target(by_hand(model, row_alone)[1][0]))
    nll = []
    for own, context in enumerate(contexts):
        scores = [(context @ target).item() / CONFIG.hidden_size**0.5 for target in targets]
        nll.append(np.log(np.exp(scores).sum()) - scores[own])
    of_task = task.loss(task.outputs(model, batch), batch).item()
    assert loss.item() == pytest.approx(0.75 * of_task + 0.25 * np.mean(nll), abs=1e-5)
