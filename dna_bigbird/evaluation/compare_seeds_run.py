"""Steps of `compare-seeds`: read the scores of all trainings, average and compare them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.rounding import rounded
from dna_bigbird.evaluation.evaluate_run import MODEL, ScoresOnTest
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import LabelScores, read_scores
from dna_bigbird.metrics import seed_means
from dna_bigbird.metrics.seed_means import SeedScores
from dna_bigbird.metrics.sources import score_source
from dna_bigbird.models.label_types import BINARY, MULTI_LABEL


def named_files(scores: Sequence[Path], baselines: Sequence[str]) -> dict[str, list[Path]]:
    """Return the score files of the model and of each baseline, the model first."""
    if not scores:
        raise InputError("--scores []: expected scores.h5 of at least one training")
    files: dict[str, list[Path]] = {MODEL: list(scores)}
    for text in baselines:
        name, separator, path = text.partition("=")
        if not (name and separator and path) or name == MODEL:
            raise InputError(f"--baselines {text}: expected NAME=FILE, such as kmer=kmer.h5")
        files.setdefault(name, []).append(Path(path))
    for name, paths in files.items():
        if twice := [path for path in paths if paths.count(path) > 1]:
            raise InputError(f"{twice[0]}: named twice for {name}; expected one file per seed")
    return files


def seed_comparison(
    data: Path, files: Mapping[str, Sequence[Path]], *, seed: int, replicates: int, block_bp: int
) -> dict:
    """Return means over seeds of the model and of each baseline, and differences, as written."""
    labelled = LabelledSet(data)
    if labelled.label_type not in (BINARY, MULTI_LABEL):
        raise InputError(
            f"{data}: its labels are of the type {labelled.label_type}; compare-seeds averages scores of "
            "labels of 0 and 1 only"
        )
    held_out = ScoresOnTest(labelled, seed=seed, replicates=replicates, block_bp=block_bp)
    checksum = sha256_of(data)
    joined: dict[str, SeedScores] = {}
    described: dict[str, dict] = {}
    for name, paths in files.items():
        tables = [_checked(path, data, checksum) for path in paths]
        for number, table in enumerate(tables):
            for path, other in zip(paths, tables[:number], strict=False):
                if (table.values == other.values).all():
                    raise InputError(
                        f"{paths[number]}: the scores of {path}; expected one per seed"
                    )
        joined[name] = _joined(tables, held_out)
        described[name] = {"description": tables[0].description, "strand": tables[0].strand}
    facts = {
        "n": len(held_out.test),
        "n_positive": int((held_out.labels[1] == 1).sum()),
        "block_bp": held_out.block_bp,
        "n_blocks": len(held_out.draws.times),
        "replicates": replicates,
        "seed": seed,
        "split": "test",
        "set_sha256": checksum,
    }
    return rounded(_metrics(joined, described, facts))


def _checked(path: Path, data: Path, checksum: str) -> LabelScores:
    scores = read_scores(path)
    scores.check_belongs(path, data, checksum)
    return scores


def _joined(tables: Sequence[LabelScores], held_out: ScoresOnTest) -> SeedScores:
    """Score the trainings of one model or baseline."""
    sources, drawn = [], []
    for table in tables:
        validation = held_out.labels[0], table.of(held_out.validation)
        test = held_out.labels[1], table.of(held_out.test)
        source = score_source(validation, test, held_out.groups, held_out.draws)
        sources.append(source)
        drawn.append(seed_means.drawn_scores(source, test, held_out.groups, held_out.draws))
    return seed_means.join(sources, drawn, len(held_out.draws.times))


def _metrics(joined: Mapping[str, SeedScores], described: Mapping[str, dict], facts: dict) -> dict:
    own, *names = joined
    model = joined[own]
    gains: dict[str, float] = {}
    for name in names:
        for score in model.values:
            if score.endswith(("auroc", "auprc")) or score == "mcc":
                key = f"{score.removeprefix('macro_')}_gain_over_{name}"
                gains |= seed_means.cells(key, model.minus(joined[name], score))
    return {
        **seed_means.seed_metrics(model),
        **gains,
        **facts,
        "strand": described[own]["strand"],
        "baselines": {
            name: seed_means.seed_metrics(joined[name]) | facts | described[name] for name in names
        },
    }
