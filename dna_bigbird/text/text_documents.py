"""`dna-bigbird text documents`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath, JsonLinesOutput, check_paths
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import MaxUnpackedGib, SetPart


@dataclass(frozen=True)
class PlainDocuments(Result):
    """Documents of a set, as JSON lines."""

    output: Path
    documents: int
    characters: int
    left_out: dict[str, int]
    """What was left out, by reason."""

    def summary(self) -> str:
        """Return how many documents there are, and what was left out."""
        from dna_bigbird.text.set_source import left_out

        size = f"{self.documents:,} documents, {self.characters:,} characters"
        return f"{self.output}: {size}{left_out(self.left_out)}"


@checked()
def documents(
    set: str,
    data: InputPath,
    output: JsonLinesOutput,
    split: SetPart = "train",
    max_unpacked_gib: MaxUnpackedGib = 0,
) -> PlainDocuments:
    """Turn a set into plain documents for pretraining: JSON lines {"text": …}.

    Questions, labels and summaries are left out, and documents that occur again.

    Args:
        set: Name of the set: as in --options.set of its task or the name of the task; the message
            about an unknown name lists all.
        data: Labelled set: in its native format.
        output: Result to write: JSON lines, compressed if the name ends in .gz.

    Examples:
        dna-bigbird text documents --set imdb --data aclImdb_v1.tar.gz --output documents.jsonl
    """
    from dna_bigbird.bundles import text_tasks
    from dna_bigbird.core.errors import InputError
    from dna_bigbird.core.unpacking import unpacked_limit
    from dna_bigbird.text.data.reading import partner_of
    from dna_bigbird.text.set_source import read_examples
    from dna_bigbird.text.tasks.task import task_for_set

    if set not in text_tasks.sets():
        raise InputError(f"--set {set}: not one of {', '.join(text_tasks.sets())}")
    data = Path(data)
    summaries = partner_of(data)  # train.target is read with train.source
    if summaries:
        check_paths(documents, {"data": data, "output": output}, also_read=[summaries])
    task = task_for_set(set)
    with unpacked_limit(max_unpacked_gib):
        examples, counts = read_examples(task, data, split, gold=False)
        return _write(Path(output), task.texts(examples), counts)


def _write(output: Path, texts: Iterable[str], counts: dict[str, int]) -> PlainDocuments:
    """Write texts as JSON lines, each once."""
    import gzip
    import hashlib
    import json

    from dna_bigbird.core.writing import atomic_path

    seen: dict[bytes, None] = {}
    repeated = empty = characters = 0
    with atomic_path(output) as partial, open(partial, "wb") as raw:
        # Without time and name in the header equal documents give equal bytes.
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if output.suffix == ".gz" else raw
        with packed:
            for text in texts:
                digest = hashlib.sha256(text.encode()).digest()
                if not text.strip():
                    empty += 1
                elif digest in seen:
                    repeated += 1
                else:
                    seen[digest] = None
                    characters += len(text)
                    packed.write((json.dumps({"text": text}, ensure_ascii=False) + "\n").encode())
    counts = counts | {"repeated": repeated, "empty": empty}
    return PlainDocuments(output, len(seen), characters, counts)
