"""`dna-bigbird text made-data`."""

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.shared_options import NewFolder


@checked()
def made_data(output: NewFolder, seed: int = 0, examples: int = 240) -> None:
    """Write made text in the native format of every set, with a rule planted in each.

    The folder's README.md names the rules. A tiny model learns them in minutes; no sentence of it
    says anything.

    Args:
        seed: Same seed, same files, byte by byte.
        examples: Examples to train on, of every set; validation and test have a quarter each.
    """
    from dna_bigbird.demo.text.writing import write_made_text

    if examples < 24:
        raise InputError(
            f"made-data --examples {examples}: expected at least 24, for eleven classes to be there"
        )
    counts = write_made_text(output, seed=seed, examples=examples)
    print(f"{output}: {sum(counts.values())} files of {len(counts) - 2} sets and a plain corpus")
