"""Renders the templates: they hold markup and sentences, Python passes data.

Everything that a template prints is escaped. A name that a template does not know is an error.
"""

import base64
import functools
import hashlib
import html
import re
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import marks_text, save
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.metrics.names import metric_name, ngram_title, source_name, window_baseline
from dna_bigbird.metrics.scores import Score, is_number, score_text, shown

MOST_SVG_BYTES = 300_000
"""A larger drawing is shown as pixels, to keep the page small."""
SEMI_SYNTHETIC_TAG = "semi-synthetic demo: planted truth"


@dataclass(frozen=True)
class Picture:
    """A picture that a template shows."""

    address: str
    """The whole picture as `data:image/…`."""
    is_wide: bool
    """It keeps a least width and is scrolled sideways on a phone."""
    marks: str = ""
    """Values that are shown at the pointer: see `marks_text`."""


@dataclass
class Gallery:
    """The pictures of one report; `tag` is written in a corner of each, if it is not empty."""

    tag: str = ""
    figures: dict[str, Figure] = field(default_factory=dict)

    def add(self, name: str, figure: Figure, *, is_wide: bool = False) -> Picture:
        """Keep a figure and return its picture; `name` becomes its file name."""
        self.figures[name] = figure
        data, image_type = save(figure, "svg"), "svg+xml"
        if len(data) > MOST_SVG_BYTES:
            data, image_type = save(figure, "png"), "png"
        encoded = base64.b64encode(data).decode("ascii")
        return Picture(f"data:image/{image_type};base64,{encoded}", is_wide, marks_text(figure))

    def save_all(self, folder: Path) -> None:
        """Write every picture as `<name>.png`."""
        for name, figure in self.figures.items():
            with atomic_path(Path(folder) / f"{name}.png") as path:
                path.write_bytes(save(figure, "png", dpi=200))


FOLDER = Path(__file__).parents[1] / "report" / "templates"


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
    templates.globals |= {"report_script": read_script("report.js"), "score_text": score_text}
    templates.filters |= {"shown": shown, "exact": repr}
    templates.filters |= {"ngram_title": ngram_title, "window_baseline": window_baseline}
    templates.filters |= {"titled": lambda key, titles: titles[key]}
    templates.filters |= {"metric_name": metric_name, "source_name": source_name}
    templates.tests |= {"finite": is_number, "score": lambda value: isinstance(value, Score)}
    return templates


def read_script(name: str) -> Script:
    """Return JavaScript from the folder of templates."""
    return Script((FOLDER / name).read_text(encoding="utf-8"))


_TERM = re.compile(r'<dt id="term-([\w-]+)">.*?</dd>\n', flags=re.DOTALL)


def render(template: str, **data: object) -> str:
    """Return a page as HTML text; its glossary has the terms that the page links."""
    page = environment().get_template(template).render(**data)
    return _TERM.sub(lambda term: term[0] if f'href="#term-{term[1]}"' in page else "", page)


def sentence(name: str, *data: object, **named: object) -> str:
    """Return a sentence (template.macro) as plain text, for Markdown files and messages.

    Example:
        >>> from dna_bigbird.metrics.scores import Score
        >>> sentence("sentences.against_chance", Score(0.6, 0.52, 0.7))
        "The model's 95 % interval is above 0.5, the score of guessing."
    """
    template, macro = name.split(".")
    module = environment().get_template(f"{template}.html").module
    return " ".join(html.unescape(str(getattr(module, macro)(*data, **named))).split())
