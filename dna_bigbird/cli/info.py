"""`dna-bigbird info`."""

from pathlib import Path


def info(path: Path, verify: bool = False) -> None:
    """Describe a model bundle (task, labels, architecture, scores) or a token store.

    Args:
        path: Model bundle (a folder) or token store (an HDF5 file).
        verify: Read a token store from end to end and hold it against its checksum.
    """
    from dna_bigbird.errors import InputError
    from dna_bigbird.inference.bundle import to_json

    if path.is_file():
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
