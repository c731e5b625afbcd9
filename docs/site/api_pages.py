"""Pages of the Python functions: signatures, docstrings and the options that commands share."""

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator

from prose import escaped, prose

import dna_bigbird
from dna_bigbird import text
from dna_bigbird.cli.commands import REQUIRED
from dna_bigbird.cli.parser import Option, field_texts, options_of, sections_of
from dna_bigbird.core import errors
from dna_bigbird.core.shared_options import doc_of
from dna_bigbird.prediction.loaded_model import LoadedModel

USING = (
    "load", "predict", "embed", "score_variants", "mutagenesis", "attribute", "load_bundle",
)  # fmt: skip
ERRORS = ("InputError", "OutputError", "MissingExtraError", "Interrupted")


def type_name(hint: object) -> str:
    """Return a type as a reader writes it: without modules, and without the role of a path."""
    if isinstance(hint, str):  # of a package that only type checkers import
        return hint
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return type_name(parts[0])
    if origin is typing.Literal:
        return " | ".join(map(repr, parts))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(type_name, parts)))
    if parts:
        return f"{type_name(origin)}[{', '.join(map(type_name, parts))}]"
    if hint is type(None):
        return "None"
    return getattr(hint, "__name__", None) or str(hint).rpartition(".")[2]


def _indented(text: str) -> str:
    return re.sub(r"\n\s*", "\n  ", text.strip())


def value_text(value: object) -> str:
    """Return a default; that of a settings class without its fields, which have their own page."""
    return f"{type(value).__name__}()" if dataclasses.is_dataclass(value) else repr(value)


def parameter(option: Option) -> str:
    """Return the field of one parameter."""
    default = "" if option.default is REQUIRED else f", default `{value_text(option.default)}`"
    about = f"`{type_name(option.hint)}`{default}. {escaped(option.help)}"
    return f":param {option.parameter}: {_indented(about)}"


@dataclasses.dataclass
class Shown:
    """A default as the signature shows it."""

    text: str

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def of(cls, value: object) -> object:
        return value if value is inspect.Parameter.empty else cls(value_text(value))


def signature(function: Callable) -> str:
    """Return names and defaults; types are in the list of parameters."""
    own = inspect.signature(function)
    bare = [
        each.replace(annotation=inspect.Parameter.empty, default=Shown.of(each.default))
        for each in own.parameters.values()
        if each.name != "self"
    ]
    return str(own.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _raised(body: str) -> Iterator[str]:
    for name, about in re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", body, flags=re.MULTILINE):
        yield f":raises {name}: {_indented(escaped(about))}"


def returned(function: Callable) -> str:
    hint = typing.get_type_hints(function, include_extras=True).get("return", type(None))
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return " or ".join(f"`{type_name(part)}`" for part in parts)


def function_text(name: str, function: Callable, module: str) -> str:
    """Return the description of a function as a directive."""
    sections = sections_of(function.__doc__)
    fields = [parameter(option) for option in options_of(function)]
    about = _indented(escaped(inspect.cleandoc(sections.get("Returns", ""))))
    fields.append(f":returns: {returned(function)}. {about}".rstrip())
    fields += _raised(sections.get("Raises", ""))
    examples = inspect.cleandoc(sections.get("Example", ""))
    block = f"\n```python\n{examples}\n```\n" if examples else ""
    command = inspect.cleandoc(sections.get("Examples", ""))
    block += f"\nOn the command line:\n\n```sh\n{command}\n```\n" if command else ""
    fields_text = "\n".join(fields)
    return (
        f"## {name}\n\n`````{{py:function}} {module}.{name}{signature(function)}\n\n"
        f"{prose(sections[''])}\n\n{fields_text}\n{block}`````\n"
    )


def result_classes() -> dict[str, type]:
    """Return the classes that the functions return, by name."""
    classes = {}
    for function in public().values():
        hint = typing.get_type_hints(function).get("return")
        for each in typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,):
            if dataclasses.is_dataclass(each):
                classes[each.__name__] = each
    return dict(sorted(classes.items()))


