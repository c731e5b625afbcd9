"""Settings of the models; read without torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import AboveZero, Count, NotNegative, Positive, Range, ShareBelowOne
from dna_bigbird.models.attention_config import (
    PAPER_ETC,
    PAPER_LONGFORMER,
    PAPER_PERFORMER,
    EtcConfig,
    LongformerConfig,
    PerformerConfig,
)
from dna_bigbird.models.stored_settings import settings_from

LARGEST_SIZE = 2**31 - 1
Size = Annotated[int, Range(1, most=LARGEST_SIZE)]
SizeOrNone = Annotated[int, Range(0, most=LARGEST_SIZE)]
PATTERN = (
    "block_size",
    "attention",
    "window_blocks",
    "global_blocks",
    "num_random",
    "random_plan",
    "pattern_seed",
)
"""Settings of the attention pattern; no weight depends on them."""
LARGEST_BLOCK = 1024
"""Tokens in one block of a model that reads fewer tokens than that."""
OWN_SETTINGS = {"etc": PAPER_ETC, "longformer": PAPER_LONGFORMER, "performer": PAPER_PERFORMER}
"""Settings that one attention reads, by its name, at their defaults; they are stored only with it."""
PAIRS, STREAMS = (
    "it reads labels of pairs of tokens",
    "its two streams have projections of their own",
)
NOT_IN_ETC = (
    ("positions", "learned", PAIRS),
    ("qk_norm", False, PAIRS),
    ("patch_tokens", 1, PAIRS),
    ("value_embeddings", False, STREAMS),
    ("head_gates", False, STREAMS),
)
"""Settings without effect with attention etc, their only value, and why."""
LATER_SETTINGS = (
    "word_memory",
    "layer_skips",
    "value_embeddings",
    "head_gates",
    "untied_head",
    "logit_cap",
)
"""Settings that files of earlier versions do not have; they are stored only if they are on."""
OTHER_BLOCKS = {
    "full": "full attention",
    "etc": "band + global tokens",
    "longformer": "window + global tokens",
    "performer": "random features",
}
"""What attention without the block pattern consists of."""
PRETRAINING_HEADS = ("mlm", "pooler", "nsp")
CPC = "cpc"
"""The head of BigBird-ETC that tells hidden sentences from others."""
BIN = "bin"
"""The pooling that reads global tokens of BigBird-ETC."""
EVERY_BIN = "bins"
"""The pooling that reads every bin of a window, for tracks."""
POOLING_SETTINGS = {
    "parts": ("parts", "part_value"),
    "attention": ("queries", "reach_tokens"),
    BIN: ("bin_bp", "bins_at_once"),
    EVERY_BIN: ("bin_bp", "crop_bp", "loss"),
}
"""Settings of a head that only some poolings read, and that are stored only with them."""


@dataclass(frozen=True)
class EncoderConfig:
    """Size and attention pattern of the encoder; the defaults are the paper's base model."""

    vocab_size: Size = 32000
    """Entries of the vocabulary: special ones included."""
    hidden_size: Size = 768
    """Width of the hidden states."""
    num_layers: SizeOrNone = 12
    """Transformer layers; 0: embeddings (and stem) alone, for comparisons."""
    num_heads: Size = 12
    """Attention heads; divides `hidden_size`."""
    ffn_size: Size = 3072
    """Width of the feed-forward layer."""
    max_tokens: Size = 4096
    """Longest sequence in tokens: special ones included; with rotary positions the longest in training."""
    block_size: Size = 64
    """Tokens in one attention block; the last one of a sequence may be ragged. At most `max_tokens`, or
    1024 if that is more."""
    num_segments: SizeOrNone = 2
    """Rows of the segment table: sentences that can be distinguished. 0: no table."""
    attention: Literal["bigbird", "full", "etc", "longformer", "performer"] = "bigbird"
    """Block-sparse attention, or full: the latter is for comparisons; its time grows with the square. etc: a
    band and a second stream of global tokens (BigBird-ETC), without blocks and without positions. longformer: a
    window and global tokens. performer: random features that approximate full attention."""
    window_blocks: SizeOrNone = 3
    """Neighbouring blocks that a block reads, itself included: odd, or 0 for none."""
    global_blocks: Literal["first_last", "first_two", "none"] = "first_last"
    """Blocks that read every block and are read by every block; 'none' needs the uniform plan."""
    num_random: SizeOrNone = 3
    """Random key blocks of an ordinary query block."""
    random_plan: Literal["uniform", "original", "huggingface"] = "uniform"
    """Where random blocks come from: the whole sequence, or as the published code draws them, or as
    the Hugging Face library does (in evaluation it reads the first block instead)."""
    pattern_seed: SizeOrNone = 0
    """Seed of the uniform plan; the other ones depend on the layer alone."""
    activation: Literal["gelu_tanh", "gelu", "relu"] = "gelu_tanh"
    """Activation: of the feed-forward layers and of the head for masked tokens."""
    norm_eps: AboveZero = 1e-12
    """Added to the variance in every layer norm."""
    qkv_bias: bool = True
    """Queries, keys and values have a bias."""
    output_bias: bool = True
    """The output projection of the attention has a bias."""
    norm_first: bool = False
    """LayerNorm before attention and feed-forward layer, and once after the last layer (Pegasus),
    instead of after each sum and after the embeddings (BERT)."""
    positions: Literal["learned", "rotary"] = "learned"
    """Positions of tokens: a learned table that is added to the embeddings (the paper), or
    rotary ones, which turn queries and keys in every layer and have no longest sequence."""
    rotary_base: AboveZero = 10000.0
    """Base of the frequencies of rotary positions."""
    qk_norm: bool = False
    """Scale each query and key to root mean square 1, times a learned gain, in every head."""
    stem_width: SizeOrNone = 0
    """Tokens that a convolution over the embeddings reads, added to them before the first layer: odd, or
    0 for none."""
    patch_tokens: Positive = 1
    """Neighbouring tokens that the layers read as one, 1 for none: they see the maximum of each number, and every
    token keeps a state of its own; needs `norm_first` and rotary positions."""
    word_memory: SizeOrNone = 0
    """Rows of a hashed memory: for the words of 2, 3 and so on up to `word_tokens` tokens that end and begin at a
    token, a learned vector each is added to its embedding, times a gate. 0: none."""
    word_tokens: Annotated[int, Range(2, most=32)] = 3
    """Tokens of the longest word of `word_memory`."""
    layer_skips: bool = False
    """Skips between layers, as in a U-Net: what the first half of the layers reads is added to what the second
    half reads, first to last, each times a learned number that begins at 1."""
    value_embeddings: bool = False
    """Add a linear map of the input of the first layer, normed, to the values of every layer, times a learned number
    that begins at 0.5."""
    head_gates: bool = False
    """Multiply the output of every attention head by a number from 0 to 1: a sigmoid of a linear map of the token."""
    untied_head: bool = False
    """The head for masked tokens has a table of its own in place of the word embeddings."""
    logit_cap: NotNegative = 0.0
    """Largest logit of a masked token: x becomes cap * tanh(x / cap). 0: no cap."""
    scale_residual: bool = False
    """Draw the last matrices of attention and feed-forward layer with `init_std` / sqrt(2 *
    `num_layers`): the sum of all layers' outputs begins as small as that of one."""
    train_positions: bool = True
    """Train the position table; Pegasus keeps its sines."""
    scale_embeddings: bool = False
    """Multiply word embeddings by sqrt(hidden_size) before positions and segments are added."""
    dropout: ShareBelowOne = 0.1
    """Dropout: after the embeddings, the attention projection and the feed-forward layer."""
    attention_dropout: ShareBelowOne = 0.0
    """Dropout of the attention weights; the published code has none in block-sparse attention."""
    init_std: AboveZero = 0.02
    """Standard deviation of fresh kernels and embeddings; a model narrower than the paper's learns
    sooner with more, in proportion to 1 / sqrt(hidden_size)."""
    gradient_checkpointing: bool = False
    """Recompute each layer in the backward pass to save memory."""
    etc: EtcConfig = PAPER_ETC
    """Streams and labels of `attention` etc; not read otherwise."""
    longformer: LongformerConfig = PAPER_LONGFORMER
    """Windows and projections of `attention` longformer; not read otherwise."""
    performer: PerformerConfig = PAPER_PERFORMER
    """Random features of `attention` performer; not read otherwise."""

    def __post_init__(self) -> None:
        for name, default in OWN_SETTINGS.items():
            if isinstance(own := getattr(self, name), Mapping):  # as in a file
                object.__setattr__(self, name, settings_from(type(default), own))
        check_fields(self, "model")
        if self.attention == "etc":
            self._check_etc()
        largest = max(LARGEST_BLOCK, self.max_tokens)
        if self.block_size > largest:  # sequences are padded to whole blocks
            raise ValueError(f"--model.block_size {self.block_size} must be at most {largest}")
        if self.hidden_size % self.num_heads:
            raise ValueError(
                f"--model.hidden_size {self.hidden_size} is not a multiple of "
                f"--model.num_heads {self.num_heads}"
            )
        if self.stem_width and self.stem_width % 2 == 0:
            raise ValueError(f"--model.stem_width {self.stem_width} must be 0 or odd")
        if self.patch_tokens > 1 and not (self.norm_first and self.positions == "rotary"):
            raise ValueError(
                f"--model.patch_tokens {self.patch_tokens} needs --model.norm_first true and "
                "--model.positions rotary"
            )
        if self.positions == "rotary" and (self.hidden_size // self.num_heads) % 2:
            raise ValueError(
                f"--model.positions rotary needs heads of an even size; --model.hidden_size "
                f"{self.hidden_size} / --model.num_heads {self.num_heads} is odd"
            )
        if self.layer_skips and self.num_layers < 2:
            raise ValueError(
                f"--model.layer_skips true needs --model.num_layers of at least 2, got {self.num_layers}"
            )
        self._check_own_settings()
        self._check_pattern()

    def _check_etc(self) -> None:
        for name, only, why in NOT_IN_ETC:
            if (value := getattr(self, name)) != only:
                raise ValueError(
                    f"--model.attention etc has no --model.{name} {str(value).lower()}: {why}; leave it out"
                )

    def _check_own_settings(self) -> None:
        for name, default in OWN_SETTINGS.items():
            if self.attention != name and getattr(self, name) != default:
                raise ValueError(
                    f"--model.{name} is read with --model.attention {name} only: add that, or leave it out"
                )
        if self.attention == "longformer":
            self.longformer.check(self.num_layers, self.num_heads)
        if self.attention == "performer":
            self.performer.check(self.hidden_size // self.num_heads)
            if self.attention_dropout:
                raise ValueError(
                    f"--model.attention performer has no --model.attention_dropout, got {self.attention_dropout}: "
                    "it computes no attention weights; leave it out"
                )

    def _check_pattern(self) -> None:
        window, global_blocks = self.window_blocks, self.global_blocks
        if window and window % 2 == 0:
            raise ValueError(f"--model.window_blocks {window} must be 0 or odd")
        if self.random_plan != "uniform" and (window != 3 or global_blocks == "none"):
            raise ValueError(
                f"--model.random_plan {self.random_plan} has --model.window_blocks 3 and "
                f"--model.global_blocks first_last or first_two, got {window} and {global_blocks}"
            )
        if (window, global_blocks, self.num_random) == (0, "none", 0):
            raise ValueError(
                "--model.window_blocks 0, --model.global_blocks none and --model.num_random 0: "
                "no block would read anything"
            )

    @property
    def reads_any_length(self) -> bool:
        """True if a sequence may have more than `max_tokens` tokens; there is no table of positions."""
        return not self.has_position_table

    @property
    def has_position_table(self) -> bool:
        """True if a learned vector is added for each position."""
        return self.positions == "learned" and self.attention != "etc"

    @property
    def building_blocks(self) -> str:
        """What the attention pattern consists of, in words."""
        blocks = {
            "random": self.num_random > 0,
            "window": self.window_blocks > 0,
            "global": self.global_blocks != "none",
        }
        return OTHER_BLOCKS.get(self.attention) or " + ".join(
            x for x, used in blocks.items() if used
        )

    @property
    def has_blocks(self) -> bool:
        """True if tokens read each other block by block, by a pattern of blocks."""
        return self.attention in ("bigbird", "full")

    @property
    def keeps_published_padding(self) -> bool:
        """True if the pattern follows the padded width of the batch, as in the published code."""
        return self.attention == "bigbird" and self.random_plan != "uniform"


@dataclass(frozen=True)
class HeadConfig:
    """How label logits come from the hidden states."""

    pooling: Literal["cls", "mean", "centre", "parts", "attention", "bin", "bins"] = "cls"
    """How the tokens of a window become a vector: 'cls' reads the first token through a dense layer
    with `activation`, 'mean' and 'centre' average all real tokens or those in the middle of the window,
    where the labelled bin is; 'parts' averages each of so many equal parts of the window, so that it
    sees where something is; 'attention' adds to the middle what it reads from the whole window, by content
    and distance (docs/results/long-range-distance.md); 'bin' reads the global token of the bin in the middle, with
    `attention` etc (docs/explanation/bigbird-etc.md); 'bins' averages the bases of every bin of the window, for the
    values of tracks."""
    activation: Literal["tanh", "gelu_tanh", "gelu", "relu"] = "tanh"
    """Activation: of that dense layer; classifiers of the Hugging Face library have the encoder's own there."""
    centre_tokens: Positive = 40
    """Tokens in the middle that 'centre' and 'attention' average; 200 bp are about 40 tokens of
    4.9 bp, or 23 of 8.8 bp."""
    dropout: ShareBelowOne = 0.1
    """Dropout: before the last layer."""
    label_rank: Count = 0
    """Numbers from which all labels are computed; 0: no limit. Fewer than labels make labels that go
    together help each other."""
    parts: Positive = 30
    """Parts of the window that 'parts' reads; a part should be about as long as what it is to find."""
    part_value: Literal["mean", "max"] = "mean"
    """What 'parts' reads of a part, number by number: 'max' finds one site among many tokens, 'mean' says
    how much there is."""
    queries: Positive = 8
    """Queries of 'attention'. Each begins as the mean over one band of distances from the middle."""
    reach_tokens: Positive = 800
    """Distance from the middle up to which 'attention' distinguishes distances; the bands divide it."""
    bin_bp: Positive = 200
    """Bases of a bin that 'bin' gives a global token; bins are counted from the middle of the window. 'bins': of each
    of its bins, which may be shorter than a token."""
    bins_at_once: bool = False
    """Train 'bin' on all known bins near the middle of a window at once, not on the one in the middle alone."""
    crop_bp: Count = 0
    """Bases at either end of a window that 'bins' gives no value."""
    loss: Literal["poisson", "poisson_multinomial", "mse_log"] = "poisson"
    """Loss of 'bins': Poisson of each bin; Poisson of a window's total and multinomial of its shape, as Borzoi has it;
    or the squared error of log(1 + value). The first two are divided by the dispersion of the track."""

    def __post_init__(self) -> None:
        check_fields(self, "head")
        if self.bins_at_once and self.pooling != BIN:
            raise ValueError(
                f"--head.bins_at_once true is for --head.pooling {BIN}, got {self.pooling}"
            )


def stored_encoder(encoder: EncoderConfig) -> dict:
    """Return the settings of an encoder for a file, without those of other attentions."""
    settings = asdict(encoder)
    for name in OWN_SETTINGS:
        if encoder.attention != name:
            del settings[name]
        else:  # as JSON returns them
            own = settings[name].items()
            settings[name] = {k: list(v) if isinstance(v, tuple) else v for k, v in own}
    if not encoder.word_memory:
        del settings["word_tokens"]
    return {k: v for k, v in settings.items() if v or k not in LATER_SETTINGS}


def stored_head(head: HeadConfig) -> dict:
    """Return the settings of a head for a file, without those that its pooling does not read."""
    # So files of a pooling stay as they were before there were others.
    settings = asdict(head)
    own = POOLING_SETTINGS.get(head.pooling, ())
    for name in {name for names in POOLING_SETTINGS.values() for name in names if name not in own}:
        del settings[name]
    if not head.label_rank:
        del settings["label_rank"]
    return settings


def check_head(head: HeadConfig, encoder: EncoderConfig) -> None:
    """Raise ValueError if the head reads global tokens of bins and the attention is not etc."""
    if head.pooling == BIN and encoder.attention != "etc":
        raise ValueError(
            f"--head.pooling {BIN} reads global tokens of bins, which a model of attention {encoder.attention} does "
            "not have; pretrain one with --model.attention etc, or choose another pooling"
        )
