"""`dna-bigbird text warm-start`."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.paths import InputPath, optional_path
from dna_bigbird.core.results import ConvertedModel
from dna_bigbird.core.shared_options import ModelOutput

if TYPE_CHECKING:
    from dna_bigbird.bundles.huggingface.short_encoders import ShortEncoder
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.models.summarizer import Summarizer


@renamed(from_="from_huggingface")
@checked()
def warm_start(
    from_huggingface: InputPath,
    output: ModelOutput,
    vocabulary: InputPath | None = None,
    max_tokens: int = 4096,
    block_size: int = 64,
    num_random: int = 3,
    random_plan: Literal["uniform", "original", "huggingface"] = "uniform",
    attention: Literal["bigbird", "full", "longformer"] = "bigbird",
    window_tokens: int = 256,
    seed: int = 0,
) -> ConvertedModel:
    """Make a text model from a RoBERTa, BERT or BART folder, to pretrain further or to fine-tune.

    The encoder's position table is repeated up to --max_tokens. With --vocabulary, pieces that are
    spelled the same keep their rows of the word table; other rows are drawn at random and counted. A
    BART folder gives a summarizer, to fine-tune. No code in the folder is run.

    Examples:
        dna-bigbird text warm-start --from_huggingface roberta-base --output models/warm
        dna-bigbird text warm-start --from_huggingface bart-base --attention longformer --window_tokens 512 \\
            --max_tokens 16384 --output models/led

    Args:
        from_huggingface: Folder of the Hugging Face library: config.json with model_type bert, roberta or
            bart, model.safetensors or pytorch_model.bin, and tokenizer.json, vocab.txt, or
            vocab.json and merges.txt.
        output: Result to write: a bundle (folder).
        vocabulary: SentencePiece model or tokenizer.json of the new model, the published one of
            BigBird for example; by default the folder's own vocabulary is kept.
        max_tokens: Longest sequence in tokens: of the new one.
        block_size: Tokens in one attention block.
        num_random: Random key blocks of an ordinary query block; global blocks have none.
        random_plan: Where random blocks come from.
        attention: Block-sparse attention, or full: for all layers. longformer: a window and global tokens.
        window_tokens: Tokens that a token reads on either side of it: with attention longformer.
        seed: Seed of the random numbers: of fresh rows, and of a fresh head if the folder has none.
    """
    from dna_bigbird.bundles.card import model_card
    from dna_bigbird.bundles.huggingface.short_encoders import is_summarizer, read_short_encoder
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.core.errors import checked_settings
    from dna_bigbird.corpus.tokenizer_files import read_text_tokenizer
    from dna_bigbird.models.attention_config import PAPER_LONGFORMER, LongformerConfig
    from dna_bigbird.models.config import EncoderConfig
    from dna_bigbird.text.text_pretrain_run import text_encoder_config
    from dna_bigbird.text.text_warm_start_weights import warm_start as start

    with checked_settings():
        of_longformer = attention == "longformer"
        encoder = EncoderConfig(
            max_tokens=max_tokens,
            block_size=block_size,
            num_random=num_random,
            random_plan=random_plan,
            attention=attention,
            longformer=LongformerConfig(window_tokens) if of_longformer else PAPER_LONGFORMER,
        )
    folder, output, vocabulary = Path(from_huggingface), Path(output), optional_path(vocabulary)
    if is_summarizer(folder):
        return _warm_summarizer(folder, output, encoder, vocabulary)
    short = read_short_encoder(folder, seed)
    new_vocabulary = None if vocabulary is None else read_text_tokenizer(vocabulary)
    warm = start(short, encoder, new_vocabulary, seed)
    origin = _origin(short, warm.counts)
    config = text_encoder_config(warm.model.encoder.config)
    config |= {"seed": seed, "initial_weights": origin}
    card, tokenizer = model_card(config, {}), warm.tokenizer
    save_bundle(output, model=warm.model, config=config, tokenizer=tokenizer, metrics={}, card=card)
    return ConvertedModel(output, origin)


def _warm_summarizer(
    folder: Path, output: Path, encoder: "EncoderConfig", vocabulary: Path | None
) -> ConvertedModel:
    from dna_bigbird.bundles.convert_run import task_settings
    from dna_bigbird.bundles.huggingface.converted_card import converted_card
    from dna_bigbird.bundles.huggingface.huggingface_reading import read_huggingface
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.core.errors import InputError, checked_settings
    from dna_bigbird.models.config import stored_encoder
    from dna_bigbird.text.text_warm_start_weights import warm_summarizer

    if vocabulary is not None:
        raise InputError(f"--vocabulary: the summarizer of {folder} keeps its own; leave it out")
    short = read_huggingface(folder)
    with checked_settings():
        model = warm_summarizer(cast("Summarizer", short.model), encoder)
    positions = short.config.encoder.max_tokens
    origin = (
        f"a summarizer of {positions} positions, those of the encoder tiled to {encoder.max_tokens}"
    )
    config = short.config.with_values(
        encoder=stored_encoder(model.encoder.config), head=model.head, initial_weights=origin
    )
    search = (short.search or {}) | {"max_source_tokens": encoder.max_tokens}
    config = config.with_values(**task_settings(config, search))
    card = converted_card(config)
    tokenizer = short.tokenizer
    save_bundle(output, model=model, config=config, tokenizer=tokenizer, metrics={}, card=card)
    return ConvertedModel(output, origin)


def _origin(short: "ShortEncoder", counts: dict[str, int]) -> str:
    head = "its head for masked tokens" if short.has_mlm else "a fresh head for masked tokens"
    positions = short.model.encoder.config.max_tokens
    rows = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"a {short.model_type} folder of {positions} positions, tiled, with {head}; vocabulary: {rows}"
