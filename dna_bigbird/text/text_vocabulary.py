"""`dna-bigbird text vocabulary`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import SentencePieceOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import Corpus, MaxUnpackedGib


@dataclass(frozen=True)
class LearnedVocabulary(Result):
    """A SentencePiece model of text."""

    output: Path
    size: int
    first_piece_id: int
    """Id of the first entry that is text."""

    def summary(self) -> str:
        """Return the number of entries."""
        return f"{self.output}: {self.size} entries, text from {self.first_piece_id}"


@checked()
def vocabulary(
    input: Corpus,
    output: SentencePieceOutput,
    size: int = 50358,
    max_characters: int = 50_000_000,
    max_unpacked_gib: MaxUnpackedGib = 0,
) -> LearnedVocabulary:
    """Learn a SentencePiece vocabulary from text, laid out as BigBird's.

    Special entries have the ids of the published vocabulary: pad 0, </s> 1, <s> 2, [CLS] 65, [SEP]
    66, [MASK] 67, unknown 100, text from 101. The published file needs no such step: give it to
    `text pretrain --tokenizer`.

    Examples:
        dna-bigbird text vocabulary --input corpus.txt --output spiece.model --size 32000

    Args:
        output: Result to write: a SentencePiece model, spiece.model for example.
        size: Entries, the 101 special and reserved ones included.
        max_characters: Learn from the first characters of the corpus, at most this many; bounds the
            memory.
    """
    from dna_bigbird.core.errors import checked_settings
    from dna_bigbird.core.unpacking import unpacked_limit
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.corpus.text_tokenizer import TextTokenizer
    from dna_bigbird.corpus.text_vocabulary import VocabularyConfig, learn_vocabulary
    from dna_bigbird.text.data.reading import read_documents

    output = Path(output)
    with checked_settings():
        config = VocabularyConfig(size=size, max_characters=max_characters)
    with unpacked_limit(max_unpacked_gib):
        model = learn_vocabulary(read_documents(Path(input)), config)
    tokenizer = TextTokenizer(model, "spiece.model", name=str(output))
    with atomic_path(output) as path:
        path.write_bytes(model)
    return LearnedVocabulary(output, tokenizer.vocab_size, tokenizer.first_piece_id)
