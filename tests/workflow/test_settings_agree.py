"""A value of a setting is accepted by the command line, the Python class and the workflow's config, or by none."""

import contextlib
import copy
import io
import random
import typing
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

import pytest

from dna_bigbird.cli.commands import REQUIRED, find_command
from dna_bigbird.cli.parser import build_parser, options_of
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.core.choices import alternatives, choices_of
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import range_of
from dna_bigbird.workflow.config.config_files import ConfigFiles
from dna_bigbird.workflow.config.run_config import check_config

DRAWS = 2
"""Values per setting; test_every_value has all of them."""


@dataclass(frozen=True)
class Place:
    """Where settings are on the command line and in a config."""

    command: str
    group: str
    """Of the options; empty for options of the command itself."""
    path: tuple[str, ...]
    """Of the section of the config."""
    also: dict | None = None
    """Other settings of the command that the values need, in the section `model` of the config."""

    def __str__(self) -> str:
        return f"{self.command} {self.group}"


ETC = {"attention": "etc", "max_tokens": 65536}
PLACES = [
    Place("documents", "documents", ("documents",)),
    Place("train-tokenizer", "tokenizer", ("tokenizer",)),
    Place("pretrain", "model", ("model",)),
    Place("pretrain", "model.etc", ("model", "etc"), ETC),
    Place("pretrain", "model.longformer", ("model", "longformer"), {"attention": "longformer"}),
    Place("pretrain", "model.performer", ("model", "performer"), {"attention": "performer"}),
    Place("pretrain", "masking", ("masking",)),
    Place("pretrain", "training", ("pretraining",)),
    Place("pretrain", "cpc", ("objective", "cpc"), ETC),
    Place("chromatin-set", "", ("chromatin",)),
    Place("promoter-set", "", ("promoter",)),
    Place("finetune", "training", ("promoter", "training")),
    Place("finetune", "head", ("chromatin", "head"), ETC),
    Place("finetune", "words", ("chromatin", "words")),
    Place("finetune", "lora", ("chromatin", "lora")),
    Place("finetune", "model", ("experiments", "heads", "other", "model")),
    Place("baseline", "kmer", ("promoter", "kmer")),
    Place("baseline", "gkm", ("promoter", "gkm")),
    Place("baseline", "cnnprom", ("promoter", "cnnprom")),
    Place("baseline", "deepromoter", ("promoter", "deepromoter")),
    Place("baseline", "deepsea", ("chromatin", "deepsea")),
    Place("baseline", "training", ("chromatin", "baseline_training")),
]
RUN = {
    "name": "mine",
    "assembly": "hg19",
    "inputs": {"demo": {}},
    "splits": {"validation": ["chr22:1-10"], "test": ["chr22:11-20"]},
    "pretraining": {"max_steps": 1000},
    "promoter": {},
    "chromatin": {},
    "experiments": {"heads": {"other": {"promoter": {}}}},
}


@cache
def command_of(name: str) -> tuple:
    parser, function = build_parser(name)
    options = options_of(function)
    values = {each.name: str(number) for number, each in enumerate(options)}
    given = [
        each.name
        for each in options
        if (find_command(name).defaults.get(each.parameter, each.default)) is REQUIRED
    ]
    words = [
        f"--{each}={values[each]}" for each in given if not is_dataclass(hint_of(each, function))
    ]
    return parser, words


def hint_of(name: str, function: object) -> object:
    return typing.get_type_hints(function).get(name)


def settings_class(place: Place) -> type:
    """Return the class of the settings, as the command declares it; for options of a command, that of its set."""
    function = command_of(place.command)[0].function
    if not place.group:
        from dna_bigbird.labelled.chromatin.config import ChromatinConfig
        from dna_bigbird.labelled.promoter.config import PromoterConfig

        return {"chromatin-set": ChromatinConfig, "promoter-set": PromoterConfig}[place.command]
    hints: object = function
    for name in place.group.split("."):
        hints = typing.get_type_hints(hints)[name]
    return hints


def values_of(hint: object) -> list:
    """Return the ends of a type, one beyond each, choices and one that is none, and wrong types."""
    if choices := choices_of(hint):
        return [*choices, "none_such", 7]
    plain = [each for each in alternatives(hint) if each is not type(None)]
    if plain == [bool]:
        return [True, False, "perhaps", 2]
    if plain not in ([int], [float]):
        return []
    allowed, step = range_of(hint), 1 if plain == [int] else 0.001
    values = [-1, 0, 1, 2, 3, 1000, "many", [1]]
    values += [0.5, 1.5]
    for end in vars(allowed).values() if allowed else ():
        values += [end - step, end, end + step] if end is not None else []
    return values


def accepted(check: typing.Callable[[], object]) -> bool:
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            check()
    except (ValueError, InputError):
        return False
    except SystemExit as stop:
        return stop.code != 2
    return True


def by_python(place: Place, name: str, value: object) -> bool:
    settings = settings_class(place)
    return accepted(lambda: settings(**{name: value}))


def by_command_line(place: Place, name: str, value: object) -> bool:
    parser, words = command_of(place.command)
    prefix = f"{place.group}." if place.group else ""
    model = place.also if place.command == "pretrain" else None
    others = [f"--model.{key}={text}" for key, text in (model or {}).items()]
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    line = [*words, *others, f"--{prefix}{name}={shown}"]

    def check() -> None:
        arguments = read_arguments(parser, line)
        if not place.group:  # as the decorator of the function
            names = {field.name for field in fields(settings_class(place))}
            settings_class(place)(**{key: arguments[key] for key in names})

    return accepted(check)


def by_config(place: Place, name: str, value: object) -> bool:
    run = copy.deepcopy(RUN)
    if place.also:
        run["model"] = dict(place.also)
    section = run
    for key in place.path:
        section = section.setdefault(key, {})
    section[name] = value
    files = ConfigFiles([], run)

    def check() -> None:
        check_config(run, files)

    return accepted(check)


def settings() -> list[tuple[Place, str, object]]:
    return [
        (place, field.name, hint)
        for place in PLACES
        for hints in [typing.get_type_hints(settings_class(place), include_extras=True)]
        for field in fields(settings_class(place))
        for hint in [hints[field.name]]
        if (place.command, field.name) not in LEFT_OUT and values_of(hint)
    ]


LEFT_OUT = {("pretrain", "vocab_size"), ("pretrain", "rows")}
"""The vocabulary is the tokenizer's; identity of the rows of the Performer needs another number of features."""


def disagreements(values: typing.Callable[[list], list]) -> list[str]:
    found = []
    for place, name, hint in settings():
        for value in values(values_of(hint)):
            verdicts = [by(place, name, value) for by in (by_python, by_command_line, by_config)]
            if (place.command, place.group) == ("finetune", "model"):
                verdicts[2] |= verdicts[
                    0
                ]  # the config knows the encoder that is changed, and has rules for both
            if len(set(verdicts)) > 1:
                found.append(
                    f"{place}.{name} {value!r}: {dict(zip(('python', 'command', 'config'), verdicts, strict=True))}"
                )
    return found


def test_drawn_values_have_one_verdict():
    rng = random.Random(0)
    assert disagreements(lambda values: rng.sample(values, min(DRAWS, len(values)))) == []


@pytest.mark.slow
def test_every_value_has_one_verdict():
    assert disagreements(lambda values: values) == []
