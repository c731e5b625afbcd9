"""The commands of `dna-bigbird`: the Python function of each, and where its options differ."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

REQUIRED = inspect.Parameter.empty
"""Default of an option that must be given."""


@dataclass(frozen=True)
class Command:
    """One command. Its options are the parameters of a function, its help is the docstring."""

    function: str
    """Module and name: `package.module:name`. The module imports nothing slow at its top."""
    about: str
    """One line in the list of commands."""
    positional: tuple[str, ...] = ()
    """Arguments without an option name: `dna-bigbird info BUNDLE`."""
    python_only: tuple[str, ...] = ()
    """Parameters that are not options."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Arguments that the command line passes for them."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Defaults of options where they differ from the function's."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Old names of options -> new ones. The old ones are accepted but not shown."""
    second_names: Mapping[str, str] = field(default_factory=dict)
    """Other names of options -> their names. Both are shown and stay."""
    function_for: str = ""
    """Module and name of a function that returns the function to call, if the options depend on an
    argument."""
    usual: tuple[str, ...] = ()
    """Options that `--help` shows, in this order, where it does not show all; at most 20."""


def _command(module: str, about: str, **rest: object) -> Command:
    return Command(f"{module}:{module.rpartition('.')[2]}", about, **rest)


def _text(name: str, about: str, **rest: object) -> Command:
    return Command(f"dna_bigbird.text:{name}", about, **rest)


_WITH_PROGRESS: Mapping = {"python_only": ("progress",), "values": {"progress": True}}
"""A command shows progress wherever it can; a function has an argument for it."""
_OF_FILES: Mapping = {**_WITH_PROGRESS, "python_only": ("sequences", "progress")}
"""In Python they also read sequences."""

_GENOME = {"genome": "fasta"}
"""`--fasta` is a genome if windows or variants are positions in it."""

_STEPS = ("training.max_steps", "training.batch_size", "training.learning_rate")
_MACHINE = ("training.devices", "threads")
_ENCODER = ("model.num_layers", "model.hidden_size", "model.max_tokens", "model.attention")

