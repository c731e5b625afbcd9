"""Held-out scores of the promoter model that comes with the package, from the data.

    python -m tools.bundled                    # score it and compare the scores with its card
    python -m tools.bundled --results results/bundled-promoter --ship
                                                    # make a run's best training the bundled one
    python -m tools.bundled --encoder results/bundled-encoder/models/pretrained
                                                    # make a pretrained bundle the bundled encoder

The best training has the highest macro AUROC on validation. Builds the labelled set as
config/bundled-promoter.yaml says, shows that no split knows anything of another, fits the word
baselines on all rows the model saw and on each part alone, and scores the test rows once for each part;
the networks' scores are those of the run, the mean of its seeds' probabilities. Reads ../shared/data; four
minutes of one core.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import yaml

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import BUNDLED, ENCODER
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.core.rounding import rounded
from dna_bigbird.core.writing import json_text
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.metrics.label_areas import compare
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor
from tools import bundled_card
from tools.bundled_scores import PromoterRows, Scorer, mean_of, named, scan

CHECKOUT = Path(__file__).resolve().parents[1]
RECIPE = CHECKOUT / "config" / "bundled-promoter.yaml"
NETWORKS = ("cnnprom", "deepromoter")
TOLERANCE = 0.002
"""Of a score that is computed again: another processor rounds a few probabilities the other way."""


def build_set(recipe: dict, data: Path, folder: Path) -> tuple[Path, Path]:
    """Write the genome and the set of the recipe; return the paths of the genome and of the sites."""
    genome, lifted = build_sources(settings_of(recipe), data, folder)
    build_promoters(recipe, folder, folder / "set.h5")
    return genome, lifted


def build_sources(settings: dict, data: Path, folder: Path) -> tuple[Path, Path]:
    """Write genome and start sites of a recipe; return the paths of the genome and of the lifted sites."""
    folder.mkdir(parents=True, exist_ok=True)
    genome, sites, lifted = (folder / name for name in ("genome.fa", "tata.bed", "sites.bed"))
    promoters = data / "promoters"
    dna_bigbird(
        [
            "promoter-sequences",
            f"--input={promoters / 'human_tata_promoters_300bp.txt.gz'}",
            f"--tss_offset={settings['upstream']}",
            f"--output={folder / 'tata.fa'}",
            f"--output_sites={sites}",
        ]
    )
    pieces = [str(path) for path in sorted((data / "genome").glob("hg19_chr*.fa.gz"))]
    joined = json.dumps([*pieces, str(folder / "tata.fa")])
    dna_bigbird(["genome", f"--inputs={joined}", f"--output={genome}"])
    dna_bigbird(
        [
            "lift-over",
            f"--input={promoters / 'epdnew_human_hg38_without_chr1_chr2.bed.gz'}",
            f"--chain={data / 'chain' / 'hg38ToHg19.over.chain.gz'}",
            f"--output={lifted}",
            f"--unlifted={folder / 'unlifted.tsv'}",
        ]
    )
    return genome, lifted


def build_promoters(
    recipe: dict, folder: Path, output: Path, name: str = "tata", fold: int | None = None
) -> None:
    """Write the promoter set of a model from the sources in a folder; with another test fold if named."""
    settings = settings_of(recipe, name)
    splits = settings["splits"] | ({} if fold is None else {"fold": fold})
    dna_bigbird(
        [
            "promoter-set",
            f"--genome={folder / 'genome.fa'}",
            f"--sites={json.dumps([str(folder / x) for x in ('tata.bed', 'sites.bed')])}",
            f"--output={output}",
            f"--assembly={recipe['assembly']}",
            f"--pieces={str(recipe['pieces']).lower()}",
            f"--seed={recipe['seed']}",
            f"--upstream={settings['upstream']}",
            f"--downstream={settings['downstream']}",
            f"--negatives={settings['negatives']}",
            f"--unread={json.dumps(settings['unread'])}",
            *(f"--split.{key}={value}" for key, value in splits.items()),
        ]
    )


def settings_of(recipe: dict, name: str = "tata") -> dict:
    """Return how the recipe builds and trains one of the two models."""
    return recipe["experiments"]["heads"][name]["promoter"]


def best_of(results: Path) -> Path:
    """Return the training of a run with the highest macro AUROC on validation."""
    bundles = sorted((results / "trained" / "heads" / "tata").glob("seed[0-9]*"))
    bundles = [path for path in bundles if (path / "metrics.json").is_file()]
    if not bundles:
        sys.exit(f"{results}: no trained promoter model; run snakemake first ({RECIPE.name})")
    scores = {path: load_bundle(path).metrics["macro_auroc"] for path in bundles}
    for path, score in scores.items():
        print(f"{path.name}: macro AUROC {score:.4f} on validation")
    return max(scores, key=scores.get)


def measure(bundle: Bundle, recipe: dict, data: Path, folder: Path, networks: Path | None) -> dict:
    """Return metrics.json of the bundled model.

    Args:
        networks: Folder with the score files of the networks; None leaves them out.
    """
    genome, sites = build_set(recipe, data, folder)
    reference, seed = Genome(genome), recipe["seed"]
    labelled = LabelledSet(folder / "set.h5", reference)
    rows = PromoterRows(labelled)
    compute = Compute(precision="32-true")
    forward, both = (Predictor(bundle, compute=compute, strand=x) for x in ("forward", "both"))

    own = rows.known(forward.probabilities)
    same_rows: dict[str, Scorer] = {
        "both_strands": rows.known(both.probabilities),
        "positional_same_rows": rows.kmer(method="positional"),
        "kmer_same_rows": rows.kmer(),
        "gc": rows.kmer(method="gc"),
    }
    for name in NETWORKS if networks else ():
        same_rows[name] = mean_of([rows.read(x) for x in sorted((networks / name).glob("*.h5"))])
    metrics: dict = {}
    one_kind = {f"{x}_one_kind": x for x in ("positional", "kmer")}
    baselines: dict[str, dict] = {name: {} for name in (*same_rows, *one_kind)}
    for part in bundled_card.PARTS:
        source = rows.judged(own, part, seed)
        metrics |= named(source, part) | {f"n_{part}": source.metrics["n"]}
        fitted = {name: rows.kmer(part, method=method) for name, method in one_kind.items()}
        for name, scorer in (same_rows | fitted).items():
            other = rows.judged(scorer, part, seed)
            baselines[name] |= named(other, part)
            gain = compare(source.areas, other.areas)
            for end in ("", "_low", "_high"):
                metrics[f"auroc_gain_over_{name}{end}_{part}"] = gain[f"auroc_gain{end}"]
    promoters = rows.of("genomic", "test")[::2]
    strands = {"": (forward, own), "_both_strands": (both, same_rows["both_strands"])}
    for ending, (predictor, scorer) in strands.items():
        scanned = scan(predictor, reference, labelled, sites, scorer(promoters)[:, 0])
        metrics |= {f"{key}{ending}": value for key, value in scanned.items()}
    for split in SPLITS:
        metrics[f"n_promoters_{split}"] = int(labelled.labels_of(labelled.rows(split)).sum())
    test = labelled.rows("test")
    metrics |= {"n": len(test), "n_positive": int(labelled.labels_of(test).sum()), "seed": seed}
    metrics |= {"split": "test", "strand": "forward", "step": bundle.config.chosen_step}
    return rounded(metrics | {"baselines": baselines})


def ship_encoder(encoder: Path) -> None:
    """Write the bundled encoder, as it is."""
    for path in ENCODER.iterdir():
        shutil.copyfile(encoder / path.name, path)


def ship(bundle: Bundle, metrics: dict) -> None:
    """Write the bundled classifier, with new scores and a new card."""
    for name in ("config.json", "model.safetensors", "tokenizer.model", SEQUENCES):
        shutil.copyfile(bundle.folder / name, BUNDLED / name)
    (BUNDLED / "metrics.json").write_text(json_text(metrics))
    (BUNDLED / "README.md").write_text(bundled_card.card(bundle.config, metrics))


def differences(measured: dict, recorded: dict, where: str = "") -> list[str]:
    """Name every figure that is not what the card's metrics.json says."""
    lines = []
    for key in sorted(measured.keys() | recorded.keys()):
        if any(name in key for name in NETWORKS):
            continue  # computed by the run alone
        a, b = measured.get(key), recorded.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{key}.")
        elif isinstance(a, float) and isinstance(b, float | int):
            # Calls in a scan are few, and one more is a larger step than one more row.
            near = TOLERANCE if "scan" not in key else 0.05 * abs(b) + TOLERANCE
            lines += [f"{where}{key}: {a} here, {b} on the card"] if abs(a - b) > near else []
        elif a != b:
            lines.append(f"{where}{key}: {a} here, {b} on the card")
    return lines


