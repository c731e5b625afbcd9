"""Arguments with a fixed set of values are checked for Python callers as for the command line."""

import dataclasses
import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest

import dna_bigbird
from dna_bigbird.core.choices import (
    ChoiceError,
    check_argument,
    check_fields,
    checked,
    choices_of,
)
from dna_bigbird.core.errors import InputError, command_line
from dna_bigbird.core.paths import InputPath, InputText
from dna_bigbird.core.settings import Range

NO_CHOICE = "no such choice"


def modules() -> list[str]:
    """Every module but those of the command line, whose parser checks choices itself."""
    names = (m.name for m in pkgutil.walk_packages(dna_bigbird.__path__, "dna_bigbird."))
    return [name for name in names if not name.startswith(("dna_bigbird.cli", "dna_bigbird.__"))]


def callables():
    """Every public function, method and class that a module defines: (label, object)."""
    for name in modules():
        for key, value in vars(importlib.import_module(name)).items():
            if key.startswith("_") or getattr(value, "__module__", None) != name:
                continue
            if inspect.isfunction(value):
                yield f"{name}.{key}", value
            elif inspect.isclass(value):
                yield f"{name}.{key}", value
                for method, function in vars(value).items():
                    is_own = getattr(function, "__module__", None) == name
                    if inspect.isfunction(function) and is_own and not method.startswith("_"):
                        yield f"{name}.{key}.{method}", function


def literal_parameters():
    """Every parameter or field that lists its values: (label, callable, name)."""
    for label, value in callables():
        if dataclasses.is_dataclass(value):
            hints = {field.name: field.type for field in dataclasses.fields(value)}
        elif inspect.isclass(value):
            hints = inspect.get_annotations(value.__init__) if "__init__" in vars(value) else {}
        else:
            hints = inspect.get_annotations(value)
        for name, hint in hints.items():
            if name != "return" and choices_of(hint):
                yield f"{label}:{name}", value, name


def refusal(target, name: str) -> str:
    """Return how a value that is no choice is refused; the other arguments are missing."""
    arguments = {name: NO_CHOICE}
    if dataclasses.is_dataclass(target):
        required = [f.name for f in dataclasses.fields(target) if f.default is f.default_factory]
        arguments = dict.fromkeys(required) | arguments
    try:
        target(**arguments)
    except (InputError, ValueError) as error:
        return str(error)
    except TypeError as error:
        return f"not refused: {error}"
    return "not refused"


def test_every_listed_value_is_checked():
    found = {label: refusal(target, name) for label, target, name in literal_parameters()}
    assert {
        "dna_bigbird.prediction.predict.predict:strand",
        "dna_bigbird.prediction.compute.Compute:precision",
        "dna_bigbird.prediction.predictor.Predictor:strand",
        "dna_bigbird.models.config.EncoderConfig:attention",
    } <= set(found)
    del found["dna_bigbird.bundles.character_model.CharacterDescription:source"]  # as it is read
    unchecked = {label: said for label, said in found.items() if repr(NO_CHOICE) not in said}
    assert unchecked == {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("minus", r"strand='minus': expected 'both' or 'forward'$"),
        ("Forward", r"strand='Forward': .*; did you mean 'forward'\?$"),
        (None, r"strand=None: "),
        (1, r"strand=1: "),
        (np.zeros(2), r"strand=array"),
        ("x" * 500, r"strand='x{56}\.\.\.: "),
    ],
)
def test_a_value_that_is_no_choice(value, message):
    with pytest.raises(ChoiceError, match=message):
        check_argument("strand", value, Literal["both", "forward"])


@pytest.mark.parametrize(
    ("hint", "value"),
    [(Literal["both"] | None, None), (Literal["both"], np.str_("both")), (bool, np.True_)],
)
def test_what_fits_is_given_back(hint, value):
    assert check_argument("x", value, hint) is value


def test_whole_numbers_become_int():
    assert type(check_argument("stride", np.int32(7), int | None)) is int
    for value, message in [
        (100.0, "stride=100.0: expected a whole number; write 100"),
        (1.5, "stride=1.5: expected a whole number$"),
        (True, "stride=True: expected a whole number$"),
        ("7", "stride='7': expected a whole number$"),
    ]:
        with pytest.raises(ChoiceError, match=message):
            check_argument("stride", value, int | None)


