"""A long model of text that starts from a short one: positions tiled, vocabulary mapped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.bundles.huggingface.short_encoders import ShortEncoder
from dna_bigbird.bundles.huggingface.tensor_names import with_global
from dna_bigbird.corpus.text_tokenizer import WORD_MARKS, TextTokenizer
from dna_bigbird.models.config import PATTERN, EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.summarizer import Summarizer

FRESH = -1


def same_pieces(target: TextTokenizer, source: TextTokenizer) -> tuple[np.ndarray, dict[str, int]]:
    """Return the id in `source` of every entry of `target`, or `FRESH`, (V,), and counts."""
    # '▁the' of SentencePiece, 'Ġthe' of byte-level BPE and 'the' of WordPiece are the same.
    # Punctuation, which WordPiece takes for words, is also matched by its spelling alone. Special
    # entries are matched by role; <s> and </s> of a target take [CLS] and [SEP] where the source
    # has none.
    ids = {key: i for i, key in _ordinary(source)}
    rows = np.full(target.vocab_size, FRESH, dtype=np.int64)
    for i, key in _ordinary(target):
        rows[i] = ids.get(key, FRESH)
        if rows[i] == FRESH and not any(map(str.isalnum, key[1])):
            rows[i] = ids.get((True, key[1]), FRESH)
    num_same = int((rows >= 0).sum())
    for role in target.names:
        rows[getattr(target, f"{role}_id")] = getattr(source, f"{role}_id")
    marks = (
        (target.bos_id, source.bos_id, source.cls_id),
        (target.eos_id, source.eos_id, source.sep_id),
    )
    for ours, theirs, instead in marks:
        if ours is not None:
            rows[ours] = instead if theirs is None else theirs
    return rows, {
        "pieces taken over": num_same,
        "special entries taken over": int((rows >= 0).sum()) - num_same,
        "entries drawn fresh": int((rows < 0).sum()),
    }


def _ordinary(vocabulary: TextTokenizer) -> list[tuple[int, tuple[bool, str]]]:
    """Return (id, (begins a word, letters)) of the entries that stand for text."""
    special = {getattr(vocabulary, f"{role}_id") for role in vocabulary.names}
    special |= {vocabulary.bos_id, vocabulary.eos_id}
    starts = vocabulary.is_word_start.tolist()
    return [
        (i, (starts[i], letters(piece, vocabulary.is_word_piece)))
        for i, piece in enumerate(vocabulary.pieces)
        if i >= vocabulary.first_piece_id and i not in special
    ]


def letters(piece: str, is_word_piece: bool) -> str:
    """Return a piece without its mark of a word.

    >>> letters("▁the", False), letters("##", False), letters("##ing", True)
    ('the', '##', 'ing')
    """
    if is_word_piece:
        return piece.removeprefix("##")
    return piece[1:] if piece.startswith(WORD_MARKS) else piece


# T positions of the short model, L of the long one, E hidden size, V vocabulary


@dataclass(frozen=True)
class WarmStart:
    """A model to pretrain further, and where the rows of its vocabulary come from."""

    model: PretrainingModel
    tokenizer: TextTokenizer
    counts: dict[str, int]


def warm_start(
    short: ShortEncoder,
    encoder: EncoderConfig,
    vocabulary: TextTokenizer | None = None,
    seed: int = 0,
) -> WarmStart:
    """Return a model with the weights of a short one."""
    # Positions repeat (Longformer's way; the BigBird paper does not say). A second segment, which
    # RoBERTa lacks, gets the row of the first: segments mean nothing until training separates them.
    # Fresh pieces have the mean of the known biases in the MLM head.
    old = short.model.encoder.config
    tokenizer = vocabulary or short.tokenizer
    size = old.vocab_size if vocabulary is None else vocabulary.vocab_size
    new = replace(_longer(old, encoder), vocab_size=size, num_segments=max(2, old.num_segments))
    state = _moved(short.model.state_dict(), new)
    segments = state["encoder.segment.weight"]
    missing = new.num_segments - len(segments)
    state["encoder.segment.weight"] = torch.cat([segments, segments[:1].repeat(missing, 1)])
    if vocabulary is None:
        counts = {"pieces taken over": size, "entries drawn fresh": 0}
    else:
        rows, counts = same_pieces(vocabulary, short.tokenizer)
        rows_V = torch.from_numpy(rows)
        generator = torch.Generator().manual_seed(seed)
        fresh_VE = torch.empty(size, old.hidden_size)
        std = old.init_std
        nn.init.trunc_normal_(fresh_VE, std=std, a=-2 * std, b=2 * std, generator=generator)
        words, bias = "encoder.word.weight", "mlm.bias"
        state[words] = _take(state[words], rows_V, fresh_VE)
        mean_V = state[bias][rows_V[rows_V != FRESH]].mean().expand(size)
        state[bias] = _take(state[bias], rows_V, mean_V)
    model = PretrainingModel(new, heads=("mlm",))
    model.load_state_dict(state)
    return WarmStart(model.eval(), tokenizer, counts)


def warm_summarizer(short: Summarizer, encoder: EncoderConfig) -> Summarizer:
    """Return a summarizer that reads longer documents, with the weights of a short one."""
    # As LED starts from BART: encoder positions are repeated, global projections of Longformer are
    # copies of the ordinary ones, the decoder keeps its positions.
    old = short.encoder.config
    own_positions = short.head.decoder_positions or old.max_tokens
    head = replace(
        short.head,
        share_positions=False,
        decoder_positions=own_positions,
        attention_dropout=short.decoder.config.attention_dropout,
    )
    new = _longer(old, encoder)
    state = _moved(short.state_dict(), new)
    state.setdefault("decoder.position.weight", short.encoder.position.weight)
    model = Summarizer(new, head)
    model.load_state_dict(state)
    return model.eval()


def _longer(old: EncoderConfig, encoder: EncoderConfig) -> EncoderConfig:
    names = ("max_tokens", *PATTERN, "longformer")
    # The paper's code leaves block-sparse attention weights whole.
    dropout = 0.0 if encoder.attention == "bigbird" else old.attention_dropout
    kept = {name: getattr(encoder, name) for name in names}
    return replace(old, **kept, attention_dropout=dropout)


def _moved(state: Mapping[str, Tensor], new: EncoderConfig) -> dict[str, Tensor]:
    """Return the weights for the new encoder: positions repeated, projections of global tokens."""
    needs_global = new.attention == "longformer" and new.longformer.separate_global
    moved = with_global(state) if needs_global else dict(state)
    positions_TE = moved["encoder.position.weight"]
    rows_L = torch.arange(new.max_tokens) % len(positions_TE)
    moved["encoder.position.weight"] = positions_TE[rows_L]
    return moved


def _take(old: Tensor, rows_V: Tensor, fresh: Tensor) -> Tensor:
    known_V = (rows_V != FRESH).reshape(-1, *[1] * (old.dim() - 1))
    return torch.where(known_V, old[rows_V.clamp(min=0)], fresh)
