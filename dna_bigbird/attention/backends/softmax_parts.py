"""Softmax in pieces, for backends that never have all scores: masks, log-sum-exp, dropout."""

# B batch, H heads, Q queries, K keys; … stands for any dimensions of chunks

import torch
from torch import Tensor

HIDDEN = -1e30
"""Score of a hidden key. Finite: minus infinity gives NaN where all keys are hidden."""
LEAST = HIDDEN / 2
"""Scores below it are of hidden keys."""
LOWEST_EXPONENT = -80.0
"""exp of it vanishes next to 1 in every type, and is not so small that exp is four times slower."""


def hide(scores: Tensor, visible: Tensor) -> None:
    """Make the scores of hidden keys about -1e30, in place.

    Args:
        visible: 1 where a query reads a key, 0 elsewhere, of the scores' type: adding and
            multiplying such a mask is several times faster on a CPU than filling by a boolean one.
    """
    scores.add_((1 - visible) * HIDDEN)


def exponentials(scores: Tensor, subtracted: Tensor, visible: Tensor) -> Tensor:
    """Turn scores into exp(score - subtracted), exactly 0 for hidden keys, in place."""
    return scores.sub_(subtracted).clamp_(min=LOWEST_EXPONENT).exp_().mul_(visible)


def finished(total: Tensor, top: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output and the log-sum-exp of the scores, both (…, Q, any).

    Args:
        total: (…, Q, 1), the sum of exp(score - top); 0 where everything is hidden: then the output
            is zero, and the log-sum-exp infinite, so that every weight computed from it is zero.
        out: The values, weighted by exp(score - top).
    """
    is_empty = total == 0
    total = total.masked_fill(is_empty, 1.0)
    lse = (top + total.log()).masked_fill_(is_empty, torch.inf)
    return out / total, lse


class Dropout:
    """Masks of attention weights that can be drawn again: the same seed gives the same masks.

    Args:
        p: Probability that a weight becomes 0; the others are divided by 1 - p.
    """

    def __init__(self, p: float, seed: int, device: torch.device) -> None:
        self.p = p
        if p:
            self._generator = torch.Generator(device).manual_seed(seed)

    def factors(self, like: Tensor) -> Tensor | None:
        """Return the next factors of weights, 0 or 1 / (1 - p); None without dropout."""
        if not self.p:
            return None
        drawn = torch.empty_like(like, memory_format=torch.contiguous_format)
        drawn.bernoulli_(1 - self.p, generator=self._generator)
        return drawn.div_(1 - self.p)


def dropped(weights: Tensor, factors: Tensor | None) -> Tensor:
    """Return weights, or their gradient, times the factors."""
    return weights if factors is None else weights * factors


def new_seed(dropout_p: float) -> int:
    """Return a seed from PyTorch's generator, which so decides the masks; 0 without dropout."""
    return int(torch.randint(2**62, ())) if dropout_p else 0
