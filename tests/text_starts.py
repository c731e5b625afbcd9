"""Small pretrained text models of every kind that the recipes of config/text may start from."""

from pathlib import Path

import yaml

from dna_bigbird.cli.main import main
from tests.interop.pegasus_models import library_pegasus, save
from tests.text_vocabulary import WORDS, tiny_text_tokenizer

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "config/text"
STARTS = ("base", "large", "workflow", "library", "warm", "full", "chain", "pegasus")
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SMALL = {
    "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16, "max_tokens": 256,
    "block_size": 8,
}  # fmt: skip
TRAINING = (
    "--training.max_steps 1 --training.validate_every 1 --training.batch_size 1 "
    "--training.accumulate 1 --training.devices 1 --training.warmup_steps 0 "
    "--training.validation_examples 2 --training.precision 32-true --training.measure_speed false "
    "--threads 1"
)


def write_starts(folder: Path) -> None:
    """Write a bundle of every kind into `folder`, which holds `made`, made text.

    base, large: `text pretrain` with the recipes of config/text. workflow: with the model of
    config/text.yaml. library: a converted BigBird of the Hugging Face library. warm, full: `text
    warm-start` from a RoBERTa, block-sparse or with full attention. chain: the paper's own, warm
    pretrained with the recipe. pegasus: a converted BigBird-Pegasus.
    """
    vocabulary = folder / "spiece.model"
    vocabulary.write_bytes(tiny_text_tokenizer().model_bytes)
    model = yaml.safe_load((ROOT / "config/text.yaml").read_text())["text"]["model"]
    of_workflow = " ".join(f"--model.{name} {value}" for name, value in model.items())
    sizes = " ".join(f"--model.{field} {value}" for field, value in SMALL.items())
    fresh = f"{sizes} --tokenizer {vocabulary}"
    _pretrain("base", f"--config {RECIPES}/pretrain-base.yaml {fresh}")
    _pretrain("large", f"--config {RECIPES}/pretrain-large.yaml {fresh}")
    _pretrain("workflow", f"{of_workflow} {fresh}")
    _write_library_models(folder)
    main(["convert", "--from-huggingface", "hf-bigbird", "--to", "library"])
    main(["convert", "--from-huggingface", "hf-pegasus", "--to", "pegasus"])
    for name, attention in (("warm", "bigbird"), ("full", "full")):
        main(
            f"text warm-start --from_huggingface hf-roberta --vocabulary {vocabulary} --max_tokens 256 "
            f"--block_size 8 --attention {attention} --output {name}".split()
        )
    _pretrain("chain", f"--config {RECIPES}/pretrain-base.yaml --initial warm")


def _pretrain(name: str, options: str) -> None:
    main(
        f"text pretrain {options} --train made/corpus/train.jsonl --validation "
        f"made/corpus/validation.jsonl --output {name} --checkpoints runs/{name} {TRAINING}".split()
    )


def _write_library_models(folder: Path) -> None:
    import tokenizers
    import transformers

    transformers.logging.set_verbosity_error()
    sizes = {
        "vocab_size": tiny_text_tokenizer().vocab_size,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    bigbird = transformers.BigBirdConfig(block_size=8, max_position_embeddings=256, **sizes)
    save(transformers.BigBirdForMaskedLM(bigbird), folder / "hf-bigbird")
    pegasus = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "block_size": 8}
    save(library_pegasus(max_position_embeddings=256, **pegasus), folder / "hf-pegasus")
    pieces = tokenizers.ByteLevelBPETokenizer()
    pieces.train_from_iterator(WORDS, vocab_size=300, special_tokens=ROBERTA_SPECIAL)
    roberta = transformers.RobertaConfig(
        **sizes | {"vocab_size": pieces.get_vocab_size()},
        max_position_embeddings=66, type_vocab_size=1, pad_token_id=1,
    )  # fmt: skip
    transformers.RobertaForMaskedLM(roberta).save_pretrained(folder / "hf-roberta")
    pieces.save(str(folder / "hf-roberta/tokenizer.json"))
