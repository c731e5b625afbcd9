"""`dna-bigbird info`."""

from pathlib import Path


def info(model: Path) -> None:
    """Describe a model bundle: task, labels, architecture, scores.

    Args:
        model: Model bundle, a folder.
    """
    from dna_bigbird.inference.bundle import load_bundle, to_json

    bundle = load_bundle(model)
    labels = bundle.config.get("label_names") or []
    shown = dict(bundle.config)
    if len(labels) > 10:
        shown["label_names"] = [*labels[:10], f"… {len(labels) - 10} more"]
        shown.pop("label_groups", None)
    parameters = sum(p.numel() for p in bundle.model.parameters())
    print(to_json({"parameters": parameters, "config": shown, "metrics": bundle.metrics}), end="")
