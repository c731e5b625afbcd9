"""Renders the templates: they hold markup and sentences, Python passes data.

Everything that a template prints is escaped. A name that a template does not know is an error.
"""

import base64
import functools
import hashlib
import html
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dna_bigbird.metrics.baseline_names import ngram_title, window_baseline
from dna_bigbird.metrics.names import metric_name, source_name
from dna_bigbird.metrics.scores import Score, is_number, shown

FOLDER = Path(__file__).parents[2] / "report" / "templates"


class Script(str):
    """Content of a script element, which templates do not escape: own code, igv.js, or JSON without `<`."""

    def __html__(self) -> str:
        return str(self)

    @property
    def digest(self) -> str:
        """The SHA-256 as a policy (Content-Security-Policy) names it."""
        digest = hashlib.sha256(self.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@functools.cache
def environment() -> Environment:
    """Return the one environment of all pages."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals["report_script"] = read_script("report.js")
    templates.filters |= {"shown": shown, "exact": repr}
    templates.filters |= {"ngram_title": ngram_title, "window_baseline": window_baseline}
    templates.filters |= {"metric_name": metric_name, "source_name": source_name}
    templates.tests |= {"finite": is_number, "score": lambda value: isinstance(value, Score)}
    return templates


def read_script(name: str) -> Script:
    """Return JavaScript from the folder of templates."""
    return Script((FOLDER / name).read_text(encoding="utf-8"))


def render(template: str, **data: object) -> str:
    """Return a page as HTML text."""
    return environment().get_template(template).render(**data)


def sentence(name: str, *data: object, **named: object) -> str:
    """Return a sentence as plain text, for Markdown files and messages.

    Args:
        name: Template and macro, such as `sentences.verdict`.
        data, named: Arguments of the macro.

    Example:
        >>> from dna_bigbird.metrics.scores import Score
        >>> sentence("sentences.against_chance", Score(0.6, 0.52, 0.7))
        "The model's 95 % interval is above 0.5, the score of guessing."
    """
    template, macro = name.split(".")
    module = environment().get_template(f"{template}.html").module
    return " ".join(html.unescape(str(getattr(module, macro)(*data, **named))).split())
