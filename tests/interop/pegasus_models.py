"""Small random BigBird-Pegasus models of the library, and the same ones as ours."""

import torch

from dna_bigbird.bundles.huggingface import read_huggingface
from tests.text_vocabulary import tiny_text_tokenizer

VOCABULARY = 400


def library_pegasus(seed=0, std=0.25, **settings):
    """Weights spread out, so that attention is not uniform."""
    import transformers

    transformers.logging.set_verbosity_error()
    small = {
        "vocab_size": VOCABULARY,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 2048,
        "dropout": 0.0,
        "num_beams": 1,
    }
    config = transformers.BigBirdPegasusConfig(**(small | settings))
    model = transformers.BigBirdPegasusForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator) * std
        parameter.data = noise + float("norm" in name and name.endswith("weight"))
    model.tie_weights()
    return model.eval()


def save(model, folder):
    """Save a model of the library with a vocabulary of text; return the folder."""
    model.save_pretrained(folder)
    (folder / "spiece.model").write_bytes(tiny_text_tokenizer().model_bytes)
    return folder


def pegasus_pair(folder, **settings):
    """Return a model of the library and the same one of ours."""
    theirs = library_pegasus(**settings)
    return theirs, read_huggingface(save(theirs, folder)).model


def sources(lengths, seed=0):
    """Random documents, padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    ids_BT = torch.randint(7, VOCABULARY, (len(lengths), width), generator=generator)
    is_padding_BT = torch.arange(width) >= torch.tensor(lengths)[:, None]
    return ids_BT.masked_fill(is_padding_BT, 0), is_padding_BT
