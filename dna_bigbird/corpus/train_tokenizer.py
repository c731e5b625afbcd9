"""`dna-bigbird train-tokenizer`."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.paths import InputPath, JsonOutput, SentencePieceOutput
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Rows
from dna_bigbird.core.shared_options import DocumentGenome
from dna_bigbird.corpus.tokenizer import TokenizerConfig


@dataclass(frozen=True)
class TrainedTokenizer(Rows):
    """A vocabulary and what describes it."""

    output: Path
    metrics_file: Path
    metrics: dict
    """Base pairs per token and other figures, measured on the sample."""

    def to_dataframe(self) -> DataFrame:
        """Return the figures of the vocabulary: name, value."""
        return dataframe({"name": list(self.metrics), "value": list(self.metrics.values())})


@checked()
def train_tokenizer(
    genome: DocumentGenome,
    documents: InputPath,
    output: SentencePieceOutput,
    metrics: JsonOutput,
    seed: int = 0,
    tokenizer: TokenizerConfig = TokenizerConfig(),  # noqa: B008
) -> TrainedTokenizer:
    """Learn a vocabulary of DNA words (byte-pair encoding, BPE) from documents, or write one of bases.

    Examples:
        dna-bigbird train-tokenizer --genome hg19.fa --documents train.bed.gz --output dna_bpe.model \\
            --metrics dna_bpe.json
        dna-bigbird train-tokenizer --genome hg19.fa --documents train.bed.gz --output bases.model \\
            --metrics bases.json --tokenizer.algorithm bases

    Args:
        documents: Documents: the BED12 file of `dna-bigbird documents` for training.
        output: Result to write: a SentencePiece model.
        metrics: JSON file to write: base pairs per token and other figures of the vocabulary,
            measured on the sample that it was learned from.
        seed: Seed of the random numbers: of the sample.
        tokenizer: Algorithm, size of the vocabulary and of the sample.
    """
    import json

    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.corpus import sample
    from dna_bigbird.corpus import tokenizer as bpe
    from dna_bigbird.corpus.document_file import check_documents
    from dna_bigbird.genome import Genome

    reference = Genome(genome)
    check_documents(documents, reference)
    chosen = sample.sample_documents(documents, tokenizer.sample_bp, seed)
    shown = progress_bar(chosen, desc="learn", unit="doc")
    texts = sample.limited_texts(shown, reference, tokenizer.sample_bp)
    model = bpe.train_tokenizer((text for sentences in texts for text in sentences), tokenizer)
    trained = bpe.DnaTokenizer.from_bytes(model)
    shown = progress_bar(chosen, desc="measure", unit="doc")
    texts = sample.limited_texts(shown, reference, tokenizer.sample_bp)
    figures = sample.describe(trained, texts) | {"seed": seed, "split": "train"}
    with atomic_path(output) as path, atomic_path(metrics) as metrics_path:
        path.write_bytes(model)
        metrics_path.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
    return TrainedTokenizer(output, metrics, figures)
