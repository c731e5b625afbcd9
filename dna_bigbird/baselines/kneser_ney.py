"""Modified Kneser-Ney n-grams by KenLM (Heafield 2011), where it is installed.

Optional: `lmplz` estimates, the Python module `kenlm` answers. The package `kenlm` of PyPI holds
the module; `lmplz` is built from the same source (docs/reference/comparisons.md).
"""

import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.baselines.ngram import Score
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.token_store import Store, covering_documents, documents_within

TOKEN_ORDER, BASE_ORDER = 3, 12
MOST_BASES = {"token": 200_000_000, "base": 20_000_000}
"""Bases that are counted at most: 12-grams of 20 million take about 1.5 GB."""
SORT_MEMORY = "1G"
HOW = "see docs/reference/comparisons.md for how to install KenLM"


def missing() -> str:
    """Return what of KenLM is missing; empty if nothing is."""
    parts = []
    if shutil.which("lmplz") is None:
        parts.append("the program lmplz")
    try:
        import kenlm  # noqa: F401
    except ImportError:
        parts.append("the Python module kenlm")
    return " and ".join(parts)


class KneserNey:
    """An n-gram over words, each line by itself.

    Args:
        order: Words in the longest n-gram. KenLM is built for a highest order.
        words: How many words there are; those never counted share the chance of an unknown one.

    """

    def __init__(self, order: int, words: int) -> None:
        self.order, self.words = order, words

    def fit(self, lines: Iterable[list[str]]) -> "KneserNey":
        """Count lines of words, read once; the model is written to the system's temporary folder.

        Raises:
            InputError: If KenLM cannot estimate or read such a model.
        """
        import kenlm

        seen: set[str] = set()
        with tempfile.TemporaryDirectory() as folder:
            arpa, log = Path(folder) / "model.arpa", Path(folder) / "log"
            with open(arpa, "wb") as out, open(log, "wb") as err:
                # Four letters do not give the counts of counts that discounts are estimated from.
                command = ["lmplz", "-o", str(self.order), "-S", SORT_MEMORY, "-T", f"{folder}/"]
                process = subprocess.Popen(
                    [*command, "--discount_fallback"],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                )
                try:
                    for line in lines:
                        seen.update(line)
                        process.stdin.write((" ".join(line) + "\n").encode())
                    process.stdin.close()
                    failed = process.wait()
                except BrokenPipeError:  # it has stopped; its log says why
                    failed = process.wait()
                except BaseException:
                    process.kill()
                    raise
            if failed:
                said = log.read_text(errors="replace").strip().splitlines()[-1:]
                raise InputError(f"lmplz -o {self.order} failed: {' '.join(said)}; {HOW}")
            try:
                self._model = kenlm.Model(str(arpa))
            except (OSError, RuntimeError) as error:
                first = str(error).splitlines()[0]
                raise InputError(f"kenlm cannot read order {self.order}: {first}; {HOW}") from error
        self._unseen = max(1, self.words - len(seen))
        return self

    def nll(self, line: list[str]) -> np.ndarray:
        """Return the nats of each word of a line given those before it, shape (words of it,).

        Given also that the line goes on: with four letters its end takes a share that shows.
        """
        import kenlm

        state, after, unused = kenlm.State(), kenlm.State(), kenlm.State()
        self._model.BeginSentenceWrite(state)
        log10 = np.empty((2, len(line)))
        for i, word in enumerate(line):
            log10[0, i] = self._model.BaseScore(state, "</s>", unused)
            score = self._model.BaseFullScore(state, word, after)
            log10[1, i] = score.log_prob - (math.log10(self._unseen) if score.oov else 0)
            state, after = after, state
        return np.log1p(-(10 ** log10[0])) - math.log(10) * log10[1]


def kneser_ney_scores(
    train: Store,
    test: Store,
    tokenizer,
    counted: int | None = None,
    scored: int | None = None,
) -> dict[str, tuple[Score, dict[str, int]]]:
    """Score a token 3-gram and a base 12-gram on the `covering_documents` of a held-out store.

    N is neither counted nor predicted; context starts again after it.

    Args:
        counted, scored: Most documents counted and scored; of bases at most `MOST_BASES` are
            counted.

    Returns:
        By "token" and "base" the score, and how many bases and documents were counted.
    """
    chosen = {unit: documents_within(train, counted, most) for unit, most in MOST_BASES.items()}
    facts = {
        unit: {
            "n_counted_bp": sum(
                int(tokenizer.piece_bp[ids].sum()) for ids in _read(train, numbers)
            ),
            "n_counted_documents": len(numbers),
        }
        for unit, numbers in chosen.items()
    }
    tokens = KneserNey(TOKEN_ORDER, tokenizer.vocab_size - tokenizer.first_piece_id)
    tokens.fit([str(i) for i in ids] for ids in _read(train, chosen["token"]))
    bases = KneserNey(BASE_ORDER, words=4).fit(
        line for ids in _read(train, chosen["base"]) for line in _letters(tokenizer.decode(ids))
    )
    rows: dict[str, list[tuple[float, int, int]]] = {"token": [], "base": []}
    for ids in _read(test, covering_documents(test, scored)):
        nats = tokens.nll([str(i) for i in ids]).sum()
        rows["token"].append((nats, tokenizer.piece_bp[ids].sum(), len(ids)))
        lines = list(_letters(tokenizer.decode(ids)))
        count = sum(map(len, lines))
        rows["base"].append((sum(bases.nll(line).sum() for line in lines), count, count))
    return {name: (Score.of(documents), facts[name]) for name, documents in rows.items()}


def _read(store: Store, documents: list[int]) -> Iterator[np.ndarray]:
    return (store.document(d) for d in documents)


def _letters(sequence: str) -> Iterator[list[str]]:
    return (list(part) for part in sequence.split("N") if part)
