"""What copies of the training text are worth as inputs of the network, as a gate after it, and as both.

    python experiments/2026-11-copies/features.py --corpus results/NAME/corpus --tokenizer results/NAME/tokenizer/dna_bpe.model \
        --test a.h5 b.h5 c.h5 --examples 320 600 130 --steps 1000

Two networks of bases.yaml from one seed read the same examples: one as it is, one with a sum of the vectors of the bases
that copies say added to each [MASK]; the weights of the sum are a softmax of a hidden layer on what the gate reads of
each copy. Documents of an example are left out in training. Then a gate is fitted to each as by `pretrain --counts`.
Bits per base with [MASK] at all hidden bases; differences to the network as it is, blocks of 10 kb, paired.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import yaml
from torch import Tensor, nn

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.copies import Copies
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.read_text import FEATURES
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import copying
from dna_bigbird.training.pretraining_task import PretrainingTask

SETTINGS = yaml.safe_load((Path(__file__).parent / "bases.yaml").read_text())
ALL_MASKED = copying.MASKINGS[1]
HIDDEN, FITTED = 32, 500_000


class Suggested(nn.Module):
    """A module that adds to the embedding of each [MASK] what copies say stands there."""

    def __init__(self, encoder: nn.Module, copies: Copies) -> None:
        super().__init__()
        self.read = copies.text, copies.config
        width = copies.config.num_copies * (FEATURES + 1)
        self.hidden = nn.Linear(width, HIDDEN)
        self.weights = nn.Linear(HIDDEN, 1 + copies.config.num_copies)
        self.of_base = nn.Embedding(encoder.config.vocab_size, encoder.config.hidden_size)
        nn.init.normal_(self.of_base.weight, std=encoder.config.init_std)
        self.own: list[np.ndarray] = []
        """Documents that the rows of the next batch lie in, which are left out; none: nothing is left out."""
        self.plain = encoder._embed
        encoder._embed = self.embed

    def embed(self, packing, token_ids_BT: Tensor, segment_ids_BT: Tensor | None) -> Tensor:
        x_PE = self.plain(packing, token_ids_BT, segment_ids_BT)
        (text, config), flat = self.read, token_ids_BT.flatten()
        at_P = torch.nonzero(flat == config.mask_id)[:, 0]
        rows = np.arange(len(flat)) // token_ids_BT.shape[1]
        out = np.stack(self.own) if self.own else None
        self.own.clear()
        said, scores = text.copies(flat.numpy(), at_P.numpy(), config, out, rows)
        ids_PK, scores_PKF = torch.from_numpy(said), torch.from_numpy(scores)
        has_PK = ids_PK >= 0
        alike_PK = (ids_PK[:, :, None] == ids_PK[:, None]).float().mean(2) * has_PK
        inputs = torch.cat([scores_PKF, alike_PK[..., None]], dim=2).flatten(1)
        logits = self.weights(self.hidden(inputs).relu())
        absent = nn.functional.pad(~has_PK, (1, 0))
        shares = logits.masked_fill(absent, -torch.inf).softmax(-1)[:, 1:]
        said_PE = (shares[..., None] * self.of_base(ids_PK.clamp(min=0))).sum(1)
        more_BTE = said_PE.new_zeros(len(flat), said_PE.shape[1]).index_copy(0, at_P, said_PE)
        return x_PE + packing.pack_states(more_BTE.view(*token_ids_BT.shape, -1))


class TrainingExamples(PretrainExamples):
    """Examples that say which documents they lie in when they are read."""

    suggested: Suggested | None = None

    def __getitem__(self, number: int) -> dict:
        if self.suggested:
            own = copying.own_documents(self, number, self.suggested.read[0])
            self.suggested.own.append(own)
        return super().__getitem__(number)


def trained(
    model: PretrainingModel, examples: TrainingExamples, piece_bp: np.ndarray, steps: int
) -> PretrainingModel:
    """Train for some steps of a batch as bases.yaml has them."""
    config = TrainConfig(
        **(
            SETTINGS["pretraining"]
            | {"max_steps": steps, "warmup_steps": steps // 8, "validate_every": steps}
        )
    )
    model.suggested = examples.suggested
    task = PretrainingTask(model, config, piece_bp, 0.0)
    setup = task.configure_optimizers()
    optimizer, schedule = setup["optimizer"], setup["lr_scheduler"]["scheduler"]
    size, begun = config.batch_size, time.perf_counter()
    for step in range(steps):
        numbers = range(step * size, (step + 1) * size)
        batch = collate_pretraining([(n, examples[n]) for n in numbers])
        logits_PV, _ = model(
            batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT, batch.positions_P
        )
        loss = nn.functional.cross_entropy(logits_PV, batch.labels_P)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.gradient_clip)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(f"# {step} {loss:.4f} {time.perf_counter() - begun:.0f} s", flush=True)
    return model.eval()


def main() -> None:
    """Print the arms of each region."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--test", nargs="+", required=True)
    parser.add_argument("--examples", nargs="+", type=int, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = DnaTokenizer.from_file(asked.tokenizer)
    stores = {x: TokenStore(asked.corpus / f"{x}.h5") for x in ("train", "validation")}
    text, chromosomes = copying.text_of(stores["train"], tokenizer)
    bp_per_token = stores["train"].num_bp / stores["train"].num_tokens
    settings = copying.settings_of(tokenizer, bp_per_token, chromosomes)
    encoder = EncoderConfig(vocab_size=tokenizer.vocab_size, **SETTINGS["model"])
    length, seed = encoder.max_tokens, asked.seed
    regions = [
        (PretrainExamples(TokenStore(path), tokenizer, length, ALL_MASKED, seed), count)
        for path, count in zip(asked.test, asked.examples, strict=True)
    ]
    nats_of: dict[str, list[np.ndarray]] = {}
    for name in ("network", "inputs"):
        torch.manual_seed(seed)
        model = PretrainingModel(encoder, seed, heads=("mlm",))
        copies = Copies(settings, torch.Generator().manual_seed(seed))
        copies.text = text
        suggested = Suggested(model.encoder, copies) if name == "inputs" else None

        def training(masking: MaskingConfig, own_seed: int, suggested=suggested):
            examples = TrainingExamples(stores["train"], tokenizer, length, masking, own_seed)
            examples.suggested = suggested
            return examples

        trained(model, training(ALL_MASKED, seed), tokenizer.piece_bp, asked.steps)
        read = [training(m, 2 * seed) for m in copying.MASKINGS]
        held = [
            PretrainExamples(stores["validation"], tokenizer, length, m, 2 * seed + 1)
            for m in copying.MASKINGS
        ]
        fitted = copying.evidence_of(
            model, copies, read, -(-FITTED // length), batch_size=1, leaves_out=True
        )
        held_out = copying.evidence_of(
            model, copies, held, -(-FITTED // 3 // length), batch_size=1, leaves_out=False
        )
        copying.fit_gate(copies, fitted, held_out, seed)
        for examples, count in regions:
            evidence = copying.evidence_of(
                model, copies, [examples], count, batch_size=1, leaves_out=False
            )
            with torch.no_grad():
                gated = copying.nats(copies, *evidence).double().numpy()
            nats_of.setdefault(name, []).append(-evidence[1].double().numpy())
            nats_of.setdefault(f"{name} and gate", []).append(gated)
    for i, (examples, count) in enumerate(regions):
        hidden = HiddenTokens(examples, count, tokenizer.piece_bp)
        for name, of_name in nats_of.items():
            gain = of_name[i] - nats_of["network"][i]
            sums = hidden.by_block(np.column_stack([of_name[i], gain, hidden.bases]))
            nats, less, bases = sums.T
            scores = interval("bits", nats / math.log(2), bases, seed)
            scores |= interval("gain", less / math.log(2), bases, seed)
            print(name, Path(asked.test[i]).stem, *scores.values(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
