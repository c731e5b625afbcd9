"""Rules for the next token of a search (specification §5)."""

# N decoded sequences, L tokens so far, V vocabulary, W runs of tokens

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TokenRules:
    """Rules over the log-probabilities of the next token.

    Attributes:
        end_id: Token that ends a target.
        max_length: Tokens of the longest target, its end included.
        min_length: Tokens before which the end id does not come.
        too_early: Added to the log-probability of such an end.
        no_repeat: Tokens of a run that occurs once at most, the start id included; 0: no such rule.
        first_id: The first token of every target; -1: any.
        forced_end: The last of `max_length` tokens is the end id.
    """

    end_id: int
    max_length: int
    min_length: int = 0
    too_early: float = -torch.inf
    no_repeat: int = 0
    first_id: int = -1
    forced_end: bool = False

    def applied(self, log_p_NV: Tensor, ids_NL: Tensor) -> Tensor:
        """Return the log-probabilities after the rules.

        Args:
            ids_NL: The start id and the tokens so far.
        """
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
    """Return the log-probabilities, -inf where a token would repeat a run of `size` tokens.

    Example:
        >>> without_repeats(torch.zeros(1, 4), torch.tensor([[2, 3, 1, 2]]), 2)
        tensor([[0., 0., 0., -inf]])
    """
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
