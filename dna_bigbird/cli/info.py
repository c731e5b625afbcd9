"""`dna-bigbird info`."""

from pathlib import Path


def info(bundle: Path) -> None:
    """Describe a model bundle: task, labels, architecture, scores.

    Args:
        bundle: Model bundle, a folder.
    """
    from dna_bigbird.inference.bundle import load_bundle, to_json

    loaded = load_bundle(bundle)
    labels = loaded.config.get("label_names") or []
    shown = dict(loaded.config)
    if len(labels) > 10:
        shown["label_names"] = [*labels[:10], f"… {len(labels) - 10} more"]
        shown.pop("label_groups", None)
    parameters = sum(p.numel() for p in loaded.model.parameters())
    print(to_json({"parameters": parameters, "config": shown, "metrics": loaded.metrics}), end="")
