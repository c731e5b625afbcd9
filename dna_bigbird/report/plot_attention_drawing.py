"""Steps of `plot-attention`: the settings, the length, one drawing per plan, layer and head, or of single tokens."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import GLOBAL as GLOBAL_STREAM
from dna_bigbird.attention.patterns.etc_layout import EtcLayout, Example, Key
from dna_bigbird.attention.patterns.itc import global_and_window
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout, draw_longformer
from dna_bigbird.attention.patterns.pattern import BlockPattern
from dna_bigbird.bundles.bundled import folder_of
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.core.tables import write_figure
from dna_bigbird.models.attention_cores import block_core
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.stored_settings import settings_from
from dna_bigbird.report.plot_attention_options import EtcDrawing, LongformerDrawing, Panel

NOT_READ, GLOBAL, WINDOW, RANDOM, REPEATED = range(5)
LETTERS = ".gwr"


def reasons(
    pattern: BlockPattern, head: int, window_blocks: int, global_blocks: str, *, drawn: bool = True
) -> np.ndarray:
    """Return the reason of every pair of blocks of one head, (query blocks, key blocks) int64."""
    # A block counted more than once is always REPEATED; one that is global and in the window is GLOBAL. Not
    # `drawn`: full attention took the pattern's place, and every block is global.
    times = one_head(pattern, head).times()[0]
    is_global, _ = global_and_window(pattern.num_blocks, window_blocks, global_blocks)
    if not drawn:
        is_global = pattern.is_global
    block = np.arange(pattern.num_blocks)
    apart = np.abs(block[:, None] - block)
    codes = np.where(apart <= window_blocks // 2 if window_blocks else apart < 0, WINDOW, RANDOM)
    codes[is_global] = GLOBAL
    codes[:, is_global] = GLOBAL
    return np.where(times > 1, REPEATED, np.where(times == 0, NOT_READ, codes))


def draw_reasons(pattern: BlockPattern, head: int, codes: np.ndarray) -> str:
    """Return one head as text: a line per query block, a letter or how often it is counted per key."""
    times = one_head(pattern, head).times()[0]
    return "\n".join(
        "".join(
            str(min(n, 9)) if code == REPEATED else LETTERS[code]
            for n, code in zip(*row, strict=True)
        )
        for row in zip(times, codes, strict=True)
    )


def one_head(pattern: BlockPattern, head: int) -> BlockPattern:
    if not 0 <= head < pattern.num_heads:
        raise ValueError(f"head {head} is not one of 0 … {pattern.num_heads - 1}")
    return BlockPattern(pattern.key_blocks[head : head + 1], pattern.is_global, pattern.block_size)


MOST_BLOCKS = 2048
MOST_PANELS = 16
MOST_HEADS = 1024
"""Each head has a table of blocks; models have 12 to 128 heads."""
REASONS = {GLOBAL: "global", WINDOW: "window", RANDOM: "random", REPEATED: "counted more than once"}


def as_list(value: object) -> list:
    """Return a list as it is, another value as a list of one item."""
    return value if isinstance(value, list) else [value]


def configs_of_settings(
    settings: Mapping[str, object], tokens: int | None, num_blocks: int | None
) -> list[EncoderConfig]:
    """Return one config for each of the random plans, long enough for the sequence."""
    block_size = settings.get("block_size", EncoderConfig.block_size)
    length = max(tokens or 0, (num_blocks or 0) * block_size, EncoderConfig.max_tokens)
    plans = as_list(settings.get("random_plan", "uniform"))
    return [_config({"max_tokens": length, **settings, "random_plan": plan}) for plan in plans]


def _config(settings: dict) -> EncoderConfig:
    heads = settings.get("num_heads", EncoderConfig.num_heads)
    if heads > MOST_HEADS:
        raise InputError(f"--num_heads {heads}: expected at most {MOST_HEADS:,}")
    try:
        return EncoderConfig(hidden_size=64 * heads if heads > 0 else 64, **settings)
    except ValueError as error:
        raise InputError(str(error).replace("--model.", "--")) from error


def config_of_bundle(bundle: Path, layers: Sequence[int]) -> EncoderConfig:
    """Return the encoder's settings of a bundle without loading its weights."""
    path = folder_of(bundle) / "config.json"
    if not path.is_file():
        raise InputError(f"{bundle}: no such model bundle; a bundle is a folder with config.json")
    try:
        config = settings_from(EncoderConfig, read_json(path).get("encoder"))
    except ValueError as error:
        raise InputError(f"{path}: it describes no model: encoder: {error}") from error
    if max(layers, default=0) >= config.num_layers:
        raise InputError(
            f"--layers {max(layers)}: {bundle} has layers 0 to {config.num_layers - 1}"
        )
    return config


