"""Settings of TriviaQA."""

from dataclasses import dataclass

CHOICES = {
    "domain": ("wikipedia", "web"),
    "norm": ("per_document", "per_question"),
    "answer_score": ("per_question", "per_document"),
}


@dataclass(frozen=True)
class TriviaQaOptions:
    """How TriviaQA is read, learnt and decoded."""

    evidence: str = ""
    """Folder (or tar archive) with wikipedia/ and web/; where it is not given, `evidence` beside the
    folder of the questions, as in the official layout."""
    domain: str = "wikipedia"
    """Questions of an official folder or archive: 'wikipedia' or 'web'. A file says it itself."""
    max_tokens: int = 4096
    """Tokens of a question with one document, which is cut."""
    max_question_tokens: int = 55
    """Tokens that are kept of a question."""
    max_words: int = 4096
    """Words that are read of a document; each line end counts as one."""
    max_spans: int = 64
    """Places of the answer that are learnt in one document: the first ones."""
    norm: str = "per_document"
    """Over what the probabilities of the training loss add up to 1: each document ('per_document'), or
    all documents of a question ('per_question'), which then count as one of the batch size."""
    max_answer_words: int = 16
    """Longest answer in words."""
    top_spans: int = 50
    """Best starts and best ends of a document whose pairs can become its answer."""
    answer_score: str = "per_question"
    """How the answers of a question's documents are compared: by probabilities over all of them
    ('per_question'; the highest sum of logits wins) or over each alone ('per_document')."""

    def __post_init__(self) -> None:
        least = {"max_question_tokens": 1, "max_words": 1, "max_spans": 1, "max_answer_words": 1}
        least |= {"top_spans": 1, "max_tokens": self.max_question_tokens + 3}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be at least {value}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"--options.{name} {getattr(self, name)!r} is not one of {', '.join(choices)}"
                )
