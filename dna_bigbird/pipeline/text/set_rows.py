"""Reading a set of text for a command: rows, checks, what is told."""

import sys
from pathlib import Path

from dna_bigbird.errors import InputError


def check_length(kind, max_tokens: int, bundle: Path | str) -> None:
    """Refuse rows longer than the model reads.

    Raises:
        InputError: Naming the option.
    """
    for name in ("max_tokens", "max_source_tokens", "max_target_tokens"):
        wanted = getattr(kind.options, name, 0)
        if wanted > max_tokens:
            raise InputError(
                f"{name} {wanted}: {bundle} reads at most {max_tokens} tokens; give {name} "
                f"{max_tokens}, or lengthen the model: dna-bigbird convert --help"
            )


def read_examples(kind, path: Path, split: str, *, gold: bool = True, max_unpacked_gib: float = 0):
    """Return examples and counts of a set.

    Args:
        max_unpacked_gib: What each compressed file may become; see `datasets.text.unpacking`.

    Raises:
        InputError: As the kind's reader; if there is no example.
    """
    from dna_bigbird.datasets.text.unpacking import unpacked_limit

    with unpacked_limit(max_unpacked_gib):
        examples, counts = kind.read(path, split, gold=gold)
    if not examples:
        raise InputError(f"{path}: no example of the {split} split{left_out(counts)}")
    return examples, counts


def make_rows(kind, examples, counts, tokenizer, path: Path, *, training: bool, max_tokens: int):
    """Return the rows of examples; their counts hold those of the reader too.

    Raises:
        InputError: If no row is left, or one is longer than the model reads.
    """
    from dataclasses import replace

    made = kind.rows(examples, tokenizer, training=training)
    made = replace(made, counts={**counts, **made.counts})
    if not made.rows:
        raise InputError(
            f"{path}: nothing to read in {len(examples)} examples{left_out(made.counts)}"
        )
    longest = max(len(row.token_ids) for row in made.rows)
    if longest > max_tokens:
        raise InputError(f"{path}: a row of {longest} tokens; the model reads at most {max_tokens}")
    return made


def left_out(counts: dict[str, int]) -> str:
    """Return what was left out or changed as the end of a line."""
    told = "; ".join(f"{reason} {count:,}" for reason, count in counts.items() if count)
    return f" ({told})" if told else ""


def tell(name: str, made) -> None:
    """Write one line on what a set became."""
    print(
        f"{name}: {len(made.examples):,} examples, {len(made.rows):,} rows{left_out(made.counts)}",
        file=sys.stderr,
    )


def count_metrics(counts: dict[str, int]) -> dict[str, int]:
    """Return counts as figures of metrics.json.

    Example:
        >>> count_metrics({"answer not in the evidence": 16})
        {'n_answer_not_in_the_evidence': 16}
    """
    import re

    return {f"n_{re.sub(r'[^A-Za-z0-9]+', '_', k).strip('_')}": v for k, v in counts.items()}


def count_shared(examples, others) -> int:
    """Return how many examples equal one of the others, whatever stands in them.

    Example:
        >>> count_shared(["a", "b", "b"], ["b", "c"])
        2
    """
    known = {repr(one) for one in others}
    return sum(repr(one) in known for one in examples)


def examples_sha256(examples) -> str:
    """Return a checksum of examples, gold included."""
    import hashlib

    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode())
    return digest.hexdigest()


def rows_sha256(made) -> str:
    """Return a checksum of all that the model reads and is trained on."""
    import hashlib

    digest = hashlib.sha256()
    for row in made.rows:
        arrays = {"token_ids": row.token_ids, "segment_ids": row.segment_ids, **row.arrays}
        for name, array in arrays.items():
            digest.update(f"{name} {row.example} {getattr(array, 'shape', None)}".encode())
            digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()
