"""Escaped HTML in small pieces: numbers, tables, figures, notes. Everything plain is escaped."""

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape

NOT_DEFINED = "not defined"


class Html(str):
    """Text that is markup already and is not escaped again."""


def as_html(value: object) -> Html:
    """Return `value` as markup; anything but `Html` is escaped, quotes too.

    Example:
        >>> as_html("H3K4me3 <& friends>")
        'H3K4me3 &lt;&amp; friends&gt;'
    """
    return value if isinstance(value, Html) else Html(escape(str(value), quote=True))


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number; NaN, None and truth values are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def shown(value: object, digits: int = 3) -> str:
    """Return a score as a reader sees it: fixed digits, whole numbers with commas.

    Example:
        >>> shown(0.91237), shown(1234567), shown(float("nan"))
        ('0.912', '1,234,567', 'not defined')
    """
    if not is_number(value):
        return NOT_DEFINED
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def number(value: object, digits: int = 3, why: str = "") -> Html:
    """Return a number with its unrounded value beside it for programs: `<data value=…>`.

    Args:
        why: Reason given in brackets if the value is not a number.
    """
    if not is_number(value):
        reason = f" ({why})" if why else ""
        return Html(f'<span class="undefined">{NOT_DEFINED}{escape(reason)}</span>')
    return Html(f'<data value="{value!r}">{shown(value, digits)}</data>')


def with_interval(value: object, low: object, high: object, digits: int = 3) -> Html:
    """Return `0.912 [0.880, 0.941]`, or the number alone where there is no interval."""
    if not (is_number(value) and is_number(low) and is_number(high)):
        return number(value, digits)
    interval = f"[{number(low, digits)}, {number(high, digits)}]"
    return Html(f'{number(value, digits)} <span class="interval">{interval}</span>')


def table(
    headers: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object,
    numeric: Iterable[int] = (),
    groups: bool = False,
) -> Html:
    """Return a table whose first column names the rows.

    Args:
        numeric: Columns that are set flush right.
        groups: A row of one cell is a heading across the whole table.
    """
    right = set(numeric)

    def cell(tag: str, column: int, value: object, scope: str = "") -> str:
        kind = ' class="n"' if column in right else ""
        return f"<{tag}{scope}{kind}>{as_html(value)}</{tag}>"

    head = "".join(cell("th", i, h, ' scope="col"') for i, h in enumerate(headers))
    body = []
    for row in rows:
        if groups and len(row) == 1:
            text = as_html(row[0])
            body.append(
                f'<tr class="group"><th scope="rowgroup" colspan="{len(headers)}">{text}</th></tr>'
            )
            continue
        first = cell("th", 0, row[0], ' scope="row"')
        body.append(f"<tr>{first}{''.join(cell('td', i, v) for i, v in enumerate(row) if i)}</tr>")
    joined = "\n".join(body)
    return Html(
        f'<div class="scroll" tabindex="0"><table><caption>{as_html(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{joined}\n</tbody></table></div>"
    )


def figure(data: bytes, kind: str, *, alt: str, caption: object, wide: bool = False) -> Html:
    """Return a picture as a data address.

    Args:
        kind: "svg+xml" or "png".
        alt: What the picture says, for those who do not see it.
        wide: The picture keeps a least width and is scrolled sideways on a phone.
    """
    address = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    size = "wide" if wide else "panel"
    return Html(
        f'<figure class="{size}"><div class="scroll" tabindex="0"><img src="{address}" '
        f'alt="{escape(alt, quote=True)}"></div><figcaption>{as_html(caption)}</figcaption></figure>'
    )


def paragraph(*parts: object) -> Html:
    """Return a paragraph; parts are joined by a blank."""
    return Html("<p>" + " ".join(as_html(part) for part in parts if part) + "</p>")


def not_run(what: str, made_by: str) -> Html:
    """Return the visible note that stands where an optional result is missing."""
    return Html(
        f'<p class="not-run"><b>Not run:</b> {escape(what)}. It is made by {escape(made_by)}.</p>'
    )


def join(parts: Iterable[object]) -> Html:
    """Join pieces of markup by line breaks; empty ones are left out."""
    return Html("\n".join(as_html(part) for part in parts if part))
