"""A label head on the encoder."""

# B batch, T tokens, P bins, L labels

import torch
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing
from dna_bigbird.models.bins import BinTokens, states_of_bins
from dna_bigbird.models.config import BIN, EncoderConfig, HeadConfig, check_head
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.etc_encoder import build_encoder
from dna_bigbird.models.heads import LabelHead
from dna_bigbird.models.kmer_config import CountedWords
from dna_bigbird.models.kmer_head import WordPart


class SequenceClassifier(nn.Module):
    """Tokens to one logit per label: promoters (one label), chromatin (many), classes of text.

    Args:
        seed: Of the weights. The encoder's depend on nothing else but `config`.
        words: Words whose counts add to the logits (`count_words`).

    Raises:
        ValueError: If there is no label, or the head reads global tokens and the encoder has none.
    """

    def __init__(
        self,
        config: EncoderConfig,
        num_labels: int,
        head: HeadConfig | None = None,
        seed: int = 0,
        words: CountedWords | None = None,
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
        self.bins = BinTokens(head.bin_bp, config.vocab_size) if head.pooling == BIN else None
        self.words: WordPart | None = None
        if words is not None:
            self.count_words(words)

    def count_words(self, words: CountedWords) -> WordPart:
        """Add the part that reads word counts, which gives 0 until it is fitted, and return it."""
        num_labels = self.label_layer.out_features
        self.words = WordPart(words, self.encoder.config.vocab_size, num_labels)
        return self.words

    @property
    def label_layer(self) -> nn.Linear:
        """The layer that gives the logits."""
        return self.head.dense

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None = None,
        packing: Packing | None = None,
        bins_P2: Tensor | None = None,
    ) -> Tensor:
        """Return logits (batch, labels); in evaluation the head does without autocast.

        In bfloat16 a logit of 6 has steps of 0.03, and many a variant moves it by less.

        Args:
            packing: See `Encoder.forward`.
            bins_P2: Bins of the windows (`states_of_bins`): logits are (bins, labels) then.

        Raises:
            ValueError: If bins are named and the head does not read them, or words are counted.
        """
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
        """Return the hidden states that the head pools, (batch, tokens, hidden).

        With pooling 'bin' it is one per window, or per bin of `bins_P2`: of the bin's global token.

        Args, Raises: As `forward`.
        """
        inputs = (token_ids_BT, is_padding_BT, segment_ids_BT)
        if bins_P2 is not None and (self.bins is None or self.words is not None):
            raise ValueError("bins are read by a head of pooling 'bin' without word counts")
        if self.bins is None:
            return self.encoder(*inputs, packing=packing)
        tokens, centres_B = self.bins(token_ids_BT, is_padding_BT)
        _, global_BGE = self.encoder.both(*inputs, packing=packing, global_tokens=tokens)
        return states_of_bins(global_BGE, tokens, centres_B, bins_P2)[:, None]
