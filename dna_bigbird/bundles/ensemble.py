"""Joins fine-tuned bundles into one bundle whose probabilities are the mean of theirs."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dna_bigbird.bundles.bundle import PRETRAINING, Bundle, load_bundle, save_bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.errors import InputError, shortened
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.ensemble import EnsembleClassifier

SETTINGS = {"encoder": EncoderConfig, "head": HeadConfig}
SAME = (
    "task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives",
    "semi_synthetic",
)  # fmt: skip
"""What members must have in common beside architecture and tokenizer."""
ABOUT_ONE = ("seed", "chosen_step", "initial_weights")
"""What the config of an ensemble tells of each member."""
OF_THE_FILE = ("format_version", "dna_bigbird_version", "sha256")


def join_bundles(folders: Sequence[Path], output: Path) -> None:
    """Write a bundle that holds all the models.

    Raises:
        InputError: If there are fewer than two, one is no single fine-tuned model, two differ in
            labels, windows, data, architecture or tokenizer, or two are the same model.
    """
    if len(folders) < 2:
        raise InputError(f"--models names {len(folders)} bundle(s); an ensemble needs at least two")
    first, bundles, checksums = None, [], {}
    for folder in folders:
        bundle = load_bundle(folder)
        first = first or bundle
        check_member(bundle, first)
        weights = hashlib.sha256((Path(folder) / "model.safetensors").read_bytes()).hexdigest()
        if weights in checksums:
            raise InputError(
                f"{folder}: has the same weights as {checksums[weights]}; members must be trained "
                "apart, for example with other seeds"
            )
        checksums[weights] = folder
        bundles.append(bundle)
    config = common_settings(bundles)
    config["members"] = len(bundles)
    config["member_models"] = [
        {"sha256": checksum, **{k: bundle.config[k] for k in ABOUT_ONE if k in bundle.config}}
        for checksum, bundle in zip(checksums, bundles, strict=True)
    ]
    metrics = {"n": 0, "seed": None, "split": "none"}
    save_bundle(
        output,
        model=EnsembleClassifier([bundle.model for bundle in bundles]),
        config=config,
        tokenizer=first.tokenizer,
        metrics=metrics,
        card=model_card(config, metrics),
    )


def common_settings(bundles: Sequence[Bundle]) -> dict:
    """Return what all configs say alike, apart from what is about one member or one file."""
    first = bundles[0].config
    return {
        key: value
        for key, value in first.items()
        if key in SETTINGS
        or (
            key not in (*ABOUT_ONE, *OF_THE_FILE)
            and all(bundle.config.get(key) == value for bundle in bundles)
        )
    }


def check_member(bundle: Bundle, first: Bundle) -> None:
    """Refuse a bundle that cannot stand beside the first one.

    Raises:
        InputError: Naming both bundles and what differs.
    """
    if bundle.config["task"] == PRETRAINING:
        raise InputError(
            f"{bundle.folder}: a pretrained model without a label head; fine-tune it first"
        )
    bundle.check_reads_dna()
    bundle.check_single("an ensemble")
    for key in SAME:
        _check_same(key, bundle.config.get(key), first.config.get(key), bundle, first)
    for part, settings in SETTINGS.items():
        # Bundles of older versions lack settings that have a default today.
        own, other = (asdict(settings(**x.config[part])) for x in (bundle, first))
        for key in own:
            _check_same(f"{part}.{key}", own[key], other[key], bundle, first)
    if bundle.tokenizer.files != first.tokenizer.files:
        raise InputError(f"{bundle.folder}: has another tokenizer than {first.folder}")


def _check_same(name: str, found: object, expected: object, bundle: Bundle, first: Bundle) -> None:
    if found != expected:
        raise InputError(
            f"{bundle.folder}: its {name} is {shortened(found)}, that of {first.folder} "
            f"{shortened(expected)}; the members of an ensemble must agree"
        )