COMMANDS = {
    "init": _command("dna_bigbird.workflow.init", "write a folder in which the workflow runs with the installed package", positional=("folder",)),
    "demo-data": _command("dna_bigbird.demo.demo_data", "write the semi-synthetic demo: real hg19 background, planted truth"),
    "fetch": _command("dna_bigbird.genome.fetch", "download one input named in data_specs/, or take a local copy, and verify it"),
    "genome": _command("dna_bigbird.genome.genome", "check and join FASTA files into one indexed reference"),
    "documents": _command("dna_bigbird.corpus.draw_documents", "draw documents from a genome as coordinates"),
    "train-tokenizer": _command("dna_bigbird.corpus.train_tokenizer", "learn a DNA BPE vocabulary from documents"),
    "tokenize": _command("dna_bigbird.corpus.tokenize", "turn documents into a token store"),
    "token-statistics": _command(
        "dna_bigbird.corpus.token_statistics",
        "measure base pairs per token, per chromosome and repeat class",
        aliases={"documents": "max_documents"},
    ),
    "pretrain": _command(
        "dna_bigbird.training.pretrain",
        "pretrain BigBird with masked tokens and next-sentence prediction",
        usual=(
            "train", "validation", "tokenizer", "initial", "output", "checkpoints", *_ENCODER,
            *_STEPS, *_MACHINE[:1], "seed", "dry_run",
        ),
        **_WITH_PROGRESS,
    ),
    "train-characters": _command(
        "dna_bigbird.training.train_characters",
        "train Longformer's character model on text or single bases, in phases",
        usual=(
            "input", "source", "output", "checkpoints", "split.validation", "split.test", "model.hidden_size", "model.num_heads",
            "model.dropout", *_STEPS[1:], "training.precision", "seed", "threads",
        ),
    ),
    "evaluate-characters": _command("dna_bigbird.evaluation.evaluate_characters", "score a character model by overlapping windows, next to counts", **_WITH_PROGRESS),
    "evaluate-lm": _command("dna_bigbird.evaluation.evaluate_lm", "score a pretrained model on held-out documents, next to n-gram baselines", **_WITH_PROGRESS),
    "compare-lm": _command("dna_bigbird.evaluation.compare_lm", "compare pretrained models, as the paper's tables do"),
    "lift-over": _command(
        "dna_bigbird.genome.lift_over",
        "move start sites to another assembly with a chain file",
        aliases={"format": "site_format"},
    ),
    "promoter-sequences": _command(
        "dna_bigbird.labelled.promoter.promoter_sequences",
        "make small chromosomes of promoters that come without coordinates",
        aliases={"fasta": "output", "sites": "output_sites"},
    ),
    "promoter-set": _command(
        "dna_bigbird.labelled.promoter.promoter_set",
        "build promoters and negatives with their splits",
        usual=(
            "genome", "assembly", "sites", "site_format", "output", "upstream", "downstream", "negatives", "split.validation",
            "split.test", "split.folds", "split.fold", "avoid", "near_identical", "pieces", "seed",
        ),
        aliases={"format": "site_format"},
    ),
    "chromatin-set": _command(
        "dna_bigbird.labelled.chromatin.chromatin_set",
        "build 200-bp bins with one label per peak file",
        usual=(
            "genome", "assembly", "peaks", "output", "split.validation", "split.test", "split.folds", "split.fold", "window", "bin",
            "background", "min_positive", "require_group", "blacklist", "pieces", "seed",
        ),
    ),
    "track-set": _command("dna_bigbird.labelled.tracks.track_set", "build windows with a value per bin from bigWig or bedGraph files"),
    "deepsea-set": _command(
        "dna_bigbird.labelled.deepsea.deepsea_set",
        "build windows of any length from the published DeepSEA bundle",
        aliases={"coordinates": "row_coordinates", "labels": "label_names"},
    ),
    "sequence-set": _command(
        "dna_bigbird.labelled.sequences.sequence_set",
        "make a labelled set of sequences and labels in tables, FASTA or BED files",
        usual=(
            "input", "validation", "test", "output", "sequence_column", "label_columns", "type", "positive", "group_column",
            "genome", "assembly", "validation_fraction", "test_fraction", "split.folds", "split.fold", "split.validation",
            "split.test", "missing", "seed",
        ),
    ),
    "leakage": _command(
        "dna_bigbird.labelled.leakage",
        "list bases and near-identical sequences that the splits of a set share",
        defaults={"data": REQUIRED, "output": REQUIRED},
    ),
    "baseline": _command(
        "dna_bigbird.baselines.baseline",
        "fit a baseline (k-mer counts, GC or a published network) on a labelled set",
        aliases={"kind": "method"},
        usual=(
            "data", "genome", "output", "method", "strand", "search", "kmer.max_k", "kmer.strands", "gkm.word_length",
            "gkm.informative", "checkpoints", *_STEPS, "seed", "threads",
        ),
        defaults={"data": REQUIRED, "output": REQUIRED},
        **_WITH_PROGRESS,
    ),
    "finetune": _command(
        "dna_bigbird.training.finetune",
        "fine-tune a pretrained model on a labelled set",
        usual=(
            "data", "genome", "output", "scored", "pretrained", *_STEPS, "training.patience", "training.both_strands", "freeze",
            "dropout", "search", "seed", *_MACHINE,
        ),
        defaults={"data": REQUIRED, "output": REQUIRED},
        second_names={"kmers.max_k": "words.max_k", "kmers.centre_bp": "words.centre_bp", "training.linear_probe_init": "training.start_at_probe"},
        **_WITH_PROGRESS,
    ),
    "ensemble": _command("dna_bigbird.bundles.ensemble", "join independently trained models into one that gives their mean"),
    "evaluate": _command(
        "dna_bigbird.evaluation.evaluate",
        "score a fine-tuned model on the held-out rows, next to its baselines",
        defaults={"model": REQUIRED, "data": REQUIRED, "output": REQUIRED},
        **_WITH_PROGRESS,
    ),
    "compare-seeds": _command("dna_bigbird.evaluation.compare_seeds", "average the scores of trainings with several seeds, next to baselines"),
    "compare-heads": _command("dna_bigbird.evaluation.compare_heads", "compare promoter or chromatin models with each other and with published ones"),
    "predict": _command(
        "dna_bigbird.prediction.predict",
        "probabilities for every window of a FASTA file",
        **_OF_FILES,
        defaults={"fasta": REQUIRED, "output": "-"},
        aliases={"place": "span"},
        second_names=_GENOME,
        usual=(
            "fasta", "bed", "model", "output", "format", "labels", "window", "stride", "strand", "span", "coordinates", "raw",
            "assembly", "resume", "batch_size", "device", "threads", "workers",
        ),
    ),
    "embed": _command(
        "dna_bigbird.prediction.embed",
        "vectors (hidden states of a model) for every window of a FASTA file",
        **_OF_FILES,
        defaults={"fasta": REQUIRED, "output": REQUIRED},
        second_names=_GENOME,
    ),
    "score-variants": _command(
        "dna_bigbird.prediction.score_variants",
        "what each allele of a VCF file changes in a model's predictions",
        usual=(
            "vcf", "fasta", "model", "output", "format", "tsv", "score", "labels", "window", "strand", "sites", "ref_mismatch",
            "probabilities", "shifts", "resume", "batch_size", "device", "threads",
        ),
        **_WITH_PROGRESS,
        defaults={"output": "-"},
        second_names=_GENOME,
    ),
    "mutagenesis": _command(
        "dna_bigbird.prediction.mutagenesis",
        "the effect of every substitution in a region, as a matrix and a picture",
        **_WITH_PROGRESS,
        defaults={"output": "-"},
        second_names=_GENOME,
    ),
    "attribute": _command(
        "dna_bigbird.prediction.attribute",
        "what each base adds to a label: bigWig, a table, or HDF5 for motif discovery",
        **_OF_FILES,
        usual=(
            "fasta", "bed", "model", "output", "format", "labels", "method", "window", "stride", "strand", "coordinates", "assembly",
            "resume", "batch_size", "device", "threads",
        ),
        defaults={"fasta": REQUIRED, "output": "-"},
        second_names=_GENOME,
    ),
    "motifs": _command(
        "dna_bigbird.prediction.motifs", "search the files of attribute for motifs, and name them by known matrices", **_WITH_PROGRESS
    ),
    "marginalise": _command(
        "dna_bigbird.prediction.marginalise",
        "insert motifs into shuffled sequences: what they change by position, and by the distance of two",
        usual=(
            "fasta", "motif", "output", "model", "labels", "position", "step", "second", "distances", "database", "backgrounds",
            "window", "strand", "seed", "curves", "batch_size", "device", "threads", "workers",
        ),
        **_WITH_PROGRESS,
    ),
    "design": _command(
        "dna_bigbird.prediction.design",
        "substitute bases until a model predicts a label: sequences within limits, with every step",
        usual=(
            "label", "start", "random", "output", "model", "edits", "beam", "fixed", "unchanged", "tolerance", "min_gc", "max_gc",
            "forbidden", "kmers_of", "strand", "seed", "batch_size", "device", "threads",
        ),
        **_WITH_PROGRESS,
    ),
    "view": _command("dna_bigbird.report.view", "write a page with a genome browser: regions with their tracks, without a network"),
    "rank-variants": _command("dna_bigbird.evaluation.rank_variants", "whether variants with a known (planted) effect rank above neutral ones"),
    "info": _command(
        "dna_bigbird.bundles.info",
        "describe a model bundle, a token store or a labelled set",
        positional=("path",),
        defaults={"path": None},
    ),
    "plot-attention": _command(
        "dna_bigbird.report.plot_attention",
        "draw which blocks attend to which, as text or as a picture",
        aliases={
            "bundle": "model", "training": "in_training", "layer": "layers", "head": "heads",
        },
        usual=(
            "pattern", "model", "tokens", "num_blocks", "output", "layers", "heads", "in_training", "block_size", "window_blocks",
            "global_blocks", "num_random", "random_plan", "pattern_seed", "num_heads",
        ),
    ),
    "compare-attention": _command(
        "dna_bigbird.evaluation.compare_attention",
        "compare full attention, BigBird, BigBird-ETC, Longformer and Performer: what they read, cost and learn",
        **_WITH_PROGRESS,
    ),
    "convert": _command("dna_bigbird.bundles.convert", "read and write models of the Hugging Face library; lengthen a model's context"),
    "plan": _command("dna_bigbird.workflow.plan", "print what a run of the workflow would make: rows, expected minutes and memory"),
    "report": _command("dna_bigbird.report.report", "write the HTML report of a workflow run"),
    "clear-lock": _command("dna_bigbird.workflow.clear_lock", "remove a stale Snakemake lock after proof that its process is dead"),
    "completion": _command("dna_bigbird.cli.completion", "let bash, zsh or tcsh complete commands, options and files", positional=("shell",)),
    "doctor": _command("dna_bigbird.workflow.doctor", "report what works on this machine and what is slow; build the native CPU kernel"),
}  # fmt: skip
"""In the order in which the workflow runs them."""

