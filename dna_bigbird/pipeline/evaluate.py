"""`dna-bigbird evaluate`."""

from typing import Literal

from dna_bigbird.paths import InputPath, OutputFolder, OutputPath


def evaluate(
    genome: InputPath,
    model: InputPath,
    data: InputPath,
    output: OutputPath,
    report: OutputFolder,
    baselines: dict[str, InputPath] = {},  # noqa: B006 - jsonargparse shows the default
    strand: Literal["both", "forward"] = "both",
    seed: int = 0,
    batch_size: int = 64,
    replicates: int = 1000,
    block_bp: int = 0,
    threads: int = 0,
) -> None:
    """Score a fine-tuned model on the held-out rows beside its baselines.

    Probabilities are computed in float32. Thresholds are chosen on validation rows (best F1),
    for the model and for each baseline alike; every score is of test rows.

    Args:
        genome: FASTA that the labelled set was made from.
        model: Bundle of `dna-bigbird finetune` or `ensemble`.
        data: Labelled set.
        output: Bundle to write: the same model with its test scores and card.
        report: Folder for scores.h5 (probabilities of validation and test rows), per_label.tsv,
            calibration.tsv and curves.tsv.
        baselines: Score files of `dna-bigbird baseline` by name, e.g. '{kmer: kmer.h5}'.
        strand: 'both' scores the mean of a window and its reverse complement, 'forward' the window as
            the set orients it: a promoter with its gene, a bin on the forward strand.
        seed: Seed of the bootstrap.
        batch_size: Windows computed at once.
        replicates: Bootstrap draws of the test rows behind each interval.
        block_bp: Stretch of the genome whose rows the bootstrap draws together; 0 takes the longest
            of 1 Mb, 500, 200, 100, 50, 20 and 10 kb that gives at least 20 blocks.
        threads: CPU threads; 0 leaves the choice to torch.
    """

    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.card import model_card, write_scored_bundle
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.datasets.scores import STRANDS, read_scores, write_scores
    from dna_bigbird.errors import InputError, note
    from dna_bigbird.evaluation.rounding import rounded
    from dna_bigbird.files import sha256_of
    from dna_bigbird.genome import Genome
    from dna_bigbird.limits import use_threads
    from dna_bigbird.pipeline.held_out import MODEL, HeldOut, check_labels, model_scores

    for name, value, least in (("replicates", replicates, 1), ("block_bp", block_bp, 0)):
        if value < least:
            raise InputError(f"--{name} {value}: expected at least {least}")
    use_threads(threads)
    bundle = load_bundle(model)
    labelled = open_labelled_set(data, Genome(genome))
    check_labels(bundle, labelled)
    checksum = sha256_of(data)
    held_out = HeldOut(labelled, seed=seed, replicates=replicates, block_bp=block_bp)
    if MODEL in baselines:
        raise InputError(f"--baselines: {MODEL!r} is the name of the model itself; take another")
    for path in baselines.values():  # before hours of prediction
        scores = read_scores(path)
        scores.check_belongs(path, data, checksum)
        scores.of(held_out.rows)
        if scores.strand in STRANDS and scores.strand != strand:
            note(
                f"{path}: {STRANDS[scores.strand]}, the model: {STRANDS[strand]}. To compare the "
                f"same, score the baseline again: dna-bigbird baseline --strand {strand}"
            )
    own = model_scores(bundle, labelled, held_out, batch_size, checksum, strand)
    write_scores(report / "scores.h5", own)
    held_out.score(own)
    del own  # a large set's scores take gigabytes; one source is held at a time
    for name, path in baselines.items():
        held_out.score(read_scores(path), name)
    held_out.write(report)
    metrics = held_out.metrics() | {"step": bundle.metrics.get("step"), "strand": strand}
    metrics = rounded(metrics)
    write_scored_bundle(model, output, metrics, model_card(bundle.config, metrics))
    key = "auroc" if len(labelled.label_names) == 1 else "macro_auroc"
    print(f"{output}: {key} {metrics[key]} ({metrics[f'{key}_low']}-{metrics[f'{key}_high']})")
    for name, table in metrics["baselines"].items():
        print(f"  {name}: {table[key]} ({table[f'{key}_low']}-{table[f'{key}_high']})")
