"""One value of each class that a record can hold, without numbers that a record would round."""

import numpy as np

from dna_bigbird.text.data.classification_files import LabelledText
from dna_bigbird.text.data.glue import GlueExample
from dna_bigbird.text.data.hotpotqa import HotpotQaExample, Paragraph
from dna_bigbird.text.data.natural_questions import Annotation, NqExample, PageSpan
from dna_bigbird.text.data.rows import TextFeatures
from dna_bigbird.text.data.squad import SquadAnswer, SquadExample
from dna_bigbird.text.data.summarization import SummaryExample
from dna_bigbird.text.data.triviaqa import EvidenceDocument, TriviaQaExample
from dna_bigbird.text.data.wikihop import WikiHopExample

RECORDED = {
    "row": TextFeatures(
        np.array([1, 5, 2], np.int32), 3, np.zeros(3, np.int8), {"start": np.array([0.5], np.float32)}
    ),
    "labelled text": LabelledText("a", "one text", None),
    "glue": GlueExample("0", "first", "second", "entailment", 2.5, "matched"),
    "hotpotqa": HotpotQaExample("q", "Who?", (Paragraph("T", ("One.", "Two.")),), "yes", (("T", 1),)),
    "natural questions": NqExample(
        7, "what", "a b", b"\0\1", (PageSpan(0, 2), PageSpan()), (True, False),
        (Annotation(PageSpan(0, 1, 5, 6), (PageSpan(0, 1),), "no"),), np.array([[0, 1], [2, 3]], np.int32),
    ),
    "squad": SquadExample("s", "why", "because it is", (SquadAnswer("it", 8),)),
    "summarization": SummaryExample("p", "long\ntext", "short"),
    "triviaqa": TriviaQaExample("t", "which", (EvidenceDocument("f.txt", "F", "x\r\n"),), ("f",), ("F",), True),
    "wikihop": WikiHopExample("w", "country sms", ("a", "b"), ("doc",), "b", ("A", "B")),
}  # fmt: skip
