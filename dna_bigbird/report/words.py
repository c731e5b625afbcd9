"""Sentences made from the numbers: who wins, and how small the run was."""

from dataclasses import dataclass

from dna_bigbird.report.markup import is_number, shown

SEMI_SYNTHETIC = (
    "Semi-synthetic demo: real hg19 background, planted truth. These scores say that the pipeline "
    "works, not that the model knows biology."
)
MASKED_BITS = "bits_per_base_masked"
UNIGRAM = "token_unigram_masked"
NOT_WORTH = " On these data the network is not shown to be worth its cost."
UNCLEAR = "so this test set cannot tell the two apart with confidence"
SMALL_STEPS = 100_000
"""Below this many pretraining steps the report calls the run small."""


@dataclass(frozen=True)
class Score:
    """A score with the two ends of its 95 % interval; None or NaN where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        return is_number(self.low) and is_number(self.high)


NO_SCORE = Score(None)


def score_of(metrics: dict, key: str) -> Score:
    """Return `key`, `key_low` and `key_high` of a metrics table."""
    return Score(metrics.get(key), metrics.get(f"{key}_low"), metrics.get(f"{key}_high"))


@dataclass(frozen=True)
class Clarity:
    """Whether a difference is clear (None: unknown), and the words that say why."""

    clear: bool | None
    why: str


def clarity(one: Score, other: Score, gain: Score) -> Clarity:
    """Judge a difference by its own interval if it was drawn, else by whether two intervals overlap.

    Args:
        gain: Interval of the difference on the same draws of rows, which is sharper.
    """
    if gain.has_interval:
        text = f"95 % interval of the difference [{gain.low:+.3f}, {gain.high:+.3f}]"
        if gain.low > 0 or gain.high < 0:
            return Clarity(True, f"; the {text} lies on one side of 0")
        return Clarity(False, f"; the {text} includes 0, {UNCLEAR}")
    if not (one.has_interval and other.has_interval):
        return Clarity(None, "")
    if one.low <= other.high and other.low <= one.high:
        return Clarity(False, f", but their 95 % intervals overlap, {UNCLEAR}")
    return Clarity(True, ", and their 95 % intervals do not overlap")


def winner(model: Score, baseline: Score, *, higher_is_better: bool = True) -> str:
    """Return "model", "baseline", "tie" (equal to three digits) or "undecided" (a score is missing)."""
    if not (is_number(model.value) and is_number(baseline.value)):
        return "undecided"
    difference = round(model.value, 3) - round(baseline.value, 3)
    if abs(difference) < 5e-4:
        return "tie"
    return "model" if (difference > 0) == higher_is_better else "baseline"


def badge(
    model: Score, baseline: Score, *, gain: Score = NO_SCORE, higher_is_better: bool = True
) -> str:
    """Return the two or three words of a summary cell."""
    won = winner(model, baseline, higher_is_better=higher_is_better)
    if won in ("undecided", "tie"):
        return {"undecided": "no comparison", "tie": "equal"}[won]
    unclear = clarity(model, baseline, gain).clear is False
    return f"{won} {'ahead, not clearly' if unclear else 'wins'}"


def verdict(
    model: Score,
    baseline: Score,
    *,
    what: str,
    baseline_name: str = "the k-mer baseline",
    gain: Score = NO_SCORE,
    higher_is_better: bool = True,
) -> str:
    """Say in plain words which of the two is better and how sure that is.

    Example:
        >>> verdict(Score(0.9, 0.88, 0.92), Score(0.7, 0.66, 0.74), what="AUROC")
        'The model wins: AUROC 0.900 against 0.700 of the k-mer baseline, and their 95 % intervals do not overlap.'
    """
    if not is_number(model.value):
        return f"The {what} of the model is not defined on this test set, so nothing can be said."
    if not is_number(baseline.value):
        name = baseline_name[0].upper() + baseline_name[1:]
        return f"{name} has no {what} here; the model's {shown(model.value)} stands alone and means little."
    won = winner(model, baseline, higher_is_better=higher_is_better)
    pair = f"{what} {shown(model.value)} against {shown(baseline.value)} of {baseline_name}"
    found = clarity(model, baseline, gain)
    if won == "tie":
        return f"Neither wins: {pair}."
    verb = "is ahead" if found.clear is False else "wins"
    if won == "model":
        return f"The model {verb}: {pair}{found.why}."
    pair = f"{what} {shown(baseline.value)} of {baseline_name} against the model's {shown(model.value)}"
    return f"The baseline {verb}: {pair}{found.why}.{NOT_WORTH}"


def against_chance(model: Score, *, chance: float = 0.5) -> str:
    """Say whether the interval of a score lies above guessing."""
    if not (is_number(model.value) and model.has_interval):
        return ""
    if model.low > chance:
        return f"The model's interval lies above {chance:g}, the score of guessing."
    if model.high < chance:
        return f"The model's whole interval lies below {chance:g}: worse than guessing."
    return f"The model's interval includes {chance:g}: not shown to be better than guessing."


def bits_of(entry: object) -> Score:
    """Return the bits per base of a baseline, given as a number or as a table with such a key.

    Example:
        >>> bits_of({"bits_per_base_causal": 1.94, "n_bp": 1000}).value
        1.94
    """
    if isinstance(entry, dict):
        keys = [
            k for k in entry if k.startswith("bits_per_base") and not k.endswith(("_low", "_high"))
        ]
        return score_of(entry, keys[0]) if keys else Score(None)
    return Score(entry if is_number(entry) else None)


def baseline_title(name: str) -> str:
    """Return a readable name of an n-gram baseline with how it was scored.

    Example:
        >>> baseline_title("token_ngram_causal")
        'token n-gram (causal)'
    """
    words = name.split("_")
    kind = next((w for w in ("masked", "causal") if w in words), "")
    informed = ["informed"] if "informed" in words else []
    text = " ".join(informed + [w for w in words if w not in (kind, "informed")])
    text = text.replace("ngram", "n-gram")
    return f"{text} ({kind})" if kind else text


def strongest_masked(metrics: dict) -> tuple[str, Score]:
    """Return the name and score of the masked baseline with the fewest bits per base, or ""."""
    found = {n: bits_of(b) for n, b in metrics.get("baselines", {}).items() if "causal" not in n}
    found = {n: score for n, score in found.items() if is_number(score.value)}
    best = min(found, key=lambda n: found[n].value, default="")
    return best, found.get(best, Score(None))


def language_verdict(metrics: dict) -> str:
    """Compare the model's bits per base with the unigram, the best masked and the best causal baseline."""
    model = score_of(metrics, MASKED_BITS)
    if not is_number(model.value):
        return "The bits per base of the model are not defined."
    found = {name: bits_of(entry) for name, entry in metrics.get("baselines", {}).items()}
    found = {name: score for name, score in found.items() if is_number(score.value)}
    causal = sorted((n for n in found if "causal" in n), key=lambda n: found[n].value)
    sentences: list[str] = []
    for name in dict.fromkeys([UNIGRAM, strongest_masked(metrics)[0]]):
        if name not in found:
            continue
        strongest = "the strongest masked baseline, the " if name != UNIGRAM else "the "
        sentences.append(
            verdict(
                model,
                found[name],
                what="bits per base",
                baseline_name=f"{strongest}{baseline_title(name)}, on the same positions",
                higher_is_better=False,
            )
        )
    if causal:
        best = found[causal[0]]
        order = {
            "model": "more than the model's",
            "baseline": "fewer than the model's",
            "tie": "as many as the model's",
        }[winner(model, best, higher_is_better=False)]
        sentences.append(
            f"The best causal baseline, the {baseline_title(causal[0])}, needs {shown(best.value)} "
            f"bits per base, {order} {shown(model.value)}. It reads from left to right only, a "
            "different question from filling masked tokens, so the two stand side by side and are "
            "not ranked."
        )
    said_once = [
        x.removesuffix(NOT_WORTH) if NOT_WORTH in "".join(sentences[i + 1 :]) else x
        for i, x in enumerate(sentences)
    ]
    return " ".join(said_once) or "No n-gram baseline was run, so the number stands alone."


def scale(parameters: object, steps: object, batch: object, covered_bp: object) -> str:
    """Say how much was trained, beside the paper's own setting (specification §7, Table 21)."""
    model = "The model"
    if is_number(parameters):
        unit = f"{parameters / 1e6:.1f} million" if parameters >= 1e5 else f"{parameters:,}"
        model += f" has {unit} parameters and"
    text = f"{model} was pretrained for {shown(steps)} steps"
    if not is_number(steps):
        text = f"{model} was pretrained for a number of steps that no file records"
    if is_number(batch):
        text += f" of {shown(batch)} sequences"
    if is_number(covered_bp):
        text += f" on documents that cover {shown(covered_bp)} bp of genome"
    paper = "The paper: 110 million parameters, 1,000,000 steps of 256 sequences, the whole human genome."
    small = is_number(steps) and steps < SMALL_STEPS
    lead = "Small run, read the scores accordingly. " if small else ""
    return f"{lead}{text}. {paper}"
