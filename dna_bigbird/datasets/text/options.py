"""The options of text tasks by the name of the task; read without torch."""

import importlib

OPTIONS: dict[str, str] = {
    "text-classification": "classification:ClassificationOptions",
    "glue": "glue:GlueOptions",
    "hotpotqa": "hotpotqa_options:HotpotQaOptions",
    "natural-questions": "natural_questions_options:NaturalQuestionsOptions",
    "triviaqa": "triviaqa_options:TriviaQaOptions",
    "wikihop": "wikihop_options:WikiHopOptions",
    "summarization": "summarization:SummarizationOptions",
}
"""Task: its settings dataclass, as 'module of datasets.text:name'.

A frozen dataclass with fields of type int, float, bool or str: a bundle keeps it as
`config["options"]`.
"""


def options_type(task: str) -> type:
    """Return the settings dataclass of a text task."""
    module, name = OPTIONS[task].split(":")
    return getattr(importlib.import_module(f"dna_bigbird.datasets.text.{module}"), name)
