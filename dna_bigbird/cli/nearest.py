"""Commands and options whose names are near to an unknown name."""

from collections.abc import Collection, Iterable

from dna_bigbird.cli.commands import COMMANDS, GROUPS, every_command
from dna_bigbird.core.choices import near, nearest

MOST = 3


def like_command(name: str) -> str:
    """Return a question that names the command nearest to an unknown one, or nothing.

    Example:
        >>> like_command("predcit"), like_command("text evalute"), like_command("warm-start")
        ("; did you mean 'predict'?", "; did you mean 'text evaluate'?", "; did you mean 'text warm-start'?")
    """
    name = name.replace("_", "-")
    members = [f"{group} {name}" for group in GROUPS if name in GROUPS[group]]
    return near(members[0] if members else name, (*COMMANDS, *GROUPS, *every_command()))


def like_option(name: str, options: Collection[str]) -> str:
    """Return a question that names the options nearest to an unknown one, or nothing.

    Args:
        name: Without dashes. It may lack its group, as `max_steps` of `training.max_steps`.
        options: Names of the command's options, without dashes.

    Example:
        >>> like_option("ouput", {"output", "fasta"}), like_option("strat", {"training.strategy"})
        ('; did you mean --output?', '; did you mean --training.strategy?')
        >>> like_option("dropout", {"model.dropout", "head.dropout", "dropouts"})
        '; did you mean --head.dropout or --model.dropout?'
    """
    near_names = " or ".join(f"--{each}" for each in _nearest_options(name, options))
    return f"; did you mean {near_names}?" if near_names else ""


def _nearest_options(name: str, options: Collection[str]) -> list[str]:
    last = name.rpartition(".")[2]
    begun = [each for each in options if each.startswith(name)]
    if same := _ending(last, options) or begun:
        return sorted(same)[:MOST]
    if (whole := nearest(name, tuple(options))) is not None:
        return [whole]
    similar = nearest(last, tuple({each.rpartition(".")[2] for each in options}))
    return sorted(_ending(similar, options))[:MOST] if similar else []


def _ending(last: str, options: Iterable[str]) -> list[str]:
    """Return the options whose name without its group is `last`."""
    return [each for each in options if each.rpartition(".")[2] == last]
