"""`dna-bigbird text documents`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath, check_paths
from dna_bigbird.shared_options import MaxUnpackedGib, SetPart


@checked()
def documents(
    set: str,
    data: InputPath,
    output: OutputPath,
    split: SetPart = "train",
    max_unpacked_gib: MaxUnpackedGib = 0,
) -> None:
    """Turn a set into plain documents, one JSON object {"text": …} a line, for pretraining.

    Questions, labels and summaries are left out; documents that occur again are too.

    Args:
        set: Name of the set: imdb, yelp5, arxiv-topics, patents, hyperpartisan, json-lines, cola,
            mnli, mrpc, qnli, qqp, rte, sst2, stsb, hotpotqa, natural-questions, triviaqa, wikihop,
            arxiv, pubmed, bigpatent, cnn-dailymail, xsum.
        data: The set in its native format.
        output: File to write, compressed if its name ends in .gz.

    Examples:
        dna-bigbird text documents --set hotpotqa --data hotpot_train_v1.1.json --output documents.jsonl
    """
    import gzip
    import hashlib
    import json

    from dna_bigbird.datasets.text import registry
    from dna_bigbird.datasets.text.summary_pairs import partner_of
    from dna_bigbird.errors import InputError
    from dna_bigbird.pipeline.text.set_rows import left_out, read_examples
    from dna_bigbird.tasks.text.lookup import task_for_set
    from dna_bigbird.writing import atomic_path

    if set not in registry.sets():
        raise InputError(f"--set {set}: not one of {', '.join(registry.sets())}")
    summaries = partner_of(data)  # train.target is read with train.source
    if summaries:
        check_paths(documents, {"data": data, "output": output}, also_read=[summaries])
    kind = task_for_set(set)
    examples, counts = read_examples(
        kind, data, split, gold=False, max_unpacked_gib=max_unpacked_gib
    )
    seen: dict[bytes, None] = {}
    repeated = empty = characters = 0
    with atomic_path(output) as partial, open(partial, "wb") as raw:
        # Without time and name in the header equal documents give equal bytes.
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if output.suffix == ".gz" else raw
        with packed:
            for text in kind.texts(examples):
                digest = hashlib.sha256(text.encode()).digest()
                if not text.strip():
                    empty += 1
                elif digest in seen:
                    repeated += 1
                else:
                    seen[digest] = None
                    characters += len(text)
                    line = json.dumps({"text": text}, ensure_ascii=False) + "\n"
                    packed.write(line.encode())
    told = left_out(counts | {"repeated": repeated, "empty": empty})
    print(f"{output}: {len(seen):,} documents, {characters:,} characters{told}")
