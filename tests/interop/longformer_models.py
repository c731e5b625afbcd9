"""Small random Longformer models of the library, and batches for them."""

import torch

from tests.interop.pegasus_models import save
from tests.text_vocabulary import tiny_text_tokenizer

LABELS = {0: "sport", 1: "law", 2: "other"}
SEP = 4
MLM, BARE = "LongformerForMaskedLM", "LongformerModel"
CLASSIFIER, QUESTIONS = "LongformerForSequenceClassification", "LongformerForQuestionAnswering"


def library_longformer(name=MLM, seed=0, std=0.25, **settings):
    """Weights spread out, so that attention is not uniform; padding is 0, as in the small vocabulary."""
    import transformers

    transformers.logging.set_verbosity_error()
    small = {
        "vocab_size": tiny_text_tokenizer().vocab_size, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "intermediate_size": 48, "max_position_embeddings": 129,
        "type_vocab_size": 1, "attention_window": [8, 16], "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "pad_token_id": 0, "bos_token_id": 3, "eos_token_id": 4,
        "sep_token_id": SEP,
    }  # fmt: skip
    if name == CLASSIFIER:
        small |= {"id2label": LABELS, "label2id": {v: k for k, v in LABELS.items()}}
    config = transformers.LongformerConfig(**(small | settings))
    model = getattr(transformers, name)(config)
    generator = torch.Generator().manual_seed(seed)
    for key, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator) * std
        is_gain = key.endswith("weight") and ("LayerNorm" in key or "layer_norm" in key)
        parameter.data = noise + float(is_gain)
    model.tie_weights()
    return model.eval()


def saved_longformer(folder, name=MLM, **settings):
    """Return a model of the library and its folder."""
    folder.mkdir(exist_ok=True)
    theirs = library_longformer(name, **settings)
    return theirs, save(theirs, folder)


def questions(lengths, question=9, most=400):
    """[CLS] question [SEP] [SEP] document [SEP] in the library's form, padded on the right.

    Returns ids, padding, segments (1 for the document) and the global tokens: all before the first [SEP].
    """
    generator = torch.Generator().manual_seed(sum(lengths))
    width = max(lengths)
    ids_BT = torch.randint(7, most, (len(lengths), width), generator=generator)
    ids_BT[:, 0] = 3
    for row, length in enumerate(lengths):
        ids_BT[row, question + row : question + row + 2] = ids_BT[row, length - 1] = SEP
        ids_BT[row, length:] = 0
    after_B1 = torch.arange(len(lengths))[:, None] + question
    places_T = torch.arange(width)
    is_padding_BT = places_T >= torch.tensor(lengths)[:, None]
    return ids_BT, is_padding_BT, (places_T > after_B1 + 1).long(), places_T < after_B1
