"""`dna-bigbird convert`."""

from typing import Annotated, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.result_folders import HUGGING_FACE
from dna_bigbird.core.results import ConvertedModel
from dna_bigbird.core.shared_options import ModelOutput

WAYS = (
    "--from-huggingface DIR --to BUNDLE [--plan …]",
    "--from BUNDLE --to-huggingface DIR [--allow-different-attention true] [--license ID]",
    "--from BUNDLE --to BUNDLE2 --max-tokens N [--positions tile|interpolate]",
)


@checked()
def convert(
    from_: InputPath | None = None,
    to: ModelOutput | None = None,
    from_huggingface: InputPath | None = None,
    to_huggingface: Annotated[OutputPath, HUGGING_FACE] | None = None,
    plan: Literal["uniform", "original", "huggingface"] | None = None,
    allow_different_attention: bool = False,
    max_tokens: int | None = None,
    positions: Literal["tile", "interpolate"] | None = None,
    license: str | None = None,
) -> ConvertedModel:
    """Read a model of the Hugging Face library, write one for it, or lengthen a model's context.

    Three ways, each with its own options:
    --from-huggingface DIR --to BUNDLE,
    --from BUNDLE --to-huggingface DIR [--license ID],
    --from BUNDLE --to BUNDLE2 --max-tokens N [--positions tile|interpolate].
    No code in the files is run. What is read, written and refused: docs/how-to/hugging-face.md.

    Examples:
        dna-bigbird convert --from_huggingface bigbird-roberta-base --to models/bigbird
        dna-bigbird convert --from results/models/pretrained --to_huggingface pretrained_hf
        dna-bigbird convert --from results/models/pretrained --to results/models/longer --max_tokens 8192 \\
            --positions tile

    Args:
        from_: Bundle to read.
        to: Bundle to write.
        from_huggingface: Folder of the Hugging Face library: config.json, safetensors or
            pytorch_model.bin, and tokenizer.json or spiece.model.
        to_huggingface: Folder to write for the Hugging Face library.
        plan: Random blocks of a model from that library: 'huggingface' repeats the library (the
            default), 'original' is the published plan, 'uniform' draws from the whole sequence.
            With the last two the model computes something else than in the library.
        allow_different_attention: Write a folder even if the library computes something else with
            these weights; its README.md says what.
        max_tokens: Longest sequence in tokens: of the new model.
        positions: Positions of tokens: beyond the old table 'tile' repeats the old ones one after the
            other, 'interpolate' stretches them. Rotary ones need none.
        license: Licence of the model: as the hub names it (apache-2.0, mit, cc-by-4.0, other), for
            the metadata of its README.md; 'unknown' by default.
    """
    from dna_bigbird.bundles import convert_run

    chosen = {
        "from": from_,
        "from-huggingface": from_huggingface,
        "to": to,
        "to-huggingface": to_huggingface,
        "plan": plan,
        "allow-different-attention": allow_different_attention or None,
        "max-tokens": max_tokens,
        "positions": positions,
        "license": license,
    }
    way = {name for name, value in chosen.items() if value is not None}
    source = from_huggingface if from_ is None else from_
    output = to_huggingface if to is None else to
    if way - {"plan"} == {"from-huggingface", "to"}:
        return convert_run.from_huggingface(source, output, plan)
    if way - {"allow-different-attention", "license"} == {"from", "to-huggingface"}:
        return convert_run.to_huggingface(source, output, allow_different_attention, license)
    if way - {"positions"} == {"from", "to", "max-tokens"}:
        return convert_run.lengthen(source, output, max_tokens, positions)
    options = " ".join(f"--{name}" for name in chosen if name in way) or "no option"
    raise InputError(f"convert: {options} given; expected one of: {'; '.join(WAYS)}")
