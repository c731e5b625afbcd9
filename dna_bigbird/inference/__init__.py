"""From FASTA and VCF to scores: the Python API, with the names and options of the command line.

    from dna_bigbird.inference import predict, embed, score_variants, mutagenesis, load_bundle

With `output=None` each returns its arrays; with `output` it writes a file and returns a short
summary. Nothing is imported before it is used: torch takes seconds.

| what | where |
|---|---|
| the functions and their options | predicting, embedding, mutating, variants/scoring |
| what they do, with torch | prediction_run, embedding_run, substitutions, variants/run |
| DNA to windows | windows/: inputs, files, source |
| windows to probabilities or vectors | predictor, embedder; runner, engine |
| rows of an interrupted run, progress | spool, spool_file |
| files | writers/, variants/writers; mutating |
| what is returned | results |
"""

import importlib

# No module here may have the name of a function: importing it would hide the function.
_HOMES = {
    "embed": "dna_bigbird.inference.embedding",
    "load_bundle": "dna_bigbird.bundles.bundle",
    "mutagenesis": "dna_bigbird.inference.mutating",
    "predict": "dna_bigbird.inference.predicting",
    "score_variants": "dna_bigbird.inference.variants.scoring",
}

__all__ = [*_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
