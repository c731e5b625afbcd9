"""A label head on the encoder."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from dna_bigbird.attention.packing import Packing
from dna_bigbird.models.config import BIN, EVERY_BIN, EncoderConfig, HeadConfig, check_head
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.etc_encoder import NO_SENTENCE, GlobalTokens, build_encoder
from dna_bigbird.models.heads import LabelHead
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import BinKmerHead, KmerHead
from dna_bigbird.models.label_types import MULTI_CLASS, MULTI_LABEL, REGRESSION, TRACKS

# M members, B batch, T tokens, L labels


class EnsembleClassifier(nn.Module):
    """The mean of the predictions of two or more classifiers with the same labels and tokens."""

    def __init__(self, members: Sequence[nn.Module], label_type: str = MULTI_LABEL) -> None:
        super().__init__()
        if len(members) < 2:
            raise ValueError(f"an ensemble needs at least two members, got {len(members)}")
        self.members = nn.ModuleList(members)
        self.label_type = label_type

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the logits of the mean probabilities, or mean targets, (B, L) in float32."""
        logits_MBL = torch.stack([m(token_ids_BT, is_padding_BT).float() for m in self.members])
        if self.label_type == REGRESSION:
            return logits_MBL.mean(dim=0)
        if self.label_type == TRACKS:  # the softplus of these is the mean
            means_BPL = nn.functional.softplus(logits_MBL).mean(dim=0)
            return means_BPL + (-torch.expm1(-means_BPL)).log()
        if self.label_type == MULTI_CLASS:  # the softmax of these logarithms is the mean
            return logits_MBL.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(logits_MBL))
        return logit_of_mean(logits_MBL)


def counting_part(model: nn.Module) -> nn.Module | None:
    """Return the logits that k-mer counts add to a classifier, or to those of an ensemble; None: none."""
    if isinstance(model, EnsembleClassifier):
        parts = [counting_part(member) for member in model.members]
        return None if None in parts else EnsembleClassifier(parts, model.label_type)
    return getattr(model, "words", None)


def one_against_rest(logits_BK: Tensor) -> Tensor:
    """Return the log-odds of each class against all others, (B, K), from logits of a softmax.

    The sigmoid of the result is the softmax, so what reads independent labels reads classes too.

    Example:
        >>> one_against_rest(torch.log(torch.tensor([[0.2, 0.3, 0.5]]))).sigmoid()
        tensor([[0.2000, 0.3000, 0.5000]])
    """
    classes = logits_BK.shape[-1]
    itself = torch.eye(classes, dtype=torch.bool, device=logits_BK.device)
    others_BKK = logits_BK[..., None, :].expand(*logits_BK.shape, classes)
    return logits_BK - others_BKK.masked_fill(itself, -math.inf).logsumexp(dim=-1)


def logit_of_mean(logits_MBL: Tensor) -> Tensor:
    """Return the logit of the mean of probabilities that are given as logits, (B, L).

    Computed with logarithms, so that probabilities next to 0 or 1 keep their size.

    Example:
        >>> logit_of_mean(torch.tensor([[[0.0]], [[-200.0]]])).sigmoid()
        tensor([[0.2500]])
    """
    many = math.log(len(logits_MBL))
    log_yes = logsigmoid(logits_MBL).logsumexp(dim=0) - many
    log_no = logsigmoid(-logits_MBL).logsumexp(dim=0) - many
    return log_yes - log_no


# --- Global tokens for the bins of a DNA window: what pooling 'bin' reads (ETC, paper §E.2) ---

# B batch, T tokens, V vocabulary, P bins that are read, E hidden size