def panels_to_draw(
    configs: Sequence[EncoderConfig], layers: Sequence[int], heads: Sequence[int]
) -> list[tuple[EncoderConfig, int, int]]:
    """Return every combination of plan, layer and head."""
    panels = list(itertools.product(configs, layers, heads))
    if not 1 <= len(panels) <= MOST_PANELS:
        raise InputError(
            f"{len(panels)} drawings (plans, layers and heads): expected 1 to {MOST_PANELS}"
        )
    for config, _, head in panels:
        if head >= config.num_heads:
            raise InputError(f"--heads {head}: the model has heads 0 to {config.num_heads - 1}")
    return panels


def length_of(config: EncoderConfig, tokens: int | None, num_blocks: int | None) -> int:
    """Return the length of the sequence in tokens."""
    most = -(-config.max_tokens // config.block_size)
    if num_blocks is not None and num_blocks > most:
        raise InputError(f"--num_blocks {num_blocks}: the model reads at most {most}")
    length = config.max_tokens if tokens is None else tokens
    if num_blocks is not None:
        length = min(num_blocks * config.block_size, config.max_tokens)
    if length > config.max_tokens:
        raise InputError(f"--tokens {length}: the model reads at most {config.max_tokens}")
    blocks = -(-length // config.block_size)
    if blocks > MOST_BLOCKS:
        raise InputError(
            f"{length} tokens are {blocks} blocks; a drawing shows at most {MOST_BLOCKS}. Give fewer "
            "--tokens or a larger --block_size"
        )
    return length


def draw_panel(config: EncoderConfig, length: int, layer: int, head: int, training: bool) -> Panel:
    """Draw the pattern of one layer and head."""
    pattern = pattern_of(config, length, layer, training)
    uniform = config.random_plan == "uniform" and config.attention == "bigbird"
    drawn = uniform or not pattern.covers_everything
    codes = reasons(pattern, head, config.window_blocks, config.global_blocks, drawn=drawn)
    name = "full attention" if config.attention == "full" else config.random_plan
    if training and config.random_plan == "huggingface":
        name += " in training"
    title = f"{name}, layer {layer}, head {head}"
    return Panel(title, codes, draw_reasons(pattern, head, codes))


def pattern_of(config: EncoderConfig, length: int, layer: int, training: bool) -> BlockPattern:
    try:
        with torch.device("meta"):  # only the rule of the core is needed, not its weights
            return block_core(config, layer).train(training).pattern(length)
    except ValueError as error:
        raise InputError(str(error)) from error


def write_picture(
    output: Path,
    panels: Sequence[Panel],
    panels_in_a_row: int,
    names: Mapping[int, str] = REASONS,
    unit: str = "block",
) -> None:
    """Write the drawings as one picture, in the format of the file's suffix."""
    from dna_bigbird.report.plot_attention_figure import attention_figure

    write_figure(output, attention_figure(panels, names, panels_in_a_row, unit))


# `--pattern etc` and `longformer`: a layout or sequence, and its drawing.

GLOBAL_PAIR, BAND, BELONGS, OUTSIDE, OTHER_SEGMENT = range(1, 6)
ETC_LETTERS = ".gwbop"


def etc_reasons(pattern: EtcPattern, layout: EtcLayout, row: int = 0) -> np.ndarray:
    """Return the reason of every pair of tokens, (G + L, G + L) int64, query by key, global ones first."""
    example = Example(pattern, layout, row)
    num_global, num_long = len(example.global_padding), len(example.long_padding)
    codes = np.full((num_global + num_long,) * 2, NOT_READ)
    read = [list(example.keys_of_global(i)) for i in range(num_global)]
    read += [list(example.keys_of_long(i)) for i in range(num_long)]
    for query, keys in enumerate(read):
        for stream, position, label in keys:
            column = position if stream == GLOBAL_STREAM else num_global + position
            codes[query, column] = _reason(pattern, (stream, position, label), query < num_global)
    return codes


def _reason(pattern: EtcPattern, key: Key, is_global: bool) -> int:
    stream, _, label = key
    of_label = {
        pattern.label_belongs: BELONGS,
        pattern.label_outside: OUTSIDE,
        pattern.label_other_segment: OTHER_SEGMENT,
    }
    return of_label.get(label, GLOBAL_PAIR if is_global and stream == GLOBAL_STREAM else BAND)


def draw_etc(codes: np.ndarray) -> str:
    """Return the reasons as text, a line per query and a letter per key."""
    return "\n".join("".join(ETC_LETTERS[code] for code in line) for line in codes)


LONGFORMER_LEGEND = "w window, g global, . not read; a line per token that reads"
LONGFORMER_REASONS = {1: "window", 2: "global"}
LONGFORMER_LETTERS = ".wg"
"""In the order of the codes: 0 is not read."""


def longformer_panel(drawing: LongformerDrawing) -> Panel:
    """Draw who reads whom in a sequence."""
    num_tokens, at = drawing.sequence_tokens, drawing.global_at
    if at and not 0 <= min(at) <= max(at) < num_tokens:
        shown = " ".join(map(str, at))
        raise InputError(
            f"--longformer.global_at {shown}: expected positions from 0 to {num_tokens - 1} "
            "(--longformer.sequence_tokens)"
        )
    try:
        pattern = LongformerPattern(drawing.window_tokens, (drawing.dilation,), drawing.is_causal)
    except ValueError as error:
        raise InputError(f"--longformer: {error}") from error
    is_global = torch.zeros(1, num_tokens, dtype=torch.bool)
    is_global[0, list(at)] = True
    text = draw_longformer(pattern, LongformerLayout(torch.zeros_like(is_global), is_global))
    codes = np.array(
        [[LONGFORMER_LETTERS.index(letter) for letter in line] for line in text.splitlines()]
    )
    title = (
        f"longformer, window of {drawing.window_tokens} on either side, dilation {drawing.dilation}"
    )
    return Panel(title, codes, text)


ETC_LEGEND = (
    "global tokens first, then long ones: w band, b belongs, o does not belong, g global tokens, "
    "p global tokens of different paragraphs, . not read"
)
ETC_REASONS = {
    GLOBAL_PAIR: "global to global",
    BAND: "band",
    BELONGS: "belongs",
    OUTSIDE: "does not belong",
    OTHER_SEGMENT: "global, other paragraph",
}


def etc_panel(drawing: EtcDrawing) -> Panel:
    """Draw both streams of a text with even sentences."""
    num_sentences = drawing.paragraphs * drawing.sentences
    if drawing.long_tokens < num_sentences:
        raise InputError(
            f"--etc.long_tokens {drawing.long_tokens}: expected at least {num_sentences}, a token per sentence"
        )
    try:
        pattern = EtcPattern(
            drawing.radius,
            drawing.local_mode,
            1,  # labels of distances are not drawn
            hard_g2l=drawing.hard_g2l,
            hard_l2g=drawing.hard_l2g,
        )
    except ValueError as error:
        raise InputError(f"--etc: {error}") from error
    codes = etc_reasons(pattern, even_layout(drawing))
    title = f"etc, {drawing.paragraphs} paragraphs, {drawing.sentences} sentences each"
    return Panel(title, codes, draw_etc(codes))


def even_layout(drawing: EtcDrawing) -> EtcLayout:
    """Return the layout: each paragraph's global token comes before those of its sentences."""
    of_paragraph = 1 + drawing.sentences
    num_global = drawing.paragraphs * of_paragraph
    sentence = torch.arange(drawing.long_tokens) * drawing.paragraphs * drawing.sentences
    sentence = sentence // drawing.long_tokens
    paragraph = sentence // drawing.sentences
    owners = torch.stack([paragraph * of_paragraph, paragraph + sentence + 1], dim=1)
    return EtcLayout.of_owners(
        owners[None],
        torch.zeros(1, drawing.long_tokens, dtype=torch.bool),
        torch.zeros(1, num_global, dtype=torch.bool),
        long_segments=paragraph[None],
        global_segments=(torch.arange(num_global) // of_paragraph)[None],
    )
