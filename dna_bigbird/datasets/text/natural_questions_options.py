"""Settings of Natural Questions."""

from dataclasses import dataclass

CHOICES = {
    "short_unit": ("words", "pieces"),
    "score": ("difference", "ratio"),
    "yes_no": ("window", "last"),
}


@dataclass(frozen=True)
class NaturalQuestionsOptions:
    """How Natural Questions is read, learnt, decoded and scored."""

    max_tokens: int = 4096
    """Tokens of one window, the question included."""
    max_question_tokens: int = 32
    """Tokens that are kept of a question."""
    stride: int = 2048
    """Tokens of the document from the start of a window to that of the next one."""
    null_rate: float = 1.0
    """Share of the training windows without an answer that is kept, drawn at random."""
    unanswerable_rate: float = 0.0
    """The same for the windows of questions without any answer; 0: four times `null_rate`, at most 1."""
    null_seed: int = 0
    """Seed of both draws."""
    top: int = 50
    """Best places of each head that are kept of a window; a document pools those of its windows."""
    max_short: int = 38
    """A short answer is shorter than this, in `short_unit`; the ETC code has 32."""
    short_unit: str = "words"
    """What `max_short` counts: 'words', the tokens of the page, or 'pieces' of the vocabulary."""
    score: str = "difference"
    """Score of a place: its logit minus that of the first token of its window ('difference'), or
    divided by it ('ratio'), as the ETC code has it, whose sign may turn."""
    yes_no: str = "window"
    """Whose type of answer can replace the short answer by yes or no: that of the window of the long
    answer, whose score it gets then ('window'), or that of the last one, with the score of the short
    span, as in the ETC code ('last')."""
    min_annotators: int = 2
    """Annotators who must have marked an answer for there to be one: 2 of 5 in the official metric; 1
    for training files, which have one annotation."""

    def __post_init__(self) -> None:
        least = {"max_question_tokens": 1, "stride": 1, "top": 1, "max_short": 1}
        least |= {"min_annotators": 1, "null_seed": 0, "max_tokens": self.max_question_tokens + 4}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be at least {value}")
        for name in ("null_rate", "unanswerable_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"--options.{name} {getattr(self, name)} must be from 0 to 1")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"--options.{name} {getattr(self, name)!r} is not one of {', '.join(choices)}"
                )
        room = self.max_tokens - self.max_question_tokens - 3
        if self.stride > room:
            raise ValueError(
                f"--options.stride {self.stride} passes over tokens: a window holds {room} of the "
                "document"
            )