class BinTokens(nn.Module):
    """One global token for each bin of a window: the tokens of a bin belong to its global token.

    Bins are counted from the centre outwards. In a window of W bases the centre bin begins at base
    (W - bin_bp) // 2, where the labelled bin of a chromatin set is; the bins next to it follow
    without a gap, and the first and the last one may be shorter. A token belongs to the bin of its
    middle base (of two, the right one); a token without bases, as [CLS], belongs to none. A window
    shorter than a bin is one bin. The bases of the vocabulary are unknown until `know_pieces`.
    """

    def __init__(self, bin_bp: int, vocab_size: int) -> None:
        super().__init__()
        self.bin_bp = bin_bp
        # As a file of weights has them: floating point.
        self.register_buffer("piece_bp_V", torch.zeros(vocab_size))

    def know_pieces(self, piece_bp_V: Tensor) -> None:
        """Keep how many bases each token of the vocabulary has, 0 to those of a bin."""
        if (longest := int(piece_bp_V.max())) > self.bin_bp:
            raise ValueError(
                f"--head.bin_bp {self.bin_bp} must be at least {longest}, the bases of the longest token"
            )
        with torch.no_grad():
            self.piece_bp_V[: len(piece_bp_V)] = piece_bp_V.to(self.piece_bp_V)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> tuple[GlobalTokens, Tensor]:
        """Return the global tokens of windows, and which of them is of the centre bin, (B,) int64."""
        bp_BT = self.piece_bp_V[token_ids_BT].long().masked_fill(is_padding_BT, 0)
        ends_BT = bp_BT.cumsum(1)
        middles_BT = ends_BT - bp_BT + bp_BT // 2
        centre_starts_B = (ends_BT[:, -1] - self.bin_bp).div(2, rounding_mode="floor")
        centres_B = -(-centre_starts_B).div(self.bin_bp, rounding_mode="floor")
        offsets_BT = middles_BT - centre_starts_B[:, None]
        numbers_BT = centres_B[:, None] + offsets_BT.div(self.bin_bp, rounding_mode="floor")
        numbers_BT = numbers_BT.masked_fill(bp_BT == 0, NO_SENTENCE)
        return GlobalTokens.of_sentences(numbers_BT, is_padding_BT), centres_B


