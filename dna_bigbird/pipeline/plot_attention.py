"""`dna-bigbird plot-attention`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.stored_settings import settings_from
from dna_bigbird.paths import InputPath, OutputStream
from dna_bigbird.writing import atomic_path

if TYPE_CHECKING:
    from dna_bigbird.attention.patterns import BlockPattern

Plan = Literal["uniform", "original", "huggingface"]
KINDS = ("png", "svg", "pdf")
MOST_BLOCKS = 2048
MOST_PANELS = 16
LEGEND = "g global, w window, r random, . not read, a digit: counted so often"


@checked()
def plot_attention(
    output: OutputStream | None = None,
    bundle: InputPath | None = None,
    tokens: int | None = None,
    num_blocks: int | None = None,
    layer: int | list[int] = 0,
    head: int | list[int] = 0,
    training: bool = False,
    block_size: int | None = None,
    window_blocks: int | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    num_random: int | None = None,
    random_plan: Plan | list[Plan] | None = None,
    pattern_seed: int | None = None,
    num_heads: int | None = None,
    max_tokens: int | None = None,
) -> None:
    """Draw which key blocks every query block reads, as text or as a picture.

    Several plans, layers or heads, given as [0,1,2], are drawn one after the other, in a picture
    side by side.

    Args:
        output: Picture to write, by its ending png, svg or pdf; text on standard output if not given.
        bundle: Draw the pattern of this model bundle; its settings replace the options below.
        tokens: Length of the sequence, special tokens included; max_tokens if not given.
        num_blocks: Length of the sequence in blocks instead.
        layer: Layer from 0, or several.
        head: Head from 0, or several.
        training: The blocks that plan huggingface draws in training; the other plans know no
            difference.
        block_size: Tokens in one block; 64 if not given.
        window_blocks: Neighbouring blocks that a block reads, itself included; 3 if not given.
        global_blocks: Blocks that read and are read by every block; first_last if not given.
        num_random: Random key blocks of an ordinary query block; 3 if not given.
        random_plan: Where random blocks come from, or several plans; uniform if not given.
        pattern_seed: Seed of the uniform plan; 0 if not given.
        num_heads: Heads of the model; 12 if not given.
        max_tokens: Longest sequence of the model, on which plan huggingface depends; 4096 or the
            length drawn, whichever is more, if not given.
    """
    if output is not None and output.suffix.lstrip(".") not in KINDS:
        raise InputError(f"--output {output}: the name of a picture ends in .{', .'.join(KINDS)}")
    chosen = {
        "block_size": block_size,
        "window_blocks": window_blocks,
        "global_blocks": global_blocks,
        "num_random": num_random,
        "random_plan": random_plan,
        "pattern_seed": pattern_seed,
        "num_heads": num_heads,
        "max_tokens": max_tokens,
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if tokens is not None and num_blocks is not None:
        raise InputError("--tokens and --num_blocks say the same: give one of them")
    if bundle is not None and chosen:
        raise InputError(f"--bundle has its own --{next(iter(chosen))}: leave that option out")
    if bundle is not None:
        configs = [_of_bundle(bundle, _several(layer))]
    else:
        size = chosen.get("block_size", EncoderConfig.block_size)
        length = max(tokens or 0, (num_blocks or 0) * size, EncoderConfig.max_tokens)
        configs = [
            _config({"max_tokens": length, **chosen, "random_plan": plan})
            for plan in _several(chosen.pop("random_plan", "uniform"))
        ]
    panels = [
        _panel(config, _length(config, tokens, num_blocks), i, h, training)
        for config, i, h in _cases(configs, _several(layer), _several(head))
    ]
    if output is None:
        print("\n\n".join([LEGEND, *(f"{title}\n{text}" for title, text, _ in panels)]))
    else:
        # More than one row: a row for each layer and plan.
        in_a_row = len(_several(head)) if len(panels) > 4 else 4
        _picture(output, [(title, codes) for title, _, codes in panels], min(max(in_a_row, 2), 4))


def _several(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _cases(configs: list, layers: list[int], heads: list[int]) -> list[tuple]:
    cases = list(itertools.product(configs, layers, heads))
    if not 1 <= len(cases) <= MOST_PANELS:
        raise InputError(
            f"{len(cases)} drawings (plans, layers and heads): expected 1 to {MOST_PANELS}"
        )
    for config, layer, head in cases:
        if layer < 0:
            raise InputError(f"--layer {layer}: layers count from 0")
        if not 0 <= head < config.num_heads:
            raise InputError(f"--head {head}: the model has heads 0 to {config.num_heads - 1}")
    return cases


def _config(settings: dict) -> EncoderConfig:
    heads = settings.get("num_heads", EncoderConfig.num_heads)
    try:
        return EncoderConfig(hidden_size=64 * heads if heads > 0 else 64, **settings)
    except ValueError as error:
        raise InputError(str(error).replace("--model.", "--")) from error


def _of_bundle(bundle: Path, layers: list[int]) -> EncoderConfig:
    path = bundle / "config.json"
    if not path.is_file():
        raise InputError(f"{bundle}: no such model bundle; a bundle is a folder with config.json")
    try:
        config = settings_from(EncoderConfig, read_json(path).get("encoder"))
    except ValueError as error:
        raise InputError(f"{path}: it describes no model: encoder: {error}") from error
    if max(layers, default=0) >= config.num_layers:
        raise InputError(f"--layer {max(layers)}: {bundle} has layers 0 to {config.num_layers - 1}")
    return config


def _length(config: EncoderConfig, tokens: int | None, num_blocks: int | None) -> int:
    for name, value in (("tokens", tokens), ("num_blocks", num_blocks)):
        if value is not None and value < 1:
            raise InputError(f"--{name} {value}: expected at least 1")
    most = -(-config.max_tokens // config.block_size)
    if num_blocks is not None and num_blocks > most:
        raise InputError(f"--num_blocks {num_blocks}: the model reads at most {most}")
    length = config.max_tokens if tokens is None else tokens
    if num_blocks is not None:
        length = min(num_blocks * config.block_size, config.max_tokens)
    if length > config.max_tokens:
        raise InputError(f"--tokens {length}: the model reads at most {config.max_tokens}")
    if -(-length // config.block_size) > MOST_BLOCKS:
        raise InputError(
            f"{length} tokens are {-(-length // config.block_size)} blocks; more than {MOST_BLOCKS} "
            "cannot be told apart in a drawing. Give fewer --tokens or a larger --block_size"
        )
    return length


def _panel(config: EncoderConfig, length: int, layer: int, head: int, training: bool) -> tuple:
    """Return the title of one drawing, its text, and the reasons as numbers."""
    from dna_bigbird.attention.patterns.reasons import draw_reasons, reasons

    pattern = _pattern(config, length, layer, training)
    uniform = config.random_plan == "uniform" and config.attention == "bigbird"
    codes = reasons(
        pattern, head, config.window_blocks, config.global_blocks,
        drawn=uniform or not pattern.covers_everything,
    )  # fmt: skip
    name = "full attention" if config.attention == "full" else config.random_plan
    if training and config.random_plan == "huggingface":
        name += " in training"
    return f"{name}, layer {layer}, head {head}", draw_reasons(pattern, head, codes), codes


def _pattern(config: EncoderConfig, length: int, layer: int, training: bool) -> BlockPattern:
    import torch

    from dna_bigbird.models.encoder import attention_core

    try:
        with torch.device("meta"):  # the core knows the rule; its weights are not wanted
            return attention_core(config, layer).train(training).pattern(length)
    except ValueError as error:
        raise InputError(str(error)) from error


def _picture(output: Path, panels: list[tuple], panels_in_a_row: int) -> None:
    from dna_bigbird.attention.patterns.reasons import GLOBAL, RANDOM, REPEATED, WINDOW
    from dna_bigbird.report.figures.attention_figure import Panel, attention_figure
    from dna_bigbird.report.figures.style import save

    names = {
        GLOBAL: "global",
        WINDOW: "window",
        RANDOM: "random",
        REPEATED: "counted more than once",
    }
    figure = attention_figure([Panel(*panel) for panel in panels], names, panels_in_a_row)
    with atomic_path(output) as partial:
        partial.write_bytes(save(figure, output.suffix.lstrip(".")))
