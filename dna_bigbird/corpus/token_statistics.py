"""`dna-bigbird token-statistics`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.paths import GenomePath, InputPath, JsonOutput
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Positive

if TYPE_CHECKING:
    from dna_bigbird.corpus.token_store import TokenStore
    from dna_bigbird.corpus.tokenizer import DnaTokenizer
    from dna_bigbird.genome.repeats import RepeatClasses


def describe_tokens(
    store: "TokenStore",
    tokenizer: "DnaTokenizer",
    repeats: "RepeatClasses",
    documents: Sequence[int],
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> dict[str, float | int]:
    """Measure base pairs per token of documents: all, by chromosome (`.chr22`), class, and both."""
    # A token that lies in two repeat classes is shared between them by its bases.
    # For each chromosome a table of classes by (tokens, base pairs).
    sums = {chrom: np.zeros((len(repeats.names), 2)) for chrom in store.chromosomes}
    unknown = 0
    for document in progress(documents):
        chrom = store.document_interval(document).chrom
        bounds = store.token_bounds(document, tokenizer.piece_bp)
        values = np.stack([np.ones(len(bounds)), bounds[:, 1] - bounds[:, 0]], axis=1)
        sums[chrom] += repeats.sums(chrom, bounds, values)
        unknown += int((store.document(document) == tokenizer.unk_id).sum())
    tables = {"": sum(sums.values()), **{f".{chrom}": table for chrom, table in sums.items()}}
    figures: dict[str, float | int] = {}
    for suffix, table in tables.items():
        figures |= _figures(suffix, table.sum(axis=0))
        for name, row in zip(repeats.names, table, strict=True):
            figures |= _figures(f"{suffix}.{name}", row)
    n_bp = round(float(tables[""][:, 1].sum()))
    return {**figures, "n_bp": n_bp, "n_documents": len(documents), "unknown_tokens": unknown}


def _figures(suffix: str, row: np.ndarray) -> dict[str, float]:
    tokens, bp = row.tolist()
    if not tokens:
        return {}
    n = round(tokens, 1)
    return {
        f"bp_per_token{suffix}": round(bp / tokens, 4),
        f"n{suffix}": int(n) if n.is_integer() else n,
    }


PAPER_BP_PER_TOKEN = 8.78
"""Appendix F.1, 32K pieces over GRCh37."""


@dataclass(frozen=True)
class TokenStatistics(Rows):
    """Base pairs per token, over all and by chromosome and repeat class."""

    output: Path
    statistics: dict
    """Contents of the JSON file, without the size of the vocabulary."""
    classes: Sequence[str]
    """Names of the repeat classes."""

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
            f"{self.output}: {values['bp_per_token']} bp per token (paper: {PAPER_BP_PER_TOKEN}, perhaps "
            "the mean length of the entries), by class:"
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
