"""The models of text tasks by the name of the task; each is imported when it is asked for."""

import importlib
from typing import TYPE_CHECKING, Any

from dna_bigbird.models.config import EncoderConfig

if TYPE_CHECKING:
    from torch import nn

TEXT_TASKS: dict[str, tuple[str, str]] = {
    "text-classification": ("config:HeadConfig", "classifier:SequenceClassifier"),
    "glue": ("config:HeadConfig", "classifier:SequenceClassifier"),
    "hotpotqa": ("text_config:HotpotQaHead", "hotpotqa:HotpotQaModel"),
    "natural-questions": ("text_config:NaturalQuestionsHead", "natural_questions:NqModel"),
    "triviaqa": ("text_config:TriviaQaHead", "triviaqa:TriviaQaModel"),
    "wikihop": ("text_config:WikiHopHead", "wikihop:WikiHopModel"),
    "summarization": ("text_config:SummarizationHead", "summarizer:Summarizer"),
}
"""Task: settings of its head and its model, as 'module of models:name'.

A model is built with the keywords `config` (EncoderConfig), `head`, `num_labels` and `seed`, has
`.encoder` and is called with (token_ids_BT, is_padding_BT, segment_ids_BT, …).
"""


def _named(place: str) -> Any:
    module, name = place.split(":")
    return getattr(importlib.import_module(f"dna_bigbird.models.{module}"), name)


def head_type(task: str) -> type:
    """Return the settings dataclass of a task's head."""
    return _named(TEXT_TASKS[task][0])


def build_text_model(
    task: str, encoder: EncoderConfig, head: Any, num_labels: int = 0, seed: int = 0
) -> "nn.Module":
    """Return the model of a text task with fresh weights.

    Args:
        head: Settings of type `head_type(task)`.
        num_labels: Classes; 0 for tasks without.
        seed: Of the weights.
    """
    return _named(TEXT_TASKS[task][1])(config=encoder, head=head, num_labels=num_labels, seed=seed)
