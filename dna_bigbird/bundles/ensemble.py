"""`dna-bigbird ensemble`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dna_bigbird.bundles.card import model_card
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import ModelOutput
from dna_bigbird.models.scaling import Scaling

if TYPE_CHECKING:
    from dna_bigbird.bundles.bundle import Bundle


@dataclass(frozen=True)
class Ensemble(Result):
    """A bundle whose probabilities are the mean of its members'."""

    output: Path
    num_models: int

    def summary(self) -> str:
        """Return the number of models."""
        return f"{self.output}: an ensemble of {self.num_models} models"


@checked()
def ensemble(models: list[InputPath], output: ModelOutput) -> Ensemble:
    """Join independently trained models into one whose probabilities are the mean of theirs.

    The result is a bundle like any other: predict and evaluate take it. The members must have the
    same labels, windows, architecture and tokenizer. Predicting takes the time and memory of all.

    Examples:
        dna-bigbird ensemble --models results/trained/chromatin results/trained/seed1 --output results/trained/both

    Args:
        models: Bundles of `dna-bigbird finetune`, two at least: --models seed0 seed1.
        output: Result to write: a bundle (a folder).
    """
    join_bundles(models, output)
    return Ensemble(output, len(models))


COMMON = (
    "task", "label_names", "label_groups", "window_bp", "bin_bp", "assembly", "negatives",
    "semi_synthetic", "directional", "anchor_bp", "label_type", "target_means", "target_stds",
)  # fmt: skip
"""Keys of config.json in which members must agree; encoder, head and tokenizer must agree too."""
PER_MEMBER = ("seed", "chosen_step", "initial_weights")
"""Keys that the config of an ensemble lists for each member."""
PER_FILE = ("format_version", "dna_bigbird_version", "sha256")


def join_bundles(folders: Sequence[Path], output: Path) -> None:
    """Write a bundle with all the models, or raise InputError if they cannot be an ensemble."""
    from dna_bigbird.bundles.bundle import WEIGHTS, load_bundle
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.bundles.seen_sequences import union
    from dna_bigbird.models.classifier import EnsembleClassifier

    if len(folders) < 2:
        raise InputError(f"--models names {len(folders)} bundle(s); an ensemble needs at least two")
    bundles: list[Bundle] = []
    checksums: dict[str, Path] = {}
    for folder in folders:
        bundle = load_bundle(folder)
        check_member(bundle, bundles[0] if bundles else bundle)
        weights = sha256_of(bundle.folder / WEIGHTS)
        if weights in checksums:
            raise InputError(
                f"{folder}: has the same weights as {checksums[weights]}; members must be trained "
                "apart, for example with other seeds"
            )
        checksums[weights] = folder
        bundles.append(bundle)
    labels = range(len(bundles[0].config.label_names))
    scaling, notes = scaling_of(bundles, [labels] * len(bundles))
    for text in notes:
        note(text)
    sequences = union(bundle.sequences_read for bundle in bundles)
    common = common_settings(bundles)
    # Counts that do not help one of the members are left out of it.
    own = PER_MEMBER if "words" in common else (*PER_MEMBER, "words")
    config = common | {
        "members": len(bundles),
        "member_models": [
            {"sha256": checksum, **_selected(bundle, own)}
            for checksum, bundle in zip(checksums, bundles, strict=True)
        ],
        **({"n_sequences_read": len(sequences)} if len(sequences) else {}),
        **({} if scaling is None else {"calibration": asdict(scaling)}),
    }
    metrics = {"n": 0, "seed": None, "split": "none"}
    save_bundle(
        output,
        model=EnsembleClassifier(
            [bundle.model for bundle in bundles], bundles[0].config.label_type
        ),
        config=config,
        tokenizer=bundles[0].tokenizer,
        metrics=metrics,
        card=model_card(config, metrics),
        sequences_read=sequences,
    )


def scaling_of(
    bundles: Sequence["Bundle"], columns: Sequence[Sequence[int]]
) -> tuple[Scaling | None, list[str]]:
    """Return the correction of the mean of bundles for some columns of each, and notes."""
    scalings = [
        bundle.config.calibration and bundle.config.calibration.of(of_bundle)
        for bundle, of_bundle in zip(bundles, columns, strict=True)
    ]
    without = [str(x.folder) for x, scaling in zip(bundles, scalings, strict=True) if not scaling]
    if 0 < len(without) < len(bundles):
        return None, [
            f"no correction of probabilities on validation rows: {', '.join(without)} has none"
        ]
    return Scaling.mean(scalings), []


def common_settings(bundles: Sequence["Bundle"]) -> dict[str, Any]:
    """Return the values of config.json in which all bundles agree, without those of one member."""
    return {
        key: value
        for key, value in bundles[0].config.stored.items()
        if key in ("encoder", "head")
        or (
            key not in (*PER_MEMBER, *PER_FILE)
            and all(bundle.config.stored.get(key) == value for bundle in bundles)
        )
    }


def _selected(bundle: "Bundle", keys: Sequence[str]) -> dict[str, Any]:
    return {key: bundle.config.stored[key] for key in keys if key in bundle.config.stored}


def check_member(bundle: "Bundle", first: "Bundle") -> None:
    """Raise InputError if a bundle cannot be in an ensemble with the first, naming what differs."""
    if bundle.config.is_pretrained_only:
        raise InputError(
            f"{bundle.folder}: a pretrained model without a label head; fine-tune it first"
        )
    bundle.check_reads_dna()
    bundle.check_single("an ensemble")
    own, expected = (x.config.stored for x in (bundle, first))
    for key in COMMON:
        _check_equal(key, own.get(key), expected.get(key), bundle, first)
    for part in ("encoder", "head"):
        # Bundles of older versions lack settings that have a default today.
        own, expected = (asdict(getattr(x.config, part)) for x in (bundle, first))
        for key in own:
            _check_equal(f"{part}.{key}", own[key], expected[key], bundle, first)
    if bundle.tokenizer.files != first.tokenizer.files:
        raise InputError(f"{bundle.folder}: has another tokenizer than {first.folder}")


def _check_equal(
    name: str, value: object, expected: object, bundle: "Bundle", first: "Bundle"
) -> None:
    if value != expected:
        raise InputError(
            f"{bundle.folder}: its {name} is {shortened(value)}, that of {first.folder} "
            f"{shortened(expected)}; the members of an ensemble must agree"
        )
