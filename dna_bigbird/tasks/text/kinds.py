"""The kinds of text task by name; each is imported when it is asked for."""

import importlib
from dataclasses import replace
from typing import get_args

from dna_bigbird.datasets.text.classification import SetName
from dna_bigbird.datasets.text.glue import GlueTask
from dna_bigbird.models.stored_settings import settings_from
from dna_bigbird.tasks.text.kind import TextKind

KINDS: dict[str, str] = {
    "text-classification": "classification:ClassificationKind",
    "glue": "glue:GlueKind",
    "hotpotqa": "hotpotqa:HotpotQaKind",
    "natural-questions": "natural_questions:NaturalQuestionsKind",
    "triviaqa": "triviaqa:TriviaQaKind",
    "wikihop": "wikihop:WikiHopKind",
    "summarization": "summarization:SummarizationKind",
}
"""Task: its class, as 'module of tasks.text:name'."""


SETS: dict[str, str] = {
    **dict.fromkeys(get_args(SetName), "text-classification"),
    **dict.fromkeys(get_args(GlueTask), "glue"),
    **{name: name for name in ("hotpotqa", "natural-questions", "triviaqa", "wikihop")},
    **dict.fromkeys(("arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum"), "summarization"),
}
"""Set to its task."""


def kind_of_config(config: dict) -> TextKind:
    """Return the task of a bundle's config, with its options and labels."""
    cls = kind_class(config["task"])
    kind = cls(
        settings_from(cls.options_type, config["options"]),
        settings_from(cls.head_type, config["head"]),
    )
    kind.labels = config["label_names"]
    return kind


def kind_of_set(name: str) -> TextKind:
    """Return the task of a set, with the options as they are if none are given."""
    cls = kind_class(SETS[name])
    options = cls.options_type()
    if hasattr(options, "set"):
        options = replace(options, set=name)
    return cls(options, cls.head_type())


def kind_class(name: str) -> type[TextKind]:
    """Return the class of a task."""
    module, class_name = KINDS[name].split(":")
    return getattr(importlib.import_module(f"dna_bigbird.tasks.text.{module}"), class_name)