def main() -> None:
    """Score, then ship or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, help="folder of a run; default: the bundled model")
    parser.add_argument(
        "--bundle", type=Path, help="score this bundle; networks stay as on the card"
    )
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=CHECKOUT / "results" / "bundled-scores")
    parser.add_argument("--ship", action="store_true", help="make them the bundled models")
    parser.add_argument(
        "--encoder", type=Path, help="make this bundle the bundled encoder, no more"
    )
    asked = parser.parse_args()
    if asked.encoder:
        ship_encoder(asked.encoder)
        print(f"written: {ENCODER}")
        return
    bundle = load_bundle(best_of(asked.results) if asked.results else asked.bundle or BUNDLED)
    recorded = json.loads((BUNDLED / "metrics.json").read_text())
    networks = asked.results / "baselines/heads/tata" if asked.results else None
    recipe = yaml.safe_load(RECIPE.read_text())
    metrics = measure(bundle, recipe, asked.data, asked.work, networks)
    if asked.bundle:
        kept = {name: recorded["baselines"][name] for name in NETWORKS}
        metrics["baselines"] |= kept
    print(bundled_card.score_table(metrics))
    if asked.ship and not (asked.results or asked.bundle):
        parser.error("--ship needs --results or --bundle")
    if asked.ship:
        ship(bundle, metrics)
        print(f"written: {BUNDLED}")
        return
    if wrong := differences(metrics, recorded):
        sys.exit("\n".join(["not what the card says:", *wrong]))
    print("as the card says")


if __name__ == "__main__":
    main()
