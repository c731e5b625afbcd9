"""Links of the Markdown files of the repository, as the site needs them."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

FENCE = re.compile(r"^(```+).*?^\1 *$", flags=re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change what is outside fenced blocks."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def repository_path(page: str, target: str) -> str:
    """Return the path, in the repository, of what a page links to.

    Example:
        >>> repository_path("docs/how-to/text.md", "../../config/README.md")
        'config/README.md'
    """
    return os.path.normpath(PurePosixPath(page).parent / target)


def relinked(text: str, page: str, to: str, pages: Mapping[str, str]) -> str:
    """Return the text of a page with the links that it needs at another path.

    Args:
        page: Its path in the repository.
        to: Its path in the site.
        pages: Path in the repository, or path and anchor, to path in the site. What is linked and
            is not in it becomes text followed by the path.
    """

    def changed(link: re.Match) -> str:
        path, hash_sign, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", path):
            return link[0]
        source = repository_path(page, path) if path else page
        target = pages.get(f"{source}#{anchor}") or pages.get(source)
        if target is None:
            path_alone = link["text"].strip("`/") == source
            return f"`{source}`" if path_alone else f"{link['text']} (`{source}`)"
        is_file_name = re.fullmatch(r"`?[\w/.-]+\.md`?", link["text"])
        shown = "" if is_file_name and not anchor else link["text"]  # empty: the title of the page
        relative = os.path.relpath(target, PurePosixPath(to).parent) if path or target != to else ""
        return f"{link['image']}[{shown}]({relative}{hash_sign}{anchor})"

    return outside_code(text, lambda part: LINK.sub(changed, part))
