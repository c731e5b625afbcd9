"""The network that a bundle's config describes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.weights import check_counts, check_shapes, stored_shapes
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.ensemble import EnsembleClassifier
from dna_bigbird.models.pretraining_model import PretrainingModel


def build_model(config: BundleConfig | Mapping[str, Any]) -> nn.Module:
    """Build the model that a bundle's config describes, with fresh weights.

    Args:
        config: Settings, or the same as in config.json.
    """
    config = BundleConfig.from_json(config)
    if config.is_pretrained_only:
        return PretrainingModel(config.encoder, heads=config.heads)
    if config.is_text_task:
        task = text_tasks.describe(config.task)
        return task.build_model(config.encoder, config.head, len(config.label_names))
    if config.members is not None:
        single = replace(config, members=None)
        members = [build_model(single) for _ in range(config.members)]
        return EnsembleClassifier(members, config.label_type)
    num_labels = len(config.label_names)
    return SequenceClassifier(config.encoder, num_labels, config.head, words=config.words)


def empty_model(folder: Path, config: BundleConfig, weights: str) -> nn.Module:
    """Return the model of a bundle without memory for its weights.

    Args:
        weights: Name of the file with the weights; its header must fit the model.

    Raises:
        InputError: If the config describes no model, or another one than the weights.
    """
    path = folder / weights
    shapes = stored_shapes(path)
    own = config.encoder
    sizes = {"hidden_size": own.hidden_size}
    if own.attention == "performer" and own.performer.num_features:
        sizes["performer.num_features"] = own.performer.num_features
    check_counts(shapes, path, num_layers=own.num_layers, sizes=sizes, members=config.members or 0)
    try:
        with torch.device("meta"):
            model = build_model(config)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{folder}/config.json: it describes no model: {error}") from error
    check_shapes(model, shapes, path)
    return model