TEXT = {
    "vocabulary": _text("vocabulary", "learn a SentencePiece vocabulary from text, laid out as BigBird's"),
    "pretrain": _text(
        "pretrain",
        "pretrain BigBird on text with whole-word masking",
        usual=(
            "train", "validation", "tokenizer", "initial", "output", "checkpoints", *_ENCODER, *_STEPS,
            *_MACHINE, "seed",
        ),
    ),
    "warm-start": _text("warm_start", "make a text model from a RoBERTa or BERT folder", aliases={"from": "from_huggingface"}),
    "train": _text(
        "train",
        "fine-tune on a text task: classes, questions, summaries",
        function_for="dna_bigbird.cli.parser:train_function",
        usual=(
            "task", "train", "validation", "pretrained", "output", "checkpoints", "training.max_steps",
            "training.learning_rate", "training.devices", "seed",
        ),
    ),
    "evaluate": _text("evaluate", "score a fine-tuned model with the official metric, next to trivial baselines"),
    "runs": _text("runs", "mean and standard deviation of the scores of several runs", aliases={"metrics": "scores"}),
    "predict": _text("predict", "write predictions in the official format of the set"),
    "documents": _text("documents", "turn any of the sets into plain documents, one JSON object per line"),
    "made-data": _text("made_data", "write small made-up sets in the native formats"),
    "tables": _text("tables", "compare measured scores with the paper's tables", aliases={"made": "synthetic"}),
    "compare-patterns": _text("compare_patterns", "compare attention patterns with Table 1 of the paper"),
}  # fmt: skip


