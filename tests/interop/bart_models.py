"""Small random BART and LED models of the library, and the same ones as ours."""

import torch

from dna_bigbird.bundles.huggingface import read_huggingface
from tests.interop.pegasus_models import save

SMALL = {
    "vocab_size": 400, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 2,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 40, "dropout": 0.0,
    "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 1, "forced_eos_token_id": None,
}  # fmt: skip
OF_CLASS = {
    "Bart": {"max_position_embeddings": 128},
    "LED": {
        "max_encoder_position_embeddings": 256, "max_decoder_position_embeddings": 64,
        "attention_window": [8, 16],
    },
}  # fmt: skip


def library_summarizer(name, seed=0, std=0.25, **settings):
    """A model of `Bart` or `LED` with weights spread out, so that attention is not uniform."""
    import transformers

    transformers.logging.set_verbosity_error()
    config = getattr(transformers, f"{name}Config")(**(SMALL | OF_CLASS[name] | settings))
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config)
    generator = torch.Generator().manual_seed(seed)
    for key, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator) * std
        parameter.data = noise + float("norm" in key and key.endswith("weight"))
    model.tie_weights()
    return model.eval()


def summarizer_pair(folder, name, **settings):
    """Return a model of the library and the same one of ours."""
    theirs = library_summarizer(name, **settings)
    return theirs, read_huggingface(save(theirs, folder)).model


def mask_of(is_padding_BT, name):
    """Masks for the library: LED is told that the first token is global."""
    masks = {"attention_mask": (~is_padding_BT).long()}
    if name == "LED":
        masks["global_attention_mask"] = torch.zeros_like(masks["attention_mask"])
        masks["global_attention_mask"][:, 0] = 1
    return masks


def their_logits(theirs, name, ids_BT, is_padding_BT, target_ids_BU, **masks):
    """Logits of targets shifted right behind the start id 2."""
    first = torch.full_like(target_ids_BU[:, :1], 2)
    shifted = torch.cat([first, target_ids_BU[:, :-1]], dim=1)
    with torch.no_grad():
        return theirs(
            ids_BT, decoder_input_ids=shifted, **(masks or mask_of(is_padding_BT, name))
        ).logits
