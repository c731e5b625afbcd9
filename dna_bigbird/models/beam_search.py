"""Beam search (specification §5)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dna_bigbird.models.summarizer import Summarizer

# N decoded sequences, L tokens so far, V vocabulary, W runs of tokens


@dataclass(frozen=True)
class TokenRules:
    """Rules over the log-probabilities of the next token."""

    end_id: int
    max_length: int  # tokens of the longest target, its end included
    min_length: int = 0  # tokens before which the end id does not come
    too_early: float = -torch.inf  # added to the log-probability of such an end
    no_repeat: int = 0  # tokens of a run that occurs once at most, the start id included; 0: any
    first_id: int = -1  # the first token of every target; -1: any
    forced_end: bool = False  # the last of `max_length` tokens is the end id

    def applied(self, log_p_NV: Tensor, ids_NL: Tensor) -> Tensor:
        """Return the log-probabilities after the rules; `ids_NL` begin with the start id."""
        length = ids_NL.shape[1]
        if self.no_repeat:
            log_p_NV = without_repeats(log_p_NV, ids_NL, self.no_repeat)
        if length <= self.min_length:
            log_p_NV = log_p_NV.clone()
            log_p_NV[:, self.end_id] += self.too_early
        if length == 1 and self.first_id >= 0:
            return _only(log_p_NV, self.first_id)
        if length == self.max_length and self.forced_end:
            return _only(log_p_NV, self.end_id)
        return log_p_NV


def _only(log_p_NV: Tensor, token_id: int) -> Tensor:
    forced_NV = torch.full_like(log_p_NV, -torch.inf)
    forced_NV[:, token_id] = 0.0
    return forced_NV


def without_repeats(log_p_NV: Tensor, ids_NL: Tensor, size: int) -> Tensor:
    """Return the log-probabilities, -inf where a token would repeat a run of `size` tokens."""
    length = ids_NL.shape[1]
    if length < size:
        return log_p_NV
    runs = ids_NL.unfold(1, size, 1)  # (N, W, size)
    last = ids_NL[:, length - size + 1 :]
    is_same_NW = (runs[..., :-1] == last[:, None]).all(dim=-1)
    rows, columns = is_same_NW.nonzero(as_tuple=True)
    log_p_NV = log_p_NV.clone()
    log_p_NV[rows, runs[rows, columns, -1]] = -torch.inf
    return log_p_NV


# B sources, T their tokens, K alive beams, C = 2K candidates, N = B * K, L longest target, V
# vocabulary


NEVER = -1e9
"""Log-probability of what does not exist; a sum with it still orders."""
FORMULAS = ("paper", "library")


@dataclass(frozen=True)
class LengthRule:
    """How log-probabilities of different lengths are compared, and when a search is over."""

    # A length counts all tokens after the start id, the end id included.

    formula: str
    penalty: float
    max_length: int
    early_stopping: bool

    def divisor(self, length: int) -> float:
        """Return what the log-probability of a target of so many tokens is divided by."""
        base = (5 + length) / 6 if self.formula == "paper" else length
        return base**self.penalty

    def accepted(self, ends_BC: Tensor, rows: "Hypotheses") -> Tensor:
        """Return which candidates, best first, become finished ones."""
        if self.formula == "paper":
            return ends_BC
        among_best_C = torch.arange(ends_BC.shape[1], device=ends_BC.device) < rows.size
        is_open_B = rows.can_improve
        if self.early_stopping:
            is_open_B = is_open_B & ~rows.is_finished.all(dim=1)
        return ends_BC & among_best_C & is_open_B[:, None]

    def can_improve(self, best_alive_B: Tensor, length: int, rows: "Hypotheses") -> Tensor:
        """Return for which sources the search has to go on."""
        if self.formula == "library":
            possible_B = best_alive_B / self.divisor(length)
            # Only compared once all are finished: the worst of the finished then.
            worst_B = rows.scores.amin(dim=1)
            return rows.can_improve & (~rows.is_finished.all(dim=1) | (possible_B > worst_B))
        # Log-probabilities only fall: the best end that an alive one can have is at one of these.
        ends = (min(length + 1, self.max_length), self.max_length)
        possible = torch.stack([best_alive_B / self.divisor(end) for end in ends])
        return possible.amax(dim=0) >= rows.scores[:, 0]


class Hypotheses:
    """The finished targets of every source, best first."""

    def __init__(self, num_sources: int, size: int, max_length: int, device: torch.device) -> None:
        self.size = size
        self.ids = torch.zeros(num_sources, size, max_length, dtype=torch.long, device=device)
        self.scores = torch.full((num_sources, size), NEVER, device=device)
        self.is_finished = torch.zeros(num_sources, size, dtype=torch.bool, device=device)
        self.can_improve = torch.ones(num_sources, dtype=torch.bool, device=device)

    def add(self, ids_BCL: Tensor, scores_BC: Tensor, accepted_BC: Tensor) -> None:
        """Take in candidates and keep the best."""
        scores = torch.cat([self.scores, scores_BC.masked_fill(~accepted_BC, NEVER)], dim=1)
        self.scores, chosen = scores.topk(self.size, dim=1)
        self.ids = _rows(torch.cat([self.ids, ids_BCL], dim=1), chosen)
        self.is_finished = torch.cat([self.is_finished, accepted_BC], dim=1).gather(1, chosen)


def _check_settings(beam_size: int, min_length: int, max_length: int, length_formula: str) -> None:
    if beam_size < 1 or not 0 <= min_length < max_length:
        raise ValueError(
            f"beam_size {beam_size}, min_length {min_length}, max_length {max_length}: expected at "
            "least one beam and 0 <= min_length < max_length"
        )
    if length_formula not in FORMULAS:
        raise ValueError(f"length_formula must be {' or '.join(FORMULAS)}, got {length_formula!r}")


@torch.inference_mode()
def beam_search(
    model: Summarizer,
    token_ids_BT: Tensor,
    is_padding_BT: Tensor,
    *,
    beam_size: int = 5,
    max_length: int = 256,
    min_length: int = 0,
    length_penalty: float = 0.8,
    length_formula: str = "paper",
    early_stopping: bool = False,
    no_repeat: int = 0,
    first_id: int = -1,
    forced_end: bool = False,
) -> Tensor:
    """Return the best target that the search finds for every source: ids (B, U), U <= max_length.

    The start id is left out, the end id is in, zeros are after it. A target without an end has
    `max_length` tokens. Each step extends `beam_size` alive targets by every token and takes the
    best 2 * `beam_size`; those that end compete for `beam_size` finished places. A source's result
    does not depend on the others of its batch.

    Args:
        length_penalty: Exponent of the length; 0 compares plain log-probabilities.
        length_formula: 'paper' divides by ((5 + length) / 6) ** penalty, prefers any finished
            target, and stops when no alive one could become the best: the result is that of running
            to `max_length`. 'library' repeats `generate` of the Hugging Face library: length **
            penalty, ends count among the best `beam_size` candidates alone, targets of `max_length`
            count as finished, and its own stopping rules; with one beam it is a greedy search.
        early_stopping: Of 'library' alone: stop when `beam_size` targets are finished.
        max_length, min_length, no_repeat, first_id, forced_end: See `TokenRules`.

    Memory: keys and values of B * beam_size targets of `max_length`, and of B sources once.
    """
    _check_settings(beam_size, min_length, max_length, length_formula)
    rule = LengthRule(length_formula, length_penalty, max_length, early_stopping or beam_size == 1)
    B, K, device = len(token_ids_BT), beam_size, token_ids_BT.device
    sources = model.encode(token_ids_BT, is_padding_BT)
    cache = model.cache(sources, B * K, max_length)
    finished = Hypotheses(B, K, max_length, device)
    alive_BKL = torch.zeros(B, K, max_length, dtype=torch.long, device=device)
    alive_BK = torch.full((B, K), NEVER, device=device)
    alive_BK[:, 0] = 0.0  # all beams are the same at first: only one of them counts
    last_N = torch.full((B * K,), model.head.start_id, device=device)
    first_row_B1 = torch.arange(B, device=device)[:, None] * K
    too_early = -1000.0 if length_formula == "paper" else -torch.inf
    rules = TokenRules(
        model.head.end_id, max_length, min_length, too_early, no_repeat, first_id, forced_end
    )
    start_N1 = last_N[:, None]
    for length in range(1, max_length + 1):
        log_p_NV = model.step(last_N, sources, cache).float().log_softmax(dim=-1)
        written_NL = alive_BKL[:, :, : length - 1].flatten(0, 1)
        log_p_NV = rules.applied(log_p_NV, torch.cat([start_N1, written_NL], dim=1))
        V = log_p_NV.shape[1]
        total_BC, flat_BC = (alive_BK[..., None] + log_p_NV.view(B, K, V)).flatten(1).topk(2 * K)
        beam_BC, token_BC = flat_BC // V, flat_BC % V
        ids_BCL = _rows(alive_BKL, beam_BC)
        ids_BCL[:, :, length - 1] = token_BC
        ends_BC = token_BC == model.head.end_id
        if length_formula == "library" and length == max_length:
            ends_BC = torch.ones_like(ends_BC)
        accepted_BC = rule.accepted(ends_BC, finished)
        finished.add(ids_BCL, total_BC / rule.divisor(length), accepted_BC)
        alive_BK, chosen_BK = (total_BC + ends_BC * NEVER).topk(K)
        alive_BKL = _rows(ids_BCL, chosen_BK)
        finished.can_improve = rule.can_improve(alive_BK[:, 0], length, finished)
        if not finished.can_improve.any() or (
            rule.formula == "library" and rule.early_stopping and finished.is_finished.all()
        ):
            break
        cache.reorder((first_row_B1 + beam_BC.gather(1, chosen_BK)).flatten())
        last_N = alive_BKL[:, :, length - 1].flatten()
    has_end_B1 = finished.is_finished[:, :1]
    best_BL = torch.where(has_end_B1, finished.ids[:, 0], alive_BKL[:, 0])
    return best_BL[:, : length if not has_end_B1.all() else _longest(best_BL, model.head.end_id)]


def _rows(values_BKL: Tensor, chosen_BC: Tensor) -> Tensor:
    """Return row `chosen_BC` of each source."""
    return values_BKL.gather(1, chosen_BC[..., None].expand(-1, -1, values_BKL.shape[2]))


def _longest(ids_BL: Tensor, end_id: int) -> int:
    """Return the largest number of tokens up to the first end id, or all."""
    is_end_BL = ids_BL == end_id
    places_B = torch.where(is_end_BL.any(dim=1), is_end_BL.int().argmax(dim=1) + 1, ids_BL.shape[1])
    return int(places_B.max())
