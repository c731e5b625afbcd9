# What the config says about promoter and chromatin models: those of the run, and its variants in
# `experiments: heads`. Both go through the same rules; wildcard `head` is promoter, chromatin or
# heads/VARIANT. There is no rule here.

SET_KEYS = {
    "promoter": [
        "upstream",
        "downstream",
        "negatives",
        "training_negatives",
        "unread",
        "max_n_fraction",
        "near_identical",
    ],
    "chromatin": ["window", "bin", "require_group", "background", "max_n_fraction"]
    + ["min_positive", "allow_empty_labels", "near_identical"],
}
NETWORKS = ["cnnprom", "deepromoter", "deepsea"]


def merged(section, changes):
    """A section with changes, nested sections key by key; splits are replaced whole."""
    result = dict(section)
    for key, value in changes.items():
        nested = isinstance(value, dict) and key != "splits"
        result[key] = {**section.get(key, {}), **value} if nested else value
    return result


def head_named(name):
    """The wildcard of a variant, or of the run's own model."""
    return name if name in TASKS else f"heads/{name}"


def sites_named(names, path):
    """The files of start sites that a variant names; a word of `inputs` is the file made of it."""
    own = {
        "promoters": SITES,
        "promoter_sequences": SEQUENCE_SITES if SEQUENCES else [],
    }
    for name in names:
        if not own.get(name, True):
            refuse(path, f"inputs has no {name}")
    return [own.get(name) or source(name) for name in names]


def read_variant(name):
    """The settings of one variant, checked as far as names go.

    With `set` it starts from the settings of that one, else from the section of the run.
    """
    variant, path = HEAD_VARIANTS[name], ("experiments", "heads", name)
    (task,) = [task for task in ("promoter", "chromatin") if task in variant]
    owner = variant.get("set")
    if owner is None:
        base = config.get(task, {})
    elif owner == task and owner in TASKS:
        base = config[owner]
    else:
        base = HEAD_VARIANTS.get(owner, {}).get(task)
        if base is None or "set" in HEAD_VARIANTS[owner]:
            refuse(
                (*path, "set"),
                f"{owner} is neither the run's section nor a variant of the same task with a set of "
                "its own",
            )
        base = merged(config.get(task, {}), base)
    changed = [key for key in variant[task] if key in [*SET_KEYS[task], "splits"]]
    if owner and (changed or "sites" in variant):
        refuse(
            (*path, "set"),
            f"`set: {owner}` takes the set of another one, and `{[*changed, 'sites'][0]}` would "
            "change it",
        )
    if variant.get("pretrained", "") not in ["", *VARIANTS]:
        refuse(
            (*path, "pretrained"),
            f"{variant['pretrained']!r} is not among the variants of pretraining "
            f"({', '.join(VARIANTS) or 'none'})",
        )
    others = [key for key in ("pretrained", "from_scratch") if key in variant]
    if "tokenizer" in variant and others:
        refuse(
            (*path, "tokenizer"),
            f"a fresh encoder on this vocabulary does not go with `{others[0]}`; keep one of the two",
        )
    sites = variant.get("sites", SITES)
    if "sites" in variant:
        names = [sites] if isinstance(sites, str) else sites
        sites = sites_named(names, (*path, "sites"))
    if not (sites if task == "promoter" else PEAKS or BUNDLE):
        refuse(path, f"no source of {task} labels in inputs")
    section = merged(base, variant[task])
    if "seeds" in variant and section.get("ensemble", 1) > 1:
        refuse(
            (*path, "seeds"),
            "members of an ensemble have seeds of their own; keep `seeds` or `ensemble`",
        )
    return {**variant, "task": task, "section": section, "sites": sites}


HEADS = {
    task: {"task": task, "section": config[task], "sites": SITES} for task in TASKS
} | {head_named(name): read_variant(name) for name in HEAD_VARIANTS}


def seeds_of(head):
    """The seeds of the trainings of a variant; [] if there is one training with the run's seed."""
    seeds = HEADS[head].get("seeds", [])
    if isinstance(seeds, list):
        return seeds
    return list(range(config["seed"], config["seed"] + seeds))


