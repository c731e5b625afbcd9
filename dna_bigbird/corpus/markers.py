"""Marks that the inputs of text tasks need and published vocabularies lack.

They are entries after the vocabulary: a fine-tuned text encoder has rows for them
(`models.resize`), a tokenizer never gives them for text.
"""

MARKERS = ("[q]", "[/q]", "<t>", "</t>", "[s]", "[ans]", "[/ans]", "<open>", "<close>")
"""Question, title, end of a sentence, candidate answer, opening and closing tag of HTML. Bundles
hold rows in this order: append only."""