class BinStates(nn.Module):
    """The mean state over the bases of each bin of a window; a base has the state of its token.

    Bins follow each other without a gap from base `crop_bp` on, as many as end `crop_bp` bases before the window
    does. A bin may be shorter than a token, whose state its bins then share.
    """

    def __init__(self, bin_bp: int, crop_bp: int, vocab_size: int) -> None:
        super().__init__()
        self.bin_bp, self.crop_bp = bin_bp, crop_bp
        # As a file of weights has them: floating point.
        self.register_buffer("piece_bp_V", torch.zeros(vocab_size))

    @torch.no_grad()
    def know_pieces(self, piece_bp_V: Tensor) -> None:
        """Keep how many bases each token of the vocabulary has."""
        self.piece_bp_V[: len(piece_bp_V)] = piece_bp_V.to(self.piece_bp_V)

    def forward(self, hidden_BTE: Tensor, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the states of the bins, (B, P, E), of the longest window."""
        bp_BT = self.piece_bp_V[token_ids_BT].masked_fill(is_padding_BT, 0)
        ends_BT = bp_BT.cumsum(1)
        count = (int(ends_BT[:, -1].max()) - 2 * self.crop_bp) // self.bin_bp
        starts_P = self.crop_bp + self.bin_bp * torch.arange(count, device=bp_BT.device)
        first_BPT = torch.maximum((ends_BT - bp_BT)[:, None], starts_P[:, None])
        last_BPT = torch.minimum(ends_BT[:, None], starts_P[:, None] + self.bin_bp)
        shares_BPT = (last_BPT - first_BPT).clamp(min=0) / self.bin_bp
        return shares_BPT.to(hidden_BTE.dtype) @ hidden_BTE


def states_of_bins(
    global_BGE: Tensor, tokens: GlobalTokens, centres_B: Tensor, bins_P2: Tensor | None
) -> Tensor:
    """Return the state of the global token of each bin that is read, (P, E), or a ValueError."""
    # `bins_P2` is the window in the batch and the number of the bin, counted from the centre bin
    # (negative before it); None: the centre bin of each window.
    if bins_P2 is None:
        return global_BGE[torch.arange(len(centres_B), device=centres_B.device), centres_B]
    windows_P, offsets_P = bins_P2.unbind(1)
    at_P = centres_B[windows_P] + offsets_P
    is_outside_P = (at_P < 0) | (at_P >= (~tokens.layout.global_padding).sum(1)[windows_P])
    if is_outside_P.any():
        raise ValueError(f"a window has no bin {int(offsets_P[is_outside_P][0])} from its centre")
    return global_BGE[windows_P, at_P]


# B batch, T tokens, P bins, L labels


class SequenceClassifier(nn.Module):
    """Tokens to one logit per label: promoters (one label), chromatin (many), classes of text."""

    def __init__(
        self,
        config: EncoderConfig,
        num_labels: int,
        head: HeadConfig | None = None,
        seed: int = 0,
        words: KmerHeadConfig | None = None,
    ) -> None:
        super().__init__()
        if num_labels < 1:
            raise ValueError(f"a classifier needs at least one label, got {num_labels}")
        head = head or HeadConfig()
        check_head(head, config)
        generator = torch.Generator().manual_seed(seed)
        self.encoder = build_encoder(config, generator)
        self.head = LabelHead(config.hidden_size, num_labels, head)
        initialise(self.head, config.init_std, generator)
        self.bins: BinTokens | BinStates | None = None
        if head.pooling == BIN:
            self.bins = BinTokens(head.bin_bp, config.vocab_size)
        if head.pooling == EVERY_BIN:
            self.bins = BinStates(head.bin_bp, head.crop_bp, config.vocab_size)
        self.words: KmerHead | BinKmerHead | None = None
        if words is not None:
            self.add_kmer_head(words)

    def add_kmer_head(self, words: KmerHeadConfig) -> KmerHead | BinKmerHead:
        """Add the part that reads k-mer counts, which gives 0 until it is fitted, and return it."""
        num_labels = self.label_layer.out_features
        part = BinKmerHead if words.around_bp else KmerHead
        self.words = part(words, self.encoder.config.vocab_size, num_labels)
        return self.words

    @property
    def label_layer(self) -> nn.Linear:
        """The layer that gives the logits."""
        return self.head.dense

    @torch.no_grad()
    def scale_outputs(self, slopes_L: Tensor, shifts_L: Tensor) -> None:
        """Multiply the outputs by slopes and add shifts, in the weights of the last layers."""
        layers = [self.label_layer] + ([] if self.words is None else [self.words.linear])
        for layer in layers:
            layer.weight.mul_(slopes_L[..., None])
            layer.bias.mul_(slopes_L)
        self.label_layer.bias.add_(shifts_L)

    @torch.no_grad()
    def mix_outputs(self, own: float, common: float, shift: float) -> None:
        """Let the network give a sum of its outputs, their mean over labels and a constant, in its last layer."""
        for weight in (self.label_layer.weight, self.label_layer.bias):
            weight.copy_(own * weight + common * weight.mean(0))
        self.label_layer.bias.add_(shift)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None = None,
        packing: Packing | None = None,
        bins_P2: Tensor | None = None,
    ) -> Tensor:
        """Return logits (batch, labels); (bins, labels) with `bins_P2`, see `states_of_bins`.

        With pooling 'bins' they are of every bin of every window, (batch, bins, labels).
        """
        # The head does without autocast in evaluation: in bfloat16 a logit of 6 has steps of 0.03, and many
        # a variant moves it by less.
        hidden_BTE = self.states(token_ids_BT, is_padding_BT, segment_ids_BT, packing, bins_P2)
        if self.training:
            logits_BL = self.head(hidden_BTE, is_padding_BT)
        else:
            with torch.autocast(hidden_BTE.device.type, enabled=False):
                logits_BL = self.head(hidden_BTE.to(self.label_layer.weight.dtype), is_padding_BT)
        return (
            logits_BL if self.words is None else logits_BL + self.words(token_ids_BT, is_padding_BT)
        )

    def states(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None = None,
        packing: Packing | None = None,
        bins_P2: Tensor | None = None,
    ) -> Tensor:
        """Return the hidden states that the head pools, (batch, tokens, hidden)."""
        # With pooling 'bin' it is one per window, or per bin of `bins_P2`: of the bin's global token. With pooling
        # 'bins' it is one per bin.
        inputs = (token_ids_BT, is_padding_BT, segment_ids_BT)
        if not isinstance(self.bins, BinTokens):
            if bins_P2 is not None:
                raise ValueError("bins are read by a head of pooling 'bin'")
            hidden_BTE = self.encoder(*inputs, packing=packing)
            return hidden_BTE if self.bins is None else self.bins(hidden_BTE, *inputs[:2])
        if bins_P2 is not None and self.words is not None:
            raise ValueError("bins are read by a head of pooling 'bin' without k-mer counts")
        tokens, centres_B = self.bins(token_ids_BT, is_padding_BT)
        _, global_BGE = self.encoder.both(*inputs, packing=packing, global_tokens=tokens)
        return states_of_bins(global_BGE, tokens, centres_B, bins_P2)[:, None]