def _suite(name: str, about: str) -> Command:
    needed = ("output",) if name in GENERATED else ("data", "output")
    return Command(
        "dna_bigbird.bench.bench:bench",
        about,
        python_only=("suite", "progress"),
        values={"suite": name, "progress": True},
        defaults=dict.fromkeys(needed, REQUIRED),
        usual=(
            "data",
            "output",
            "tasks",
            "model",
            "method",
            "genome",
            "chain",
            "pieces",
            "seeds",
            "head.pooling",
            *_STEPS,
            *_MACHINE,
            "page",
            "dry_run",
        ),
    )


GENERATED = ("long-range",)
"""Suites whose data are generated: without --data."""
SUITES = {
    "genomic-benchmarks": "eight sets of regulatory and coding DNA, and a small one for tests",
    "gue": "28 sets: promoters, transcription factors, splice sites, yeast marks, virus variants",
    "nt": "18 sets: yeast histone marks, enhancers, promoters, splice sites",
    "nt-revised": "18 sets: human histone marks, enhancers, promoters, splice sites; chr20 and chr21 for test",
    "bend": "windows of 512 bp: open chromatin, histone marks, CpG methylation",
    "traitgym": "causal regulatory variants of traits, ranked above matched controls",
    "bend-variants": "variants of expression and disease, ranked by how far the states of their base move",
    "dart-eval": "regulatory elements against their shuffled forms, and motifs in neutral sequence; rebuilt",
    "paper": "promoters with three types of negatives, and chromatin labels, of the project's own sets",
    "long-range": "semi-synthetic: the distance of a cluster of sites from a promoter, 0.5 to 16 kb",
    "tata-displacement": "real promoters whose TATA box is moved within them, and an equal change elsewhere",
}
"""Each suite is a command with the same options."""
BENCH = {
    "list": Command("dna_bigbird.bench.bench_list:bench_list", "list the suites: what they ask, where to get them"),
    "leakage": Command(
        "dna_bigbird.bench.bench_leakage:bench_leakage",
        "count the test rows that a suite's own training rows give away",
        positional=("suite",),
    ),
    "page": Command("dna_bigbird.bench.bench_page:bench_page", "join results into one table and page"),
    **{name: _suite(name, about) for name, about in SUITES.items()},
}  # fmt: skip


