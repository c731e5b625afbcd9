"""BigBird for genomes: tokenizer, pretraining, promoter and chromatin models, predictions.

    from dna_bigbird import predict, embed, score_variants, mutagenesis, load_bundle
    from dna_bigbird import pretrain, finetune, evaluate, text

Each function has the name and options of its command. Nothing is imported before it is used: torch
takes seconds.
"""

import importlib

__version__ = "0.1.0"

_MODULES = {
    "embed": "dna_bigbird.inference",
    "evaluate": "dna_bigbird.pipeline.evaluate",
    "finetune": "dna_bigbird.pipeline.finetune",
    "load_bundle": "dna_bigbird.inference",
    "mutagenesis": "dna_bigbird.inference",
    "predict": "dna_bigbird.inference",
    "pretrain": "dna_bigbird.pipeline.pretrain",
    "score_variants": "dna_bigbird.inference",
    "text": "dna_bigbird.pipeline.text",
}
"""Public name: its module. `text` is a module itself."""

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    return module if name == "text" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
