"""What a global token of BigBird-ETC stands for; needed by datasets and models, so at the top."""

NUM_TYPES = 16
"""Rows of the table of types."""
SENTENCE, HIDDEN_SENTENCE = 0, 1
"""Of a sentence, and of a sentence whose tokens are all masked."""
FIRST, QUESTION, CANDIDATE, PARAGRAPH = 2, 3, 4, 5
"""Of [CLS], of one token of the question, of a candidate answer, and of a paragraph or document."""
