"""What a language model is scored on: the bundle, the token stores, the parts of the genome."""

from pathlib import Path

from dna_bigbird.errors import InputError


def load_masked_model(model: Path):
    """Return a pretrained bundle that can be scored, and how its tokens are hidden.

    Raises:
        InputError: If it is another kind of model, or lacks a head.
    """
    from dna_bigbird.bundles.bundle import PRETRAINING, load_bundle
    from dna_bigbird.corpus.masking import MaskingConfig
    from dna_bigbird.models.pretraining import HEADS

    bundle = load_bundle(model)
    if bundle.config["task"] != PRETRAINING:
        raise InputError(f"{model}: a {bundle.config['task']} model; expected a pretrained one")
    if bundle.model.heads != HEADS:
        found = ", ".join(bundle.model.heads) or "none"
        raise InputError(f"{model}: scoring needs the heads {', '.join(HEADS)}; it has {found}")
    bundle.check_reads_dna()
    # A converted model does not say how it was masked.
    return bundle, MaskingConfig(**bundle.config.get("masking", {}))


def load_stores(train: Path, test: Path, tokenizer, model: Path) -> dict:
    """Return both token stores, made with the model's tokenizer; both are verified."""
    from dna_bigbird.datasets.token_store import TokenStore
    from dna_bigbird.pipeline.training_checks import check_tokenizer, verify_stores

    stores = {"train": TokenStore(train), "test": TokenStore(test)}
    for store in stores.values():
        check_tokenizer(store, tokenizer, model)
    verify_stores(stores.values())
    return stores


def ways_to_divide(store, genome: Path | None, repeats: Path | None, pieces: bool) -> dict:
    """Return by what the scores are told apart, by the name of its table in metrics.json.

    Raises:
        InputError: If there are repeats without a genome, or the genome is not the documents'.
    """
    from dna_bigbird.datasets.same_genome import check_store_genome
    from dna_bigbird.genome import Genome
    from dna_bigbird.tasks.language_strata import ByChromosome, ByRepeatClass

    strata = {"by_chromosome": ByChromosome(store.chromosomes)}
    if genome is None:
        if repeats is not None:
            raise InputError("--repeats needs the genome too: give --genome")
        return strata
    reference = Genome(genome)
    check_store_genome(store, reference)
    classes = repeat_classes(reference, repeats, pieces)
    return strata | {"by_repeat_class": ByRepeatClass(classes, store.chromosomes)}


def repeat_classes(genome, repeats: Path | None, pieces: bool):
    """Return the repeat class of every base, from a BED file or else from lower case."""
    from dna_bigbird.genome.repeats import RepeatClasses

    if repeats is None:
        return RepeatClasses.from_soft_mask(genome)
    return RepeatClasses.from_bed(repeats, genome, pieces=pieces)
