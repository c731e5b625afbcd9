"""Numbers out of range are refused before any work: arguments of commands, and fields of settings."""

import dataclasses
import importlib
import inspect
import math

import pytest

from dna_bigbird.core.choices import ChoiceError

LEAST = {
    "evaluation.evaluate_lm:evaluate_lm": {
        "examples": 1, "batch_size": 1, "max_tokens": 8, "threads": 0,
    },
    "evaluation.evaluate_characters:evaluate_characters": {
        "stride": 1, "batch_size": 1, "most_characters": 0,
    },
    "prediction.score_variants:score_variants": {"shifts": 1, "shift_step": 1},
    "evaluation.compare_attention:compare_attention": {
        "seeds": 1, "rounds": 3, "training_steps": 2, "test_sequences": 2, "longest_tokens": 512,
    },
    "theory.theory_furthest:furthest": {"vectors": 4, "dims": 5},
    "report.plot_attention:plot_attention": {
        "tokens": 1, "num_blocks": 1, "layers": 0, "heads": 0,
    },
    "prediction.motifs:motifs": {"window": 0, "min_contribution": 0},
    "training.finetune:finetune": {"search": 0, "threads": 0, "dropout": 0},
    "labelled.sequences.sequence_set:sequence_set": {"kmers": 0, "validation_fraction": 0, "max_n_fraction": 0},
    "workflow.plan:plan": {"threads": 0},
    "evaluation.compare_seeds:compare_seeds": {"replicates": 2},
    "text.text_made_data:made_data": {"examples": 24},
    "prediction.embed:embed": {"window": 1, "stride": 1},
}  # fmt: skip
"""Smallest value of arguments of functions."""

SETTINGS = {
    "evaluation.language_baselines:LanguageBaselines": {
        "baseline_counted_documents": 0,
        "baseline_scored_documents": 1,
    },
    "corpus.documents:DocumentConfig": {"passes": 1, "max_start_bp": 0, "min_sentence_bp": 1},
    "corpus.tokenizer:TokenizerConfig": {"vocab_size": 10, "max_piece_bp": 1, "sample_bp": 1},
    "corpus.text_vocabulary:VocabularyConfig": {"size": 196, "max_characters": 1},
    "corpus.masking:MaskingConfig": {"mask_share": 0, "random_share": 0, "span_bp": 0},
    "text.whole_words:TextMaskingConfig": {"max_predictions": 0, "mask_share": 0},
    "labelled.chromatin.config:ChromatinConfig": {"bin": 1, "min_positive": 0, "background": 0},
    "labelled.deepsea.deepsea_set_run:DeepseaConfig": {
        "window": 200,
        "check_every": 1,
        "max_n_fraction": 0,
    },
    "labelled.promoter.promoter_set_run:PromoterConfig": {
        "upstream": 0,
        "downstream": 1,
        "max_n_fraction": 0,
    },
    "text.data.glue:GlueOptions": {"max_tokens": 5},
    "text.data.hotpotqa:HotpotQaOptions": {"max_tokens": 4, "fact_threshold": 0},
    "text.data.natural_questions:NaturalQuestionsOptions": {"top": 1, "null_seed": 0},
    "text.data.summarization:SummarizationOptions": {"beam_size": 1, "label_smoothing": 0},
    "text.data.triviaqa:TriviaQaOptions": {"max_words": 1, "max_spans": 1},
    "text.data.wikihop:WikiHopOptions": {"max_sentences": 1, "label_smoothing": 0},
    "models.text_config:SummaryHead": {"decoder_layers": 0, "start_id": 0},
    "models.text_config:SpanHead": {"dropout": 0},
    "models.character_config:CharacterConfig": {"ffn_size": 1, "dilated_heads": 0, "dropout": 0},
    "demo.build:DemoConfig": {"promoters": 20, "variants": 1},
    "demo.long_range:LongRangeConfig": {"units": 1, "copies": 1},
    "prediction.compute:Compute": {"batch_size": 0, "threads": 0, "workers": 0},
    "prediction.motif_patterns:SearchSettings": {"seqlet_bp": 5, "max_seqlets": 20},
}
"""Smallest value of fields of settings."""

MOST = [
    ("corpus.tokenizer:TokenizerConfig", "vocab_size", 65536),
    ("corpus.text_vocabulary:VocabularyConfig", "size", 65536),
    ("corpus.masking:HidingConfig", "fraction", 1),
    ("text.data.squad:SquadOptions", "no_answer_threshold", 1),
    ("text.data.summarization:SummarizationOptions", "beam_size", 128),
    ("models.text_config:SummaryHead", "decoder_layers", 1000),
    ("demo.build:DemoConfig", "promoters", 560),
    ("demo.long_range:LongRangeConfig", "copies", 12),
    ("text.set_options:SetOptions", "max_unpacked_gib", 2**30 - 1),
]


def found(path):
    module, name = path.split(":")
    return getattr(importlib.import_module(f"dna_bigbird.{module}"), name)


def rows(table):
    return [(path, *item) for path, ends in table.items() for item in ends.items()]


@pytest.mark.parametrize(("path", "name", "least"), rows(LEAST))
def test_arguments_below_their_least_value(path, name, least):
    function = found(path)
    parameters = inspect.signature(function).parameters.values()
    named = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    required = {each.name: "x" for each in named if each.default is each.empty}
    for value in (least - 1, "many"):
        with pytest.raises(ChoiceError, match=rf"{name}\b"):
            function(**required | {name: value})


@pytest.mark.parametrize(("path", "name", "least"), rows(SETTINGS))
def test_the_least_value_of_a_setting_is_accepted_and_none_below(path, name, least):
    settings = found(path)
    assert getattr(settings(**{name: least}), name) == least
    wrong = [least - 1, "many"]
    if isinstance({x.name: x for x in dataclasses.fields(settings)}[name].default, float):
        wrong += [math.nan, 10**400]
    for value in wrong:
        with pytest.raises(ChoiceError, match=rf"{name}\b"):
            settings(**{name: value})


@pytest.mark.parametrize(("path", "name", "most"), MOST)
def test_the_largest_value_of_a_setting_is_accepted_and_none_above(path, name, most):
    others = {"mask_share": 0} if name == "fraction" else {}
    assert getattr(found(path)(**{name: most}, **others), name) == most
    with pytest.raises(ChoiceError, match=rf"{name}\b"):
        found(path)(**{name: most + 1}, **others)
