"""Mermaid graphs (`a --> b --> c`) as SVG pictures: the site loads no script that draws them."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

WIDTH, HEIGHT, GAP = 140, 26, 34
"""Of a box, and between rows; in pixels."""
BEND_WIDTH = 24
"""Of an edge that passes a row without a box."""
BLOCK = re.compile(r"^```mermaid\ngraph \w\w\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def edges_of(text: str) -> list[tuple[str, str]]:
    """Return the edges of a graph.

    Example:
        >>> edges_of("a --> b --> c")
        [('a', 'b'), ('b', 'c')]
    """
    edges = []
    for line in text.splitlines():
        names = line.split("-->")
        edges += [(a.strip(), b.strip()) for a, b in itertools.pairwise(names)]
    return list(dict.fromkeys(edges))


def rows_of(edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the row of each node: one below its lowest source.

    Raises:
        ValueError: If the graph has a cycle.
    """
    rows = dict.fromkeys([name for edge in edges for name in edge], 0)
    for _ in rows:
        changed = False
        for source, target in edges:
            if rows[target] <= rows[source]:
                rows[target] = rows[source] + 1
                changed = True
        if not changed:
            return rows
    raise ValueError("the graph has a cycle")


def paths_of(edges: Sequence[tuple[str, str]], rows: Mapping[str, int]) -> list[list[str]]:
    """Return each edge as nodes, one per row: those between its ends are bends, named 'a>b>3'."""
    return [
        [
            source,
            *(f"{source}>{target}>{row}" for row in range(rows[source] + 1, rows[target])),
            target,
        ]
        for source, target in edges
    ]


def positions_of(paths: Sequence[Sequence[str]], rows: Mapping[str, int]) -> dict[str, float]:
    """Return the centre of every node and bend: each row is sorted by the mean of its neighbours."""
    layers: list[list[str]] = [[] for _ in range(max(rows.values()) + 1)]
    near: dict[str, list[str]] = {}
    for path in paths:
        for offset, name in enumerate(path):
            if name not in near:
                layers[rows[path[0]] + offset].append(name)
            near.setdefault(name, []).extend(
                [*path[max(offset - 1, 0) : offset], *path[offset + 1 : offset + 2]]
            )
    centres: dict[str, float] = {}
    for sweep in range(12):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            known = {name: [centres[x] for x in near[name] if x in centres] for name in layer}
            mean = {name: sum(xs) / len(xs) if xs else 0.0 for name, xs in known.items()}
            layer.sort(key=mean.__getitem__)
            widths = [BEND_WIDTH if ">" in name else WIDTH + 16 for name in layer]
            start = -sum(widths) / 2
            for name, width in zip(layer, widths, strict=True):
                centres[name] = start + width / 2
                start += width
    return centres


def extent(centres: Mapping[str, float]) -> tuple[float, float]:
    """Return the left and right end of all boxes and bends, with a margin."""
    halves = {name: BEND_WIDTH / 2 if ">" in name else WIDTH / 2 + 2 for name in centres}
    return (
        min(x - halves[name] for name, x in centres.items()),
        max(x + halves[name] for name, x in centres.items()),
    )


def _svg(edges: Sequence[tuple[str, str]]) -> Iterator[str]:
    rows = rows_of(edges)
    paths = paths_of(edges, rows)
    centres = positions_of(paths, rows)
    left, right = extent(centres)
    height = max(rows.values()) * (HEIGHT + GAP) + HEIGHT + 4
    label = "; ".join(f"{a} to {b}" for a, b in edges)
    yield (
        f'<div class="diagram"><svg role="img" aria-label="{label}" width="{right - left:.0f}" '
        f'viewBox="{left:.0f} -2 {right - left:.0f} {height}" xmlns="http://www.w3.org/2000/svg">'
    )
    yield (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    for path in paths:
        top = rows[path[0]]
        points = [(centres[name], (top + i) * (HEIGHT + GAP)) for i, name in enumerate(path)]
        (x, y), *rest = points
        drawn = f"M{x:.0f} {y + HEIGHT}"
        for i, (next_x, next_y) in enumerate(rest):
            drawn += f"C{x:.0f} {y + HEIGHT + GAP / 2:.0f} {next_x:.0f} {y + HEIGHT + GAP / 2:.0f} {next_x:.0f} {next_y}"
            drawn += f"V{next_y + HEIGHT}" if i < len(rest) - 1 else ""
            x, y = next_x, next_y
        yield f'<path class="edge" marker-end="url(#arrow)" d="{drawn}"/>'
    for name, row in rows.items():
        x, y = centres[name], row * (HEIGHT + GAP)
        yield f'<rect x="{x - WIDTH / 2:.0f}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
        yield f'<text x="{x:.0f}" y="{y + HEIGHT / 2 + 4:.0f}">{name}</text>'
    yield "</svg></div>"


def drawn_graphs(text: str) -> str:
    """Return a page with a picture for each graph."""
    return BLOCK.sub(lambda block: "\n".join(_svg(edges_of(block[1]))), text)
