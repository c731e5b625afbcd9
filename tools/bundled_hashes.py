"""Hashes of the sequences without coordinates that the bundled promoter model has read, from the data.

    python -m tools.bundled_hashes            # compare them with the file of the bundle
    python -m tools.bundled_hashes --write    # write the file, and name it in config.json and card

For a model that was trained before `finetune` kept them. Builds the labelled set as config/bundled-promoter.yaml
says and stops if its training rows are not those that config.json records. Reads ../shared/data; half a
minute of one core.
"""

import argparse
import shutil
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import yaml

from dna_bigbird.bundles.bundle import WEIGHTS, Bundle, load_bundle
from dna_bigbird.bundles.bundled import BUNDLED
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.core.result_folders import MODEL, atomic_directory
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.training.seen_rows import seen_hashes, seen_in_fine_tuning
from tools import bundled_card
from tools.bundled import CHECKOUT, RECIPE, build_set


def with_hashes(config: BundleConfig, labelled: LabelledSet, count: int) -> BundleConfig:
    """Return the settings with the whole record of the fine-tuning.

    Raises:
        SystemExit: If the set is not the one that was trained on.
    """
    *before, stored = config.regions_read
    record = seen_in_fine_tuning(labelled)
    if (record.regions, record.elsewhere) != (stored.regions, stored.elsewhere):
        sys.exit(f"{labelled.path}: its training rows are not those in {BUNDLED}/config.json")
    stored = replace(stored, validation=record.validation, is_hashed=True)
    records = [asdict(x) for x in (*before, stored)]
    return config.with_values(regions_read=records, n_sequences_read=count)


def write(bundle: Bundle, labelled: LabelledSet) -> None:
    """Write the bundled model with the hashes; weights, tokenizer and scores stay."""
    hashes = seen_hashes(labelled)
    config = with_hashes(bundle.config, labelled, len(hashes))
    checksum = bundle.config.sha256[WEIGHTS]
    with tempfile.TemporaryDirectory() as scratch, atomic_directory(BUNDLED, MODEL) as partial:
        save_bundle(
            Path(scratch) / "bundle",
            model=bundle.model,
            config=config,
            tokenizer=bundle.tokenizer,
            metrics=bundle.metrics,
            card=bundled_card.card(config, bundle.metrics),
            sequences_read=hashes,
        )
        if load_bundle(Path(scratch) / "bundle").config.sha256[WEIGHTS] != checksum:
            sys.exit(f"{BUNDLED}: the weights would change")
        shutil.copytree(Path(scratch) / "bundle", partial, dirs_exist_ok=True)


def main() -> None:
    """Write the hashes, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "results" / "bundled-scores")
    parser.add_argument("--write", action="store_true", help="write them to the bundled model")
    asked = parser.parse_args()
    bundle = load_bundle(BUNDLED)
    genome, _ = build_set(yaml.safe_load(RECIPE.read_text()), asked.data, asked.work)
    labelled = LabelledSet(asked.work / "set.h5", Genome(genome))
    hashes = seen_hashes(labelled)
    if asked.write:
        write(bundle, labelled)
        print(f"written: {BUNDLED / SEQUENCES}, {len(hashes):,} sequences")
        return
    if with_hashes(bundle.config, labelled, len(hashes)) != bundle.config:
        sys.exit(f"{BUNDLED}/config.json: the record differs")
    if bundle.sequences_read.tolist() != hashes.tolist():
        sys.exit(f"{BUNDLED / SEQUENCES}: has other hashes than the set")
    print(f"{len(hashes):,} sequences, as in the bundle")


if __name__ == "__main__":
    main()