def _theory(name: str, about: str, **rest: object) -> Command:
    return Command(f"dna_bigbird.theory.theory_{name}:{name}", about, **rest)


THEORY = {
    "turing": _theory(
        "turing",
        "run a Turing machine with sparse attention, and compare it with a simulator",
        second_names={"input": "word"},
    ),
    "furthest": _theory("furthest", "the task that one full layer solves exactly, and sparse layers do not"),
    "mapping": _theory("mapping", "the contextual mapping of universal approximation, by enumeration"),
    "graph": _theory("graph", "paths, clustering and spectra of attention patterns, next to random graphs"),
}  # fmt: skip

MODELS = {
    "list": Command("dna_bigbird.bundles.models:models_list", "list the models that have a name: what they read, tokens, window, labels"),
    "add": Command("dna_bigbird.bundles.models:models_add", "give a copy of a bundle a name", positional=("alias", "original")),
    "remove": Command("dna_bigbird.bundles.models:models_remove", "remove a model that was added", positional=("alias",)),
}  # fmt: skip

GROUPS = {"models": MODELS, "text": TEXT, "bench": BENCH, "theory": THEORY}
"""Groups of commands: `dna-bigbird text evaluate`."""
ABOUT_GROUPS = {
    "models": "models by name: --model ctcf instead of a path",
    "text": "the same for text: pretraining, classes of documents, questions, summaries",
    "bench": "published benchmark suites, each with baselines and a leak-free score",
    "theory": "the proofs of the BigBird paper as programs: docs/explanation/theory.md",
}


SECTIONS = {
    "everyday: use a model, or train one on your labels": (
        "predict", "embed", "score-variants", "mutagenesis", "attribute", "view", "sequence-set", "finetune", "evaluate",
    ),
    "data: genomes and labelled sets": (
        "demo-data", "fetch", "genome", "lift-over", "promoter-sequences", "promoter-set",
        "chromatin-set", "track-set", "deepsea-set", "leakage",
    ),
    "pretraining: from a genome to a model that reads DNA": (
        "documents", "train-tokenizer", "tokenize", "token-statistics", "pretrain", "evaluate-lm",
        "train-characters", "evaluate-characters",
    ),
    "models: baselines, comparisons, formats": (
        "info", *(f"models {name}" for name in MODELS), "baseline", "ensemble", "compare-lm", "compare-heads", "compare-seeds",
        "rank-variants", "motifs", "marginalise", "design", "plot-attention", "compare-attention", "convert",
    ),
    "benchmarks: published suites (docs/reference/bench.md)": tuple(f"bench {name}" for name in BENCH),
    "text: the same model for documents": tuple(f"text {name}" for name in TEXT),
    "theory: the paper's proofs as programs (docs/explanation/theory.md)": tuple(f"theory {name}" for name in THEORY),
    "machine: workflow, shell, computer": ("init", "plan", "report", "clear-lock", "completion", "doctor"),
}  # fmt: skip
"""Headings of `dna-bigbird --help` -> commands below them; every command is in one section."""


def every_command() -> Iterator[str]:
    """Yield the name of every command, those of a group with its name: "text evaluate"."""
    yield from COMMANDS
    for group, members in GROUPS.items():
        for name in members:
            yield f"{group} {name}"


def find_command(name: str) -> Command:
    """Return the command of a name, such as "predict" or "text evaluate".

    Example:
        >>> find_command("text evaluate").function
        'dna_bigbird.text:evaluate'
    """
    group, _, member = name.rpartition(" ")
    return GROUPS[group][member] if group else COMMANDS[name]
