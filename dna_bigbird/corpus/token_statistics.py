"""`dna-bigbird token-statistics`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.paths import GenomePath, InputPath, JsonOutput
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.representations import html_rows, short_repr
from dna_bigbird.core.settings import Positive

PAPER_BP_PER_TOKEN = 8.78
"""Appendix F.1, 32K pieces over GRCh37."""


@dataclass(frozen=True)
class TokenStatistics:
    """Base pairs per token, over all and by chromosome and repeat class."""

    output: Path
    statistics: dict
    """Contents of the JSON file, without the size of the vocabulary."""
    classes: Sequence[str]
    """Names of the repeat classes."""

    __repr__ = short_repr
    _repr_html_ = html_rows()

    def to_dataframe(self) -> DataFrame:
        """Return base pairs per token: group ('all', a chromosome or a repeat class), bp_per_token, n."""
        suffixes = [name[1:] for name in self.statistics if name == "n" or name.startswith("n.")]
        return dataframe_of_rows(
            {
                "group": suffix[1:] or "all",
                "bp_per_token": self.statistics[f"bp_per_token{suffix}"],
                "n": self.statistics[f"n{suffix}"],
            }
            for suffix in suffixes
        )

    def summary(self) -> str:
        """Return the base pairs per token, over all and by repeat class."""
        values = self.statistics
        lines = [
            f"{self.output}: {values['bp_per_token']} bp per token (paper: {PAPER_BP_PER_TOKEN}), by "
            "class:"
        ]
        for name in self.classes:
            if f"n.{name}" in values:
                bp_per_token, count = values[f"bp_per_token.{name}"], values[f"n.{name}"]
                lines.append(f"  {name}: {bp_per_token} (n = {count:,})")
        return "\n".join(lines)


@renamed(documents="max_documents")
@checked()
def token_statistics(
    store: InputPath,
    genome: GenomePath,
    tokenizer: InputPath,
    output: JsonOutput,
    repeats: InputPath | None = None,
    pieces: bool = False,
    max_documents: Positive = 2000,
) -> TokenStatistics:
    """Measure base pairs per token, per chromosome and repeat class.

    It reads documents that do not overlap, so every base counts once. A token in two classes
    counts for each by its bases.

    Examples:
        dna-bigbird token-statistics --store test.h5 --genome hg19.fa --tokenizer dna_bpe.model \\
            --output test.tokens.json

    Args:
        store: Token store of `dna-bigbird tokenize`.
        genome: Genome: the FASTA file that the store was made from.
        tokenizer: Tokenizer: the SentencePiece model that the store was made with.
        output: Result to write: a JSON file.
        repeats: BED file with the class of a repeat in column 4: LINE or LINE/L1, as RepeatMasker's
            tables give them. Without it lower case in the FASTA file is soft_masked, and a
            chromosome written in one case is unknown.
        pieces: The FASTA has only the first part of its chromosomes: repeats beyond it are cut.
        max_documents: Most documents to read, evenly spaced over the genome.
    """
    import json

    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.corpus.store_statistics import describe_tokens
    from dna_bigbird.corpus.token_store import (
        TokenStore,
        check_store_genome,
        check_tokenizer,
        covering_documents,
        verify_stores,
    )
    from dna_bigbird.corpus.tokenizer import DnaTokenizer
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.repeats import repeat_classes

    tokens, bpe, reference = TokenStore(store), DnaTokenizer.from_file(tokenizer), Genome(genome)
    check_tokenizer(tokens, bpe, tokenizer)
    check_store_genome(tokens, reference)
    verify_stores([tokens])
    classes = repeat_classes(reference, repeats, pieces)
    statistics = describe_tokens(
        tokens,
        bpe,
        classes,
        covering_documents(tokens, max_documents),
        progress=lambda chosen: progress_bar(chosen, desc="measure", unit="doc"),
    )
    with atomic_path(output) as path:
        path.write_text(json.dumps({"vocab_size": bpe.vocab_size, **statistics}, indent=2) + "\n")
    return TokenStatistics(output, statistics, classes.names)
