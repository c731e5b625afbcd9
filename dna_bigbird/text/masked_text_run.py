"""Steps of `text pretrain`: tokens of the corpora, examples with masked words, the bundle."""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.core.errors import checked_settings
from dna_bigbird.core.unpacking import unpacked_limit
from dna_bigbird.corpus.hidden_sentences import ends_of_sentences
from dna_bigbird.corpus.masked_batches import collate_masked
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.hidden_sentences import HiddenTextExamples, collate_hidden_text
from dna_bigbird.text.data.masked import MaskedTextExamples
from dna_bigbird.text.data.store import TextStore, text_store
from dna_bigbird.text.piece_characters import characters_of
from dna_bigbird.text.pretraining_start import PretrainingStart
from dna_bigbird.text.tasks.hidden_sentences import HiddenTextTask
from dna_bigbird.text.tasks.mlm import MaskedTextTask, evaluate_masked
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.fit import training_device
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.training_checks import module_sha256


@dataclass(frozen=True)
class TextCorpus:
    """Token stores for training and validation."""

    train: TextStore
    validation: TextStore

    @property
    def stores(self) -> dict[str, TextStore]:
        """Both stores, by the name of their split."""
        return {"train": self.train, "validation": self.validation}


def tokenize_corpora(
    paths: dict[str, Path], vocabulary: TextTokenizer, folder: Path, max_unpacked_gib: float
) -> TextCorpus:
    """Return the tokens of both corpora, and report their size on standard error.

    Args:
        paths: Corpus of 'train' and of 'validation'.
        folder: Folder of the run, in which the tokens are kept.
        max_unpacked_gib: See unpacking.
    """
    first = is_first_on_node()
    with unpacked_limit(max_unpacked_gib):
        corpus = TextCorpus(
            **{
                name: text_store(path, vocabulary, folder / f"tokens-{name}.h5", verify=first)
                for name, path in paths.items()
            }
        )
    for name, store in corpus.stores.items():
        print(
            f"{name}: {store.num_documents} documents, {store.num_tokens} tokens, "
            f"{store.num_empty_documents} without text left out, "
            f"{store.counts[vocabulary.unk_id]} unknown",
            file=sys.stderr,
        )
    return corpus


def masked_examples(
    corpus: TextCorpus,
    vocabulary: TextTokenizer,
    max_tokens: int,
    masking: TextMaskingConfig,
    seed: int,
) -> dict[str, MaskedTextExamples]:
    """Return the examples of both splits; those of validation are in the order of the corpus.

    Raises:
        InputError: If the settings of masking contradict each other or the vocabulary.
    """
    with checked_settings():
        return {
            name: MaskedTextExamples(
                store, vocabulary, max_tokens, masking, seed=2 * seed + i, in_order=bool(i)
            )
            for i, (name, store) in enumerate(corpus.stores.items())
        }


def with_hidden_sentences(
    examples: dict[str, MaskedTextExamples], start: PretrainingStart, cpc: CpcConfig
) -> dict[str, MaskedTextExamples | HiddenTextExamples]:
    """Return examples with hidden sentences if the model has a head for them; validation keeps its masks."""
    if start.model.cpc is None:
        return dict(examples)
    ends = ends_of_sentences(start.vocabulary.pieces)
    return {
        name: HiddenTextExamples(each, ends, cpc, keeps_masks=name == "validation")
        for name, each in examples.items()
    }


def task_of(
    start: PretrainingStart, training: TrainConfig, cpc: CpcConfig
) -> tuple[MaskedTextTask, Callable]:
    """Return the task of a model, and how its examples are joined into a batch."""
    characters = characters_of(start.vocabulary)
    if start.model.cpc is None:
        return MaskedTextTask(start.model, training, characters), collate_masked
    return HiddenTextTask(start.model, training, characters, cpc.weight), collate_hidden_text


def objective_of(start: PretrainingStart, cpc: CpcConfig) -> dict:
    """Return what settings say of hidden sentences: nothing without them."""
    return {} if start.model.cpc is None else {"objective": {"cpc": asdict(cpc)}}


def run_settings(
    corpus: TextCorpus,
    start: PretrainingStart,
    encoder: EncoderConfig,
    masking: TextMaskingConfig,
    cpc: CpcConfig,
) -> dict:
    """Return what decides the result apart from the training settings and the seed."""
    return {
        **objective_of(start, cpc),
        "command": "text pretrain",
        "model": stored_encoder(encoder),
        "masking": asdict(masking),
        "inputs": {
            **{name: store.checksum for name, store in corpus.stores.items()},
            "tokenizer": corpus.train.tokenizer_sha256,
            "weights": module_sha256(start.model),
        },
    }


def score_validation(
    task: MaskedTextTask,
    examples: MaskedTextExamples,
    count: int,
    corpus: TextCorpus,
    training: TrainConfig,
    seed: int,
) -> dict:
    """Return the scores of the chosen weights on `count` validation examples."""
    task.to(training_device())  # `fit` leaves it on the CPU
    return evaluate_masked(
        task,
        examples,
        count,
        counts=corpus.train.counts,
        batch_size=training.batch_size,
        seed=seed,
    )


def bundle_config(
    start: PretrainingStart,
    corpus: TextCorpus,
    masking: TextMaskingConfig,
    seed: int,
    cpc: CpcConfig,
) -> dict:
    """Return what the bundle's config says of model and data."""
    return {
        **text_encoder_config(start.model.encoder.config),
        "heads": list(start.model.heads),
        **objective_of(start, cpc),
        "training_tokens": corpus.train.num_tokens,
        "training_documents": corpus.train.num_documents,
        "masking": asdict(masking),
        "seed": seed,
        "initial_weights": start.initial_weights,
    }


def text_encoder_config(encoder: EncoderConfig) -> dict:
    """Return the config of a text encoder with a head for masked tokens."""
    return {
        "task": PRETRAINING,
        "heads": ["mlm"],
        "reads": "text",
        "label_names": [],
        "label_groups": [],
        "semi_synthetic": False,
        "encoder": stored_encoder(encoder),
    }
