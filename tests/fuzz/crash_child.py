"""Gives changed tokenizers and weights to the libraries that parse them, until told to stop.

`python -m tests.fuzz.crash_child FOLDER KIND SEED COUNT`. Each input lies in FOLDER before it is
read, so a process that dies leaves the one that killed it.
"""

import random
import resource
import sys
from pathlib import Path

import numpy as np

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer_files import load_tokenizer
from tests.fuzz.inputs import SNIPPETS

MEMORY = 2 * 2**30
DNA = "ACGTTGCATGNNNACCATTTGACA" * 20


def limit_memory() -> None:
    """Let this process take 2 GiB more than it has: a size that a file claims must not be believed."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def changed(content: bytes, draw: random.Random) -> bytes:
    """Change one to four places: bytes, numbers of protocol buffers, pieces of the same file."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        # Structure stands at the start of safetensors and at the end of a SentencePiece model.
        place = draw.choice([draw.randrange(len(content) + 1), draw.randrange(min(len(content), 64) + 1),
                             max(0, len(content) - draw.randrange(200))])  # fmt: skip
        end = min(len(content), place + draw.choice([0, 1, 1, 4, 30]))
        kind = draw.randrange(5)
        if kind == 0 and place < len(content):
            content[place] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        elif kind == 1:
            content[place:end] = b"\xff" * draw.choice([1, 4, 9]) + b"\x01"
        elif kind == 2:
            content[place:end] = draw.choice(SNIPPETS)
        elif kind == 3:
            other = draw.randrange(len(content) + 1)
            content[place:end] = content[other : other + draw.choice([1, 10, 300])]
        elif draw.random() < 0.3:
            del content[place:]
    return bytes(content)


def use(folder: Path, kind: str) -> None:
    """Read the changed file as prediction would, and use what came of it."""
    if kind == "model.safetensors":
        load_bundle(folder)
        return
    tokenizer = load_tokenizer(folder)
    ids = np.asarray(tokenizer.encode(DNA))
    assert ids.min() >= 0
    assert ids.max() < tokenizer.vocab_size


def main() -> None:
    folder, kind, start, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    valid = (folder / kind).read_bytes()
    limit_memory()
    refused = 0
    for number in range(count):
        draw = random.Random(start + number)
        (folder / kind).write_bytes(changed(valid, draw))
        try:
            use(folder, kind)
        except InputError:
            refused += 1
        except ValueError as error:  # letters that the vocabulary has lost
            if kind == "model.safetensors" or "not A C G T N" not in str(error):
                raise
            refused += 1
    print(refused)


if __name__ == "__main__":
    main()
