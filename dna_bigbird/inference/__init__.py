"""From FASTA and VCF to scores: the Python API, with the names and options of the command line.

    from dna_bigbird.inference import predict, embed, score_variants, mutagenesis, attribute, load_bundle

With `output=None` each returns its arrays; with `output` it writes a file and returns a short
summary. Nothing is imported before it is used: torch takes seconds.

| what | where |
|---|---|
| the functions and their options | predicting, embedding, mutating, attributing, variants/scoring |
| what they do, with torch | prediction_run, embedding_run, substitutions, attribution/, variants/run |
| DNA to windows | windows/: inputs, files, tiling |
| windows to probabilities or vectors | predictor, embedder; runner, engine |
| rows of an interrupted run, progress | spool, spool_file |
| files | writers/, variants/writers; mutating |
| what is returned | results |
"""

from dna_bigbird.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "attribute": "dna_bigbird.inference.attributing",
        "embed": "dna_bigbird.inference.embedding",
        "load_bundle": "dna_bigbird.bundles.bundle",
        "mutagenesis": "dna_bigbird.inference.mutating",
        "predict": "dna_bigbird.inference.predicting",
        "score_variants": "dna_bigbird.inference.variants.scoring",
    },
)