def test_a_switch_is_not_a_word():
    with pytest.raises(ChoiceError, match="resume='no': expected True or False"):
        check_argument("resume", "no", bool)


@dataclass(frozen=True)
class Settings:
    mode: Literal["fast", "exact"] = "fast"
    count: int = 0

    def __post_init__(self) -> None:
        check_fields(self)


@checked(rest=Settings)
def work(path: str, stride: int | None = None, **settings) -> tuple:
    if stride == 0:
        raise InputError("--stride 0 and --mode. See: dna-bigbird work --stride")
    return path, stride, Settings(**settings)


def test_arguments_go_on_as_they_were_given():
    assert work("a", stride=np.int64(3), mode="exact") == ("a", 3, Settings("exact"))
    assert work.__name__ == "work"
    assert "settings" in inspect.signature(work).parameters


@checked()
def copy(
    source: InputPath,
    others: list[InputPath] | InputPath | None = None,
    tables: dict[str, InputPath] | None = None,
    name: InputText = "-",
    **settings: Annotated[object, Settings],
) -> tuple:
    """A function that is called with text for paths."""
    return source, others, tables, name, settings


def test_text_becomes_a_path_where_the_type_is_one():
    assert copy("a", ["b", Path("c")], {"d": "e"}, "f") == (
        Path("a"),
        [Path("b"), Path("c")],
        {"d": Path("e")},
        "f",
        {},
    )
    assert copy("a", "b")[1] == Path("b")
    assert copy(Path("a"))[:2] == (Path("a"), None)


def test_the_type_of_the_keywords_says_what_checks_them():
    assert copy("a", mode="exact")[-1] == {"mode": "exact"}
    with pytest.raises(ChoiceError, match=r"mode='exactly': .* did you mean 'exact'"):
        copy("a", mode="exactly")
    with pytest.raises(TypeError, match=r"copy\(\) .* 'counts'; did you mean 'count'\?"):
        copy("a", counts=1)


def test_settings_are_checked_before_the_function_starts():
    with pytest.raises(ChoiceError, match=r"mode='exactly': .* did you mean 'exact'"):
        work("a", 0, mode="exactly")


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Range(1)]
    rate: float = 0.5


@dataclass(frozen=True)
class Outer:
    inner: Inner = Inner(2)
    mode: Literal["exact", "fast"] = "fast"


@checked()
def run(settings: Outer | None = None) -> Outer | None:
    return settings


def test_a_mapping_stands_for_settings():
    made = run(settings={"inner": {"size": np.int64(3)}, "mode": "exact"})
    assert made == Outer(Inner(3), "exact")
    assert run(settings={}) == Outer()
    assert run(settings=made) is made
    assert run() is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mod": "exact"}, "settings .*'mod'.*'mode'"),
        ({"mode": "exactly"}, r"settings\.mode"),
        ({"inner": {}}, r"settings\.inner .*'size'"),
        ({"inner": {"size": 0}}, r"settings\.inner\.size"),
        ({"inner": {"size": 1, "rate": "x"}}, r"settings\.inner\.rate"),
    ],
)
def test_a_wrong_mapping_is_refused_by_the_name_of_the_setting(settings, message):
    with pytest.raises(ChoiceError, match=message):
        run(settings=settings)


def test_a_misspelt_keyword_names_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"work\(\) .* 'strid'; did you mean 'stride'\?"):
        work("a", strid=1)
    with pytest.raises(TypeError, match=r"work\(\) .* 'counts'; did you mean 'count'\?"):
        work("a", counts=1)
    with pytest.raises(TypeError, match=r"work\(\) missing 1 required positional argument: 'path'"):
        work()


def test_messages_name_arguments_in_python_and_options_on_the_command_line():
    with pytest.raises(InputError) as caught:
        work("a", 0)
    assert str(caught.value) == "stride 0 and mode. See: dna-bigbird work --stride"
    with command_line({"stride"}), pytest.raises(InputError, match=r"^--stride 0 and mode"):
        work("a", 0)
