"""Checks the sections of a run's config with the settings classes of the commands that get them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from dna_bigbird.core.choices import check_argument
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import with_options
from dna_bigbird.core.yaml_files import KeyPath, read_yaml
from dna_bigbird.workflow.config.config_files import ConfigFiles, plain_path
from dna_bigbird.workflow.config.run_checks import HEADS, TASKS

Layers = list[tuple[KeyPath, Mapping]]
"""A section and changes of it, each with its path; later ones win."""
Check = tuple[Layers, Callable[[], object]]
"""Where the settings are, and what raises ValueError or InputError if they contradict each other."""


def check_settings(run: Mapping, files: ConfigFiles) -> None:
    """Build the settings of every command from a config that fits its schema."""
    for layers, check in _checks(run):
        try:
            check()
        except (ValueError, InputError) as error:
            text = str(error)
            raise files.error(_path_of(text, layers), with_options(text, ())) from None


def _checks(run: Mapping) -> Iterator[Check]:
    if "assembly" in run:
        yield from _splits(_top(run, "splits"))
        if "pretrained" not in run:
            yield from _corpus(run)
            for variant in ("", *run.get("experiments", {}).get("variants", {})):
                yield from _pretraining(run, variant)
        yield from _heads(run)
    if "bench" in run:
        yield from _bench(run["bench"])
    if "text" in run:
        yield from _text(run["text"])
    if "characters" in run:
        yield from _characters(run["characters"])


def _corpus(run: Mapping) -> Iterator[Check]:
    from dna_bigbird.corpus.draw_documents import draw_documents
    from dna_bigbird.corpus.train_tokenizer import train_tokenizer

    yield from _typed(draw_documents, documents=_top(run, "documents"))
    yield from _typed(train_tokenizer, tokenizer=_top(run, "tokenizer"))


def _pretraining(run: Mapping, variant: str) -> Iterator[Check]:
    from dna_bigbird.evaluation.language_baselines import LanguageBaselines
    from dna_bigbird.training.objective_config import objective_of
    from dna_bigbird.training.pretrain import pretrain

    def layers_of(name: str) -> Layers:
        changes = run["experiments"]["variants"][variant] if variant else {}
        return _top(run, name) + _top(changes, name, ("experiments", "variants", variant))

    model, objective = layers_of("model"), layers_of("objective")
    cpc = _below(objective, "cpc")
    yield from _typed(
        pretrain,
        model=model,
        masking=layers_of("masking"),
        training=layers_of("pretraining"),
        cpc=cpc,
    )
    types, values = get_type_hints(pretrain), _merged(objective)
    has_sites = "sites" in values
    yield (
        model + objective + cpc,
        lambda: objective_of(
            built(types["model"], _merged(model)),
            built(types["cpc"], _merged(cpc)),
            values.get("nsp_weight"),
            values.get("repeat_weight", 1.0),
            values.get("sites_share", 0.3) if has_sites else 0.0,
        ),
    )
    evaluation = layers_of("evaluation")
    yield evaluation, lambda: _own(LanguageBaselines, _merged(evaluation))


def _heads(run: Mapping) -> Iterator[Check]:
    variants = run.get("experiments", {}).get("heads", {})
    for task in HEADS:
        if task in run:
            yield from _head(run, task, _top(run, task), {})
    for name, variant in variants.items():
        (task,) = (task for task in TASKS if task in variant)
        path = ("experiments", "heads")
        owner = variants.get(variant.get("set"), {})
        layers = _top(run, task) + _top(owner, task, (*path, variant.get("set", "")))
        yield from _head(run, task, layers + _top(variant, task, (*path, name)), variant, name)


def _head(
    run: Mapping, task: str, section: Layers, variant: Mapping, name: str = ""
) -> Iterator[Check]:
    """Yield the checks of a promoter or chromatin model, or of a variant of one."""
    from dna_bigbird.baselines.baseline import baseline
    from dna_bigbird.baselines.recipe_search import check_search
    from dna_bigbird.training.finetune import check_trained_part, finetune

    splits = _below(section, "splits")[-1:]  # replaced whole
    yield from _splits(splits)
    yield from _labelled_set(run, task, section, splits or _top(run, "splits"))
    trained = {key: _below(section, key) for key in ("training", "head", "words", "lora")}
    yield from _typed(finetune, **trained)
    counted = ("kmer", "gkm", "cnnprom", "deepromoter", "deepsea")
    training = _below(section, "baseline_training")
    yield from _typed(baseline, training=training, **{x: _below(section, x) for x in counted})
    types, values = get_type_hints(finetune, include_extras=True), _merged(section)
    lora = built(types["lora"], _merged(trained["lora"]))
    yield section + trained["lora"], partial(check_trained_part, values.get("freeze"), lora)
    yield section, partial(check_argument, "dropout", values.get("dropout"), types["dropout"])
    for searched, layers in (("search", trained["training"]), ("baseline_search", training)):
        settings = built(types["training"], _merged(layers))
        count = values.get(searched, 0)
        yield section, partial(check_argument, "search", count, types["search"])
        yield section + layers, partial(check_search, count, settings)
    yield from _changed_encoder(run, variant, name, trained["head"])


def _changed_encoder(run: Mapping, variant: Mapping, name: str, head: Layers) -> Iterator[Check]:
    """Yield the check of the encoder that a model starts from, as far as the config tells it."""
    from dna_bigbird.models.config import EncoderConfig, check_head
    from dna_bigbird.models.encoder_changes import SMALL, EncoderChanges
    from dna_bigbird.training.label_config import LabelHeadConfig

    own = _top(variant, "model", ("experiments", "heads", name))
    started = run.get("experiments", {}).get("variants", {}).get(variant.get("pretrained"), {})
    known = "pretrained" not in run or "tokenizer" in variant

    def check() -> None:
        changes = built(EncoderChanges, _merged(own))
        if known:
            model = {**run.get("model", {}), **started.get("model", {})}
            is_small = "tokenizer" in variant
            encoder = changes.applied_to(SMALL if is_small else built(EncoderConfig, model))
            check_head(built(LabelHeadConfig, _merged(head)), encoder)

    yield head + own, check


def _labelled_set(run: Mapping, task: str, section: Layers, splits: Layers) -> Iterator[Check]:
    values = _merged(section)
    if task == "promoter":
        from dna_bigbird.labelled.promoter.config import PromoterConfig
        from dna_bigbird.labelled.splits import SplitConfig

        split = SplitConfig(**_merged(splits))
        yield section, lambda: _own(PromoterConfig, values).check_split(split)
    elif task == "tracks":
        from dna_bigbird.labelled.tracks.config import TrackConfig

        yield section, lambda: _own(TrackConfig, values)
    elif "deepsea" not in run["inputs"]:
        from dna_bigbird.labelled.chromatin.config import ChromatinConfig

        yield section, lambda: _own(ChromatinConfig, values)


def _splits(splits: Layers) -> Iterator[Check]:
    from dna_bigbird.labelled.splits import SplitConfig

    yield splits, lambda: SplitConfig(**_merged(splits))


def _bench(suites: Mapping) -> Iterator[Check]:
    from dna_bigbird.bench.bench import bench

    for name, suite in suites.items():
        keys = ("head", "training")
        yield from _typed(bench, **{key: _top(suite, key, ("bench", name)) for key in keys})


def _characters(section: Mapping) -> Iterator[Check]:
    from dna_bigbird.training.train_characters import train_characters

    own, training = (_top(section, key, ("characters",)) for key in ("model", "training"))
    for name in section["models"]:
        changes = _top(section["models"], name, ("characters", "models"))
        yield from _typed(train_characters, model=own + changes, training=training)


def _text(text: Mapping) -> Iterator[Check]:
    from dna_bigbird.text.text_pretrain import pretrain

    def section(name: str) -> Layers:
        return _top(text, name, ("text",))

    keys = ("model", "masking", "cpc")
    training = section("pretraining")
    yield from _typed(pretrain, training=training, **{key: section(key) for key in keys})
    patterns = text.get("table1", {}).get("patterns", {})
    for name in patterns:
        pattern = _top(patterns, name, ("text", "table1", "patterns"))
        yield from _typed(pretrain, model=section("model") + pattern)
    for name, sizes in text.get("table10", {}).items():
        for size, changes in sizes.items():
            row = {key: _top(changes, key, ("text", "table10", name, size)) for key in changes}
            own = {key: row.get(key, section(key)) for key in keys}
            yield from _typed(pretrain, training=row.get("pretraining", training), **own)
    for name in text["tasks"]:
        layers = _top(text["tasks"], name, ("text", "tasks"))
        yield from _text_task(name, section("training"), layers)
        for variant, changes in text.get("variants", {}).items():
            if name in changes.get("tasks", [name]):
                changed = _top(text["variants"], variant, ("text", "variants"))
                yield from _text_task(name, section("training"), layers + changed)


def _text_task(name: str, training: Layers, task: Layers) -> Iterator[Check]:
    """Yield the checks of the training of one set; its files of settings come first."""
    from dna_bigbird.bundles.text_tasks import sets
    from dna_bigbird.models.train_config import TrainConfig
    from dna_bigbird.text.set_options import task_settings

    if name not in sets():
        return  # the rules say so
    description, _ = sets()[name]
    recipes: Layers = []
    for path, part in task:
        for recipe in map(Path, map(plain_path, part.get("recipe", []))):
            yield [((*path, "recipe"), {})], partial(read_yaml, recipe)
            recipes.append((path, read_yaml(recipe).values()))

    def layers_of(key: str) -> Layers:
        return _below(recipes, key) + (training if key == "training" else []) + _below(task, key)

    values = {key: _merged(layers_of(key)) for key in ("training", "options", "head")}
    yield layers_of("training"), lambda: built(TrainConfig, values["training"])
    if values["options"]:
        options = values["options"]
        yield layers_of("options"), lambda: task_settings(options, description.options, "options")
    if values["head"]:
        head = values["head"]
        yield layers_of("head"), lambda: task_settings(head, description.head_type(), "head")


def _typed(command: Callable, **sections: Layers) -> Iterator[Check]:
    """Yield the check of each section that a command gets as one of its settings classes."""
    types = get_type_hints(command)
    for name, layers in sections.items():
        yield layers, partial(built, types[name], _merged(layers))


def built(settings: type, values: Mapping) -> Any:
    """Return settings with the values of a section; nested sections become settings too."""
    hints = get_type_hints(settings)
    return settings(
        **{
            name: built(hints[name], value)
            if isinstance(value, Mapping) and is_dataclass(hints[name])
            else value
            for name, value in values.items()
        }
    )


def _own(settings: type, values: Mapping) -> Any:
    """Return settings with those values of a section that are theirs."""
    names = {field.name for field in fields(settings)}
    return settings(**{name: value for name, value in values.items() if name in names})


def _top(section: Mapping, name: str, path: KeyPath = ()) -> Layers:
    return _below([(path, section)], name)


def _below(layers: Layers, name: str) -> Layers:
    return [((*path, name), part[name]) for path, part in layers if name in part]


def _merged(layers: Layers) -> dict:
    return {name: value for _, part in layers for name, value in part.items()}


def _path_of(text: str, layers: Layers) -> KeyPath:
    """Return the path of the first setting of a message in the last layer that has one, else of the section."""
    for path, part in reversed(layers):
        for name in re.findall(r"(?:--|^)(?:\w+\.)*(\w+)", text):
            if name in part:
                return (*path, name)
            for key, inner in part.items():
                if isinstance(inner, Mapping) and name in inner:
                    return (*path, key, name)
    return layers[-1][0]