# Each training of a variant with seeds is a model like any other, on the variant's set.
for seeded in [head for head in HEADS if seeds_of(head)]:
    entry = HEADS[seeded]
    owner = entry.get("set", seeded.removeprefix("heads/"))
    for number in seeds_of(seeded):
        HEADS[f"{seeded}/seed{number}"] = {
            **{key: value for key, value in entry.items() if key != "seeds"},
            "seed": number,
            "set": owner,
            "scored_seed": entry.get("seed", config["seed"]),
        }


def section_of(head):
    """The section of the config of a model, with a variant's changes."""
    return HEADS[head]["section"]


def set_of(head):
    """Whose labelled set and baselines a model has."""
    return head_named(HEADS[head]["set"]) if "set" in HEADS[head] else head


def heads_with(task):
    """Models with a labelled set of their own, as a pattern for a wildcard."""
    heads = [
        h for h, entry in HEADS.items() if entry["task"] == task and set_of(h) == h
    ]
    return "|".join(map(re.escape, heads)) or "(?!)"


def members_of(head):
    """The trainings of a model: itself, or the members of an ensemble."""
    count = section_of(head).get("ensemble", 1)
    return [f"{head}-{i}" for i in range(count)] if count > 1 else [head]


def head_of(member):
    """The model that a training is for."""
    return member.rpartition("-")[0] or member


MEMBERS = "|".join(re.escape(m) for head in HEADS for m in members_of(head)) or "(?!)"
ENSEMBLES = "|".join(re.escape(h) for h in HEADS if members_of(h) != [h]) or "(?!)"


def head_seed(wildcards):
    """The seed of a set, a baseline or a training; each member of an ensemble has its own."""
    name = getattr(wildcards, "member", None) or wildcards.head
    member = int(name.rpartition("-")[2]) if head_of(name) != name else 0
    return HEADS[head_of(name)].get("seed", config["seed"]) + member


def training_section(wildcards):
    """The settings of the training that a job does."""
    if getattr(wildcards, "variant", None):
        return variant_section(wildcards.variant, "pretraining")
    if getattr(wildcards, "member", None):
        return section_of(head_of(wildcards.member)).get("training", {})
    if getattr(wildcards, "head", None):
        return section_of(wildcards.head).get("baseline_training", {})
    return section("pretraining")


def set_options(wildcards):
    """The options of a command that builds a labelled set."""
    section = section_of(wildcards.head)
    return options(section, keys=SET_KEYS[HEADS[wildcards.head]["task"]])


def split_options(wildcards):
    """How a labelled set is split, as options."""
    return options(section_of(wildcards.head).get("splits", config["splits"]), "split")


def bundle_options(wildcards):
    """The options of the command that reads the published bundle, which brings its own splits."""
    return options(
        section_of(wildcards.head), keys=["window", "check_every", "max_n_fraction"]
    )


def files_of_sites(head):
    """The files of start sites of a model."""
    sites = HEADS[head]["sites"]
    return [sites] if isinstance(sites, str) else sites


def sites_option(files):
    """The files of start sites as an option: a path, or a list of several."""
    files = [str(path) for path in files]
    return option("sites", files[0] if len(files) == 1 else files)


def sites_format(wildcards):
    """The format of the start sites as an option; lifted ones are always BED."""
    if CHAIN and SITES in files_of_sites(wildcards.head):
        return ""
    section = section_of(wildcards.head)
    return option("site_format", section["format"]) if "format" in section else ""


def member_options(key, group):
    """Return the params function for settings of a training."""
    return lambda wildcards: options(
        section_of(head_of(wildcards.member)).get(key, {}), group
    )


def avoided(wildcards):
    """Files of further start sites that genomic negatives keep away from."""
    own = files_of_sites(wildcards.head)
    return [path for path in [SITES, AVOID] if path and path not in own]


def word_options(wildcards):
    """The settings of a baseline of counts: k-mers, GC content or gapped words."""
    searched = search_options(wildcards) if wildcards.baseline == "kmer" else ""
    group = "gkm" if wildcards.baseline == "gkm" else "kmer"
    return f"{options(section_of(wildcards.head).get(group, {}), group)} {searched}"


def search_options(wildcards):
    """How many recipes of a baseline are tried, as an option."""
    count = section_of(wildcards.head).get("baseline_search", 0)
    return option("search", count) if count else ""


def strand_options(wildcards):
    """The strands on which a model and its baseline networks are scored, as an option."""
    return options(section_of(wildcards.head), keys=["strand"])


