"""`dna-bigbird info`."""

from pathlib import Path


def info(path: Path, verify: bool = False) -> None:
    """Describe a model bundle (task, labels, architecture, scores), a token store or a labelled set.

    Args:
        path: Model bundle (a folder), token store or labelled set (HDF5 files).
        verify: Read a token store from end to end and hold it against its checksum.
    """
    from dna_bigbird.datasets.labelled import is_labelled_set
    from dna_bigbird.errors import InputError
    from dna_bigbird.inference.bundle import to_json

    if path.is_file() and not verify and is_labelled_set(path):
        print(to_json(describe_labelled(path)), end="")
    elif path.is_file():
        print(to_json(describe_store(path, verify)), end="")
    elif verify:
        raise InputError(f"{path}: --verify is for a token store, and this is no file")
    else:
        print(to_json(describe_bundle(path)), end="")


def describe_bundle(path: Path) -> dict:
    """Return what a bundle says of itself; of many labels the first ten."""
    from dna_bigbird.inference.bundle import load_bundle

    loaded = load_bundle(path)
    labels = loaded.config.get("label_names") or []
    shown = dict(loaded.config)
    if len(labels) > 10:
        shown["label_names"] = [*labels[:10], f"… {len(labels) - 10} more"]
        shown.pop("label_groups", None)
    parameters = sum(p.numel() for p in loaded.model.parameters())
    return {"parameters": parameters, "config": shown, "metrics": loaded.metrics}


def describe_labelled(path: Path) -> dict:
    """Return what a labelled set holds; of many labels the first ten."""
    from collections import Counter

    from dna_bigbird.datasets.labelled import LabelledSet
    from dna_bigbird.datasets.splits import SPLITS

    made = LabelledSet(path)
    positives = made.packed_labels.positives()
    labels = zip(made.label_names, made.label_groups, positives.tolist(), strict=True)
    return {
        **{
            name: getattr(made, name)
            for name in ("task", "assembly", "negatives", "window_bp", "bin_bp")
        },
        "rows": {split: len(made.rows(split)) for split in SPLITS},
        "labels": len(made.label_names),
        "labels_by_group": dict(Counter(made.label_groups)),
        "first_labels": [
            {"name": name, "group": group, "positives": count}
            for name, group, count in list(labels)[:10]
        ],
        "counts": made.counts,
        "command": made.command,
        "inputs_sha256": made.inputs,
        "file_bytes": path.stat().st_size,
    }


def describe_store(path: Path, verify: bool) -> dict:
    """Return the size and the attributes of a token store.

    Raises:
        InputError: If it is none, or does not match its checksum (with `verify`).
    """
    from dna_bigbird.datasets.token_store import TokenStore

    store = TokenStore(path)
    if verify:
        store.verify()
    return {
        "documents": store.num_documents,
        "sentences": int(store.document_sentence_offsets[-1]),
        "tokens": store.num_tokens,
        "bp": store.num_bp,
        "bp_per_token": round(store.num_bp / store.num_tokens, 6),
        "chromosomes": store.chromosomes,
        "file_bytes": path.stat().st_size,
        "checksum_verified": verify,
        "attributes": {
            name: value if isinstance(value, str) else int(value)
            for name, value in sorted(store.attributes.items())
            if name != "chromosomes"
        },
    }
