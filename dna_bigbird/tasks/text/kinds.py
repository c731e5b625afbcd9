"""The kinds of text task by name; each is imported when it is asked for."""

import importlib

from dna_bigbird.tasks.text.kind import TextKind

KINDS: dict[str, str] = {
    "text-classification": "classification:ClassificationKind",
    "hotpotqa": "hotpotqa:HotpotQaKind",
    "natural-questions": "natural_questions:NaturalQuestionsKind",
    "triviaqa": "triviaqa:TriviaQaKind",
    "wikihop": "wikihop:WikiHopKind",
    "summarization": "summarization:SummarizationKind",
}
"""Task: its class, as 'module of tasks.text:name'."""


def kind_class(name: str) -> type[TextKind]:
    """Return the class of a task."""
    module, class_name = KINDS[name].split(":")
    return getattr(importlib.import_module(f"dna_bigbird.tasks.text.{module}"), class_name)