def network_options(wildcards):
    """The settings of a baseline network, of its training and of its scoring."""
    section, baseline = section_of(wildcards.head), wildcards.baseline
    training = options(section.get("baseline_training", {}), "training")
    return f"{options(section.get(baseline, {}), baseline)} {training} {strand_options(wildcards)} {search_options(wildcards)}"


def pretrained_of(wildcards):
    """The pretrained model that a training starts from; of a variant with seeds the first one.

    A fresh encoder on single bases needs none.
    """
    if "tokenizer" in HEADS[head_of(wildcards.member)]:
        return []
    variant = HEADS[head_of(wildcards.member)].get("pretrained")
    if not variant:
        return ENCODER
    return f"{RES}/experiments/runs/{trainings_of(variant)[0]}/trained"


def start_options(wildcards, input):
    """What a training starts from, and with which settings of the encoder, as options."""
    variant = HEADS[head_of(wildcards.member)]
    start = {"pretrained": input.pretrained} if input.pretrained else {}
    keys = [key for key in ("from_scratch", "tokenizer") if variant.get(key)]
    start |= {key: variant[key] for key in keys}
    return f"{options(start)} {options(variant.get('model', {}), 'model')}"


def scored_seed(wildcards):
    """The seed of the bootstrap of a model; the same for all seeds of a variant."""
    entry = HEADS[wildcards.head]
    return entry.get("scored_seed", entry.get("seed", config["seed"]))


def network_seed(wildcards):
    """The seed of a baseline network: that of a variant's training, or of its set."""
    return int(wildcards.seed.rpartition("seed")[2] or head_seed(wildcards))


def baselines_of(head):
    """The files of a model's baselines by name; a network has the seed of a variant's training."""
    baselines = section_of(head).get("baselines", ["kmer"])
    folder = f"{RES}/baselines/{set_of(head)}"
    files = {name: f"{folder}/{name}.h5" for name in baselines}
    if "scored_seed" in HEADS[head]:
        seed = HEADS[head]["seed"]
        for name in set(NETWORKS).intersection(baselines):
            files[name] = f"{folder}/{name}/seed{seed}.h5"
    return files


def trainings_of_head(head):
    """A model, or those of all seeds of a variant."""
    return [f"{head}/seed{seed}" for seed in seeds_of(head)] or [head]


def seed_baselines(head):
    """The files of all baselines of a variant with seeds, as NAME=FILE; each file once."""
    pairs = [
        f"{name}={path}"
        for each in trainings_of_head(head)
        for name, path in baselines_of(each).items()
    ]
    return list(dict.fromkeys(pairs))


def seed_files(wildcards):
    """The results that the mean of a variant with seeds is made of."""
    pairs = seed_baselines(wildcards.head)
    return {
        "data": f"{RES}/{set_of(wildcards.head)}/set.h5",
        "reports": [f"{RES}/evaluation/{x}" for x in trainings_of_head(wildcards.head)],
        "baselines": [pair.partition("=")[2] for pair in pairs],
    }


def compared_files(wildcards):
    """The results that a comparison of models reads."""
    heads = [head_named(name) for name in EXPERIMENTS[wildcards.table]]
    trained = [x for head in heads for x in trainings_of_head(head)]
    joined = [head for head in heads if seeds_of(head)]
    return [
        *(f"{RES}/{part}/{x}" for part in ("models", "evaluation") for x in trained),
        *(f"{RES}/evaluation/{head}/seeds.json" for head in joined),
    ]


def leakage_of(head):
    """The report on leakage that must be empty before a model is scored.

    Where near-identical sequences are kept on purpose there is none.
    """
    default = {"promoter": "drop", "chromatin": "keep"}[HEADS[head]["task"]]
    kept = section_of(set_of(head)).get("near_identical", default) == "keep"
    return [] if kept else f"{RES}/{set_of(head)}/leakage.tsv"


def compared_runs(wildcards):
    """The models of a comparison and their labelled sets as options."""
    heads = [head_named(name) for name in EXPERIMENTS[wildcards.table]]
    sets = [f"{RES}/{set_of(head)}/set.h5" for head in heads]
    labels = EXPERIMENTS.get("context_labels") if wildcards.table == "context" else None
    return (
        f"{option('results', RES)} {option('runs', heads)} {option('data', sets)}"
        f" {option('labels', labels) if labels else ''}"
    )
