"""Steps of `evaluate-lm`: load the model and the token stores, divide the genome into classes."""

from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.corpus.store_checks import check_store_genome, check_tokenizer, verify_stores
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.evaluation.language_strata import ByChromosome, ByRepeatClass, Strata
from dna_bigbird.genome import Genome
from dna_bigbird.genome.repeats import repeat_classes
from dna_bigbird.prediction.lengths import beyond_training


def load_masked_model(model: Path) -> Bundle:
    """Return a pretrained bundle that can be scored.

    Raises:
        InputError: If it is another type of model, or lacks the head that is scored.
    """
    bundle = load_bundle(model)
    if bundle.config.task != PRETRAINING:
        raise InputError(f"{model}: a {bundle.config.task} model; expected a pretrained one")
    if "mlm" not in bundle.model.heads:
        heads = ", ".join(bundle.model.heads) or "none"
        raise InputError(f"{model}: scoring needs the head mlm; it has {heads}")
    bundle.check_reads_dna()
    return bundle


def example_length(bundle: Bundle, max_tokens: int | None) -> int:
    """Return the tokens of an example, and note it if training had none of that length.

    Args:
        max_tokens: What was asked for; None: the model's own.

    Raises:
        InputError: If the model cannot read so many.
    """
    encoder = bundle.config.encoder
    if max_tokens is None:
        return encoder.max_tokens
    if max_tokens > encoder.max_tokens and not encoder.reads_any_length:
        raise InputError(
            f"--max_tokens {max_tokens}: {bundle.folder} reads at most {encoder.max_tokens} tokens; its "
            "positions are a learned table. Lengthen it first: dna-bigbird convert --help"
        )
    for line in beyond_training(encoder, max_tokens - 2, f"--max_tokens {max_tokens}"):
        note(line)
    return max_tokens


def load_stores(
    train: Path, test: Path, tokenizer: DnaTokenizer, model: Path
) -> dict[str, TokenStore]:
    """Return both token stores, made with the model's tokenizer; both are verified."""
    stores = {"train": TokenStore(train), "test": TokenStore(test)}
    for store in stores.values():
        check_tokenizer(store, tokenizer, model)
    verify_stores(stores.values())
    return stores


def ways_to_divide(
    store: TokenStore, genome: Path | None, repeats: Path | None, pieces: bool
) -> dict[str, Strata]:
    """Return the ways to divide the scores, by the name of their table in metrics.json.

    Raises:
        InputError: If there are repeats without a genome, or the documents are from another genome.
    """
    strata: dict[str, Strata] = {"by_chromosome": ByChromosome(store.chromosomes)}
    if genome is None:
        if repeats is not None:
            raise InputError("--repeats needs the genome too: give --genome")
        return strata
    reference = Genome(genome)
    check_store_genome(store, reference)
    classes = repeat_classes(reference, repeats, pieces)
    return strata | {"by_repeat_class": ByRepeatClass(classes, store.chromosomes)}