def settings_classes() -> dict[str, type]:
    """Return the classes of settings that the functions take, by name."""
    functions = [*public().values(), *public(text).values()]
    hints = [option.hint for function in functions for option in options_of(function)]
    classes = {hint.__name__: hint for hint in hints if dataclasses.is_dataclass(hint)}
    return dict(sorted(classes.items()))


def attributes(cls: type) -> Iterator[str]:
    """Yield the fields of a dataclass, with the text below each."""
    about = field_texts(cls)
    for each in dataclasses.fields(cls):
        if not each.name.startswith("_"):
            body = escaped(about.get(each.name) or doc_of(each.type) or "")
            is_set = each.default is not dataclasses.MISSING
            default = f", default `{value_text(each.default)}`" if is_set else ""
            shown = f"`{type_name(each.type)}`{default}"
            yield f"````{{py:attribute}} {each.name}\n{shown}. {body}\n````\n"


def methods(cls: type) -> Iterator[str]:
    for name, value in vars(cls).items():
        if name.startswith("_") or not callable(value) or not value.__doc__:
            continue
        about = escaped(sections_of(value.__doc__)[""])
        shown = "(...)" if name in public() else signature(value)
        yield f"````{{py:method}} {name}{shown}\n{about}\n````\n"


def class_text(cls: type) -> str:
    """Return the description of a class with its fields and methods."""
    about = prose(sections_of(cls.__doc__)[""])
    parts = list(attributes(cls)) if dataclasses.is_dataclass(cls) else []
    parts += [] if cls in settings_classes().values() else methods(cls)
    body = "\n".join(parts)
    return f"## {cls.__name__}\n\n`````{{py:class}} {cls.__name__}\n\n{about}\n\n{body}`````\n"


def public(module: types.ModuleType = dna_bigbird) -> dict[str, Callable]:
    """Return the functions that a user imports, by name."""
    names = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in names.items() if inspect.isroutine(value)}


def api_pages() -> dict[str, str]:
    """Return the first page of the API, and its pages."""
    functions = public()
    others = [name for name in functions if name not in USING]
    parts = {
        "using": ("Use a model", {name: functions[name] for name in USING}, "dna_bigbird"),
        "training": ("Data, training, scores", {n: functions[n] for n in others}, "dna_bigbird"),
        "text": ("Text", public(text), "dna_bigbird.text"),
    }
    pages, lists = {}, []
    for page, (title, listed, module) in parts.items():
        each = "\n".join(function_text(name, value, module) for name, value in listed.items())
        pages[f"api/{page}.md"] = f"# {title}\n\n```{{py:currentmodule}} {module}\n```\n\n{each}"
        rows = "\n".join(
            f"| [`{name}`](api/{page}.md#{name}) | {summary(value)} |"
            for name, value in listed.items()
        )
        lists.append(
            f"## {title}\n\n`from {module} import …`\n\n| function | does |\n|---|---|\n{rows}\n"
        )
    classes = [LoadedModel, *result_classes().values(), *(getattr(errors, n) for n in ERRORS)]
    pages["api/results.md"] = "# Results and errors\n\n" + "\n".join(map(class_text, classes))
    pages["api/settings.md"] = (
        "# Settings\n\nA command has an option per field: `--training.max_steps 100` is "
        "`training=LabelTrainConfig(max_steps=100)`.\n\n"
        + "\n".join(map(class_text, settings_classes().values()))
    )
    tree = "\n".join(page.removesuffix(".md") for page in pages)
    index = (
        "# Functions in Python\n\nEvery function has the name and the options of its command. Examples are in "
        "[Python and notebooks](python.md). What the functions return and raise: [results and errors](api/results.md). Classes of settings: [settings](api/settings.md)."
        "\n\n" + "\n".join(lists) + f"\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
    return {"api.md": index} | pages


def summary(function: Callable) -> str:
    """Return the first sentence of a docstring."""
    return escaped(sections_of(function.__doc__)[""].partition("\n\n")[0]).replace("\n", " ")
