"""Small random models of the library, with weights spread out so that attention is not uniform."""

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
"""In the order of GENA-LM's vocabularies."""
VOCABULARY = 120


def draw_dna(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def dna_json(gap: str | None = None) -> tokenizers.Tokenizer:
    """A vocabulary in GENA-LM's form; `gap` replaces runs of 10 or more N, as its T2T one does."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    special = [*SPECIAL, gap] if gap else SPECIAL
    trainer = trainers.BpeTrainer(
        vocab_size=100,
        special_tokens=special,
        show_progress=False,
        initial_alphabet=list("ACGTNRY") if gap else ["\n"],
    )
    made.train_from_iterator([draw_dna(300, seed) for seed in range(20)], trainer)
    if gap:
        made.normalizer = normalizers.Sequence(
            [normalizers.Strip(), normalizers.Replace(tokenizers.Regex("N{10,}"), gap)]
        )
        made.pre_tokenizer = pre_tokenizers.Split(gap, "isolated")
    made.decoder = decoders.BPEDecoder(suffix=" ")
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    return made


@pytest.fixture(scope="session")
def dna():
    """Function (length, seed) -> random DNA."""
    return draw_dna


@pytest.fixture(scope="session")
def gena_json():
    """Function (gap) -> `tokenizers.Tokenizer` in GENA-LM's form."""
    return dna_json


@pytest.fixture(scope="session")
def library_model():
    """Function (class name, settings) -> a model of the library, in evaluation mode."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    transformers.logging.set_verbosity_error()

    def build(name="BigBirdForPreTraining", seed=0, std=0.25, **settings):
        small = {
            "vocab_size": VOCABULARY,
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 96,
            "max_position_embeddings": 4096,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "pad_token_id": 3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "sep_token_id": 2,
        }
        model = getattr(transformers, name)(transformers.BigBirdConfig(**(small | settings)))
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * std
            parameter.data = noise + float(name.endswith("LayerNorm.weight"))
        model.tie_weights()
        return model.eval()

    return build


@pytest.fixture(scope="session")
def save_library_model(gena_json):
    """Function (model, folder) -> the folder, with a DNA vocabulary in it."""

    def save(model, folder):
        model.save_pretrained(folder)
        gena_json().save(str(folder / "tokenizer.json"))
        return folder

    return save
