"""The first section: three cards, the sentences that say who wins, one table."""

from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import Html, as_html, join, shown, table
from dna_bigbird.report.parts import (
    TITLES,
    counts,
    head_gain,
    head_scores,
    head_verdict,
    interval_of,
)
from dna_bigbird.report.run_results import Results
from dna_bigbird.report.words import (
    MASKED_BITS,
    UNIGRAM,
    Score,
    against_chance,
    badge,
    baseline_title,
    bits_of,
    language_verdict,
    score_of,
    strongest_masked,
)


def summary(results: Results) -> Html:
    """Return the cards, the table of all three parts and the sentences that say who wins."""
    metrics = results.pretrained.metrics
    bits = score_of(metrics, MASKED_BITS)
    unigram = bits_of(metrics.get("baselines", {}).get(UNIGRAM))
    best_name, best = strongest_masked(metrics)
    won = badge(bits, best, higher_is_better=False)
    cards = [
        _card("Pretraining", "bits per base, masked", bits, ("best masked baseline", best), won)
    ]
    rows = [
        (
            "Pretraining",
            Html(f"{term('bits-per-base')}, masked; lower is better"),
            interval_of(bits),
            Html(f"{interval_of(score)} <small>{as_html(baseline_title(name))}</small>"),
            badge(bits, score, higher_is_better=False),
            counts(metrics),
        )
        for name, score in dict([(UNIGRAM, unigram), (best_name or UNIGRAM, best)]).items()
    ]
    verdicts = [("Pretraining.", language_verdict(metrics))]
    for head, result in results.heads.items():
        title = TITLES[head]
        if result is None:
            rows.append((title, "not run", "–", "–", "–", "–"))
            verdicts.append((f"{title}.", "Not run."))
            continue
        model, kmer = head_scores(result)
        what = "AUROC" if head == "promoter" else "AUROC, mean over labels"
        won = badge(model, kmer, gain=head_gain(result))
        cards.append(_card(title, what, model, ("k-mer", kmer), won))
        rows.append(
            (
                title,
                Html(
                    f"{term('auroc')}{'' if head == 'promoter' else ', ' + term('macro', 'macro')}"
                    f"{_beside(result.config)}; higher is better"
                ),
                interval_of(model),
                Html(f"{interval_of(kmer)} <small>k-mer</small>"),
                won,
                counts(result.metrics),
            )
        )
        verdicts.append((f"{title}.", f"{head_verdict(result)} {against_chance(model)}"))
    said = "".join(f"<li><b>{name}</b> {join([text])}</li>" for name, text in verdicts)
    return join(
        [
            Html(f'<div class="cards">{"".join(cards)}</div>'),
            Html(f'<ul class="verdicts">{said}</ul>'),
            table(
                [
                    "part",
                    "score",
                    "BigBird [95\u00a0%]",
                    "baseline [95\u00a0%]",
                    "who wins",
                    "test rows",
                ],
                rows,
                caption="Scores on the test split, which neither training nor model choice has seen",
            ),
        ]
    )


def _beside(config: dict) -> str:
    """Name the negatives behind a score, without which it says nothing."""
    negatives = config.get("negatives")
    return f", {as_html(negatives)} negatives" if negatives else ""


def _card(title: str, what: str, model: Score, baseline: tuple[str, Score], won: str) -> str:
    base_name, base = baseline
    interval = f"[{shown(model.low)}, {shown(model.high)}]" if model.has_interval else "no interval"
    look = "model" if won.startswith("model") else "baseline" if won.startswith("base") else "even"
    return (
        f'<div class="card {look}"><b>{title}</b><span class="big">{shown(model.value)}</span>'
        f"<span>{what}</span><span class='interval'>{interval}</span>"
        f"<span>{base_name}: {shown(base.value)}</span><span class='won'>{won}</span></div>"
    )
