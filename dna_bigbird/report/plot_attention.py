"""`dna-bigbird plot-attention`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputStream
from dna_bigbird.core.results import Result
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.core.tables import check_suffix
from dna_bigbird.report.plot_attention_options import EtcDrawing, LongformerDrawing

Plan = Literal["uniform", "original", "huggingface"]
LEGEND = "g global, w window, r random, . not read, a digit: counted so often"


@dataclass(frozen=True)
class AttentionDrawing(Result):
    """Which key blocks every query block reads."""

    output: Path | None
    """The picture; None if it was drawn as text."""
    panels: tuple[str, ...]
    """Each drawing as text, its title first."""
    legend: str = LEGEND
    """What the letters mean."""

    def summary(self) -> str:
        """Return the drawings as text if no picture was written."""
        return "" if self.output else "\n\n".join([self.legend, *self.panels])


@renamed(bundle="model", training="in_training", layer="layers", head="heads")
@checked()
def plot_attention(
    output: OutputStream | None = None,
    model: InputPath | None = None,
    tokens: Positive | None = None,
    num_blocks: Positive | None = None,
    layers: Count | list[Count] = 0,
    heads: Count | list[Count] = 0,
    in_training: bool = False,
    block_size: int | None = None,
    window_blocks: int | None = None,
    global_blocks: Literal["first_last", "first_two", "none"] | None = None,
    num_random: int | None = None,
    random_plan: Plan | list[Plan] | None = None,
    pattern_seed: int | None = None,
    num_heads: int | None = None,
    max_tokens: int | None = None,
    pattern: Literal["bigbird", "etc", "longformer"] = "bigbird",
    etc: EtcDrawing = EtcDrawing(),  # noqa: B008 - --help shows the default
    longformer: LongformerDrawing = LongformerDrawing(),  # noqa: B008 - --help shows the default
) -> AttentionDrawing:
    """Draw which key blocks every query block reads, as text or as a picture.

    Several plans, layers or heads, given as [0,1,2], are drawn one after the other, in a picture
    side by side.

    Examples:
        dna-bigbird plot-attention --num_blocks 64 --random_plan uniform original --output plans.png
        dna-bigbird plot-attention --model results/models/pretrained --layers 0 1 --heads 0 1 --output model.png
        dna-bigbird plot-attention --pattern etc --etc.radius 4 --etc.hard_g2l true --etc.long_tokens 24
        dna-bigbird plot-attention --pattern longformer --longformer.dilation 2 --longformer.global_at 0 9

    Args:
        output: Result to write: a picture in the format of its suffix: png, svg or pdf; text on
            standard output if not given.
        model: Model bundle: its pattern is drawn, and its settings replace the options below.
        tokens: Length of the sequence, special tokens included; max_tokens if not given.
        num_blocks: Length of the sequence in blocks instead.
        layers: Layer from 0, or several.
        heads: Head from 0, or several.
        in_training: The blocks that plan huggingface draws in training; the other plans know no
            difference.
        block_size: Tokens in one attention block; 64 if not given.
        window_blocks: Neighbouring blocks that a block reads, itself included: 3 if not given.
        global_blocks: Blocks that read every block and are read by every block: first_last if not
            given.
        num_random: Random key blocks of an ordinary query block; 3 if not given.
        random_plan: Where random blocks come from: a plan or several; uniform if not given.
        pattern_seed: Seed of the uniform plan; 0 if not given.
        num_heads: Attention heads; 12 if not given.
        max_tokens: Longest sequence in tokens: that of the model, on which plan huggingface
            depends; 4096 or the length drawn, whichever is more, if not given.
        pattern: etc draws single tokens of the two streams of BigBird-ETC, longformer those of a sequence;
            only --output and the options of that name belong to them.
        etc: The pattern of --pattern etc.
        longformer: The pattern of --pattern longformer.
    """
    from dna_bigbird.report import plot_attention_drawing as steps

    check_suffix(output)
    if tokens is not None and num_blocks is not None:
        raise InputError("--tokens and --num_blocks say the same: give one of them")
    settings = {
        "block_size": block_size, "window_blocks": window_blocks, "global_blocks": global_blocks,
        "num_random": num_random, "random_plan": random_plan, "pattern_seed": pattern_seed,
        "num_heads": num_heads, "max_tokens": max_tokens,
    }  # fmt: skip
    settings = {name: value for name, value in settings.items() if value is not None}
    drawings = {"etc": etc, "longformer": longformer}
    for name, drawing in drawings.items():
        if name != pattern and drawing != type(drawing)():
            raise InputError(f"--{name} belongs to --pattern {name}: add it")
    if pattern in drawings:
        others = {
            "model": model, "tokens": tokens, "num_blocks": num_blocks, "layers": layers or None,
            "heads": heads or None, "in_training": in_training or None,
        }  # fmt: skip
        others = settings | {n: x for n, x in others.items() if x is not None}
        return _draw_tokens(output, drawings[pattern], pattern, others)
    layer_numbers, head_numbers = steps.as_list(layers), steps.as_list(heads)
    if model is None:
        configs = steps.configs_of_settings(settings, tokens, num_blocks)
    elif settings:
        raise InputError(f"--model has its own --{next(iter(settings))}: leave that option out")
    else:
        configs = [steps.config_of_bundle(model, layer_numbers)]
    panels = [
        steps.draw_panel(config, steps.length_of(config, tokens, num_blocks), i, h, in_training)
        for config, i, h in steps.panels_to_draw(configs, layer_numbers, head_numbers)
    ]
    if output is not None:
        # More than one row: a row for each layer and plan.
        in_a_row = len(head_numbers) if len(panels) > 4 else 4
        steps.write_picture(output, panels, min(max(in_a_row, 2), 4))
    return AttentionDrawing(output, tuple(f"{panel.title}\n{panel.text}" for panel in panels))


def _draw_tokens(
    output: Path | None,
    drawing: EtcDrawing | LongformerDrawing,
    pattern: str,
    others: dict[str, object],
) -> AttentionDrawing:
    """Draw a pattern of single tokens; raise InputError if options of block patterns are given."""
    from dna_bigbird.report import plot_attention_drawing as steps

    if others:
        raise InputError(
            f"--pattern {pattern} has no --{next(iter(others))}: leave it out; its options begin with "
            f"{pattern}"
        )
    if isinstance(drawing, EtcDrawing):
        panel, reasons, legend = steps.etc_panel(drawing), steps.ETC_REASONS, steps.ETC_LEGEND
    else:
        panel = steps.longformer_panel(drawing)
        reasons, legend = steps.LONGFORMER_REASONS, steps.LONGFORMER_LEGEND
    if output is not None:
        steps.write_picture(output, [panel], 1, reasons, "token")
    return AttentionDrawing(output, (f"{panel.title}\n{panel.text}",), legend)
