"""From the logits of one row of HotpotQA to an answer and its supporting facts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dna_bigbird.datasets.text.hotpotqa import (
    NO,
    SPAN,
    TITLE,
    YES,
    HotpotQaExample,
    HotpotQaOptions,
    unit_text,
)
from dna_bigbird.datasets.text.rows import TextRow
from dna_bigbird.evaluation.hotpotqa import HotpotQaPrediction, answer_span
from dna_bigbird.tasks.text.task import Outputs

# T tokens, U units: titles and sentences


def predicted(
    example: HotpotQaExample,
    row: TextRow,
    output: Outputs,
    options: HotpotQaOptions,
    threshold: float,
) -> HotpotQaPrediction:
    """Return what the logits say.

    Args:
        row: Not made for training.
        output: `facts` (U,), `kind` (3,), `start` and `end` (T,), all with padding behind or not.
        threshold: Probability from which a sentence supports the answer.
    """
    units = row.arrays["units"]
    is_supporting_U = expit(output["facts"][: len(units)]) >= threshold
    facts = tuple(
        (example.paragraphs[p].title, int(s)) for p, s, _ in units[is_supporting_U] if s != TITLE
    )
    kind = int(output["kind"].argmax())
    if kind == SPAN:
        answer = _span_text(example, row, output, options, is_supporting_U)
    else:
        answer = {YES: "yes", NO: "no"}[kind]
    return HotpotQaPrediction(answer, facts, threshold if options.search_threshold else None)


def _span_text(
    example: HotpotQaExample,
    row: TextRow,
    output: Outputs,
    options: HotpotQaOptions,
    is_supporting_U: NDArray[np.bool_],
) -> str:
    units, offsets_T2 = row.arrays["units"], row.arrays["offsets"]
    unit_T = np.where(offsets_T2[:, 0] < offsets_T2[:, 1], row.arrays["unit_of_token"], -1)
    if (unit_T < 0).all():
        return ""  # no title fits the row
    places_T = np.arange(len(unit_T))
    if options.answer_unit == "words":
        texts = [unit_text(example, unit) for unit in units]
        places_T = word_numbers(texts, unit_T, offsets_T2[:, 0])
    span = answer_span(
        output["start"][: len(unit_T)],
        output["end"][: len(unit_T)],
        unit_T,
        is_supporting_U,
        places_T,
        max_length=options.max_answer_length,
        top=options.top_spans,
    )
    if span is None:
        return ""
    text = unit_text(example, units[unit_T[span.start]])
    return text[offsets_T2[span.start, 0] : offsets_T2[span.end, 1]]


def word_numbers(
    texts: Sequence[str], unit_T: NDArray[np.integer], starts_T: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return the number of each token's word, by white space, over all titles and sentences.

    Args:
        texts: Of every unit.
        unit_T: Unit of each token, -1 for none.
        starts_T: First character of each token in the text of its unit.
    """
    joined = "".join(f" {text}" for text in texts)
    is_space = np.array([one.isspace() for one in joined])
    words = np.cumsum(np.append(False, is_space[:-1] & ~is_space[1:]))
    before_U = np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1] + 1
    return words[np.where(unit_T < 0, 0, before_U[unit_T] + starts_T)]
