"""BigBird for genomes: tokenizer, pretraining, promoter and chromatin models, predictions.

    from dna_bigbird import load, predict, embed, score_variants, mutagenesis, attribute, load_bundle
    from dna_bigbird import sequence_set, finetune, baseline, evaluate
    from dna_bigbird import demo_data, promoter_set, chromatin_set
    from dna_bigbird import pretrain, text

Each command is a function with its name and options. Three have another name: `prepare_genome` is
`dna-bigbird genome`, `draw_documents` is `documents`, `write_report` is `report`. Those of the groups `bench` and
`theory` begin with the group, and `bench_suite` runs any suite. Nothing is imported before it is used: torch
takes seconds.
"""

from dna_bigbird.core.lazy_names import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InputError": "dna_bigbird.core.errors",
        "attribute": "dna_bigbird.prediction.attribute",
        "baseline": "dna_bigbird.baselines.baseline",
        "bench_leakage": "dna_bigbird.bench.bench_leakage",
        "bench_list": "dna_bigbird.bench.bench_list",
        "bench_page": "dna_bigbird.bench.bench_page",
        "bench_suite": "dna_bigbird.bench.bench:bench",
        "chromatin_set": "dna_bigbird.labelled.chromatin.chromatin_set",
        "clear_lock": "dna_bigbird.workflow.clear_lock",
        "compare_attention": "dna_bigbird.evaluation.compare_attention",
        "compare_heads": "dna_bigbird.evaluation.compare_heads",
        "compare_lm": "dna_bigbird.evaluation.compare_lm",
        "compare_seeds": "dna_bigbird.evaluation.compare_seeds",
        "completion": "dna_bigbird.cli.completion",
        "convert": "dna_bigbird.bundles.convert",
        "deepsea_set": "dna_bigbird.labelled.deepsea.deepsea_set",
        "demo_data": "dna_bigbird.demo.demo_data",
        "design": "dna_bigbird.prediction.design",
        "doctor": "dna_bigbird.workflow.doctor",
        "draw_documents": "dna_bigbird.corpus.draw_documents",
        "embed": "dna_bigbird.prediction.embed",
        "ensemble": "dna_bigbird.bundles.ensemble",
        "evaluate": "dna_bigbird.evaluation.evaluate",
        "evaluate_characters": "dna_bigbird.evaluation.evaluate_characters",
        "evaluate_lm": "dna_bigbird.evaluation.evaluate_lm",
        "fetch": "dna_bigbird.genome.fetch",
        "finetune": "dna_bigbird.training.finetune",
        "info": "dna_bigbird.bundles.info",
        "init": "dna_bigbird.workflow.init",
        "leakage": "dna_bigbird.labelled.leakage",
        "lift_over": "dna_bigbird.genome.lift_over",
        "load": "dna_bigbird.prediction.loaded_model",
        "load_bundle": "dna_bigbird.bundles.bundle",
        "marginalise": "dna_bigbird.prediction.marginalise",
        "models_add": "dna_bigbird.bundles.models",
        "models_list": "dna_bigbird.bundles.models",
        "models_remove": "dna_bigbird.bundles.models",
        "motifs": "dna_bigbird.prediction.motifs",
        "mutagenesis": "dna_bigbird.prediction.mutagenesis",
        "plan": "dna_bigbird.workflow.plan",
        "plot_attention": "dna_bigbird.report.plot_attention",
        "predict": "dna_bigbird.prediction.predict",
        "prepare_genome": "dna_bigbird.genome.genome:genome",
        "pretrain": "dna_bigbird.training.pretrain",
        "promoter_sequences": "dna_bigbird.labelled.promoter.promoter_sequences",
        "promoter_set": "dna_bigbird.labelled.promoter.promoter_set",
        "rank_variants": "dna_bigbird.evaluation.rank_variants",
        "score_variants": "dna_bigbird.prediction.score_variants",
        "sequence_set": "dna_bigbird.labelled.sequences.sequence_set",
        "text": "dna_bigbird.text:",
        "theory_furthest": "dna_bigbird.theory.theory_furthest:furthest",
        "theory_graph": "dna_bigbird.theory.theory_graph:graph",
        "theory_mapping": "dna_bigbird.theory.theory_mapping:mapping",
        "theory_turing": "dna_bigbird.theory.theory_turing:turing",
        "token_statistics": "dna_bigbird.corpus.token_statistics",
        "tokenize": "dna_bigbird.corpus.tokenize",
        "track_set": "dna_bigbird.labelled.tracks.track_set",
        "train_characters": "dna_bigbird.training.train_characters",
        "train_tokenizer": "dna_bigbird.corpus.train_tokenizer",
        "view": "dna_bigbird.report.view",
        "write_report": "dna_bigbird.report.report:report",
    },
)
__all__ += ["__version__"]
