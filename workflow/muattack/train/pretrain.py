"""The `tiny` encoder: a small RoBERTa and its byte-level BPE, trained by masked language modelling in the run."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedTokenizerFast, RobertaConfig
from transformers.models.roberta.modeling_roberta import RobertaForMaskedLM

from muattack.detect.encoder import LABELS, of_the_run, open_to_readers, quiet_transformers, tokenise
from muattack.device import device
from muattack.errors import InputError
from muattack.progress import progress
from muattack.records import write_json
from muattack.seeds import digest
from muattack.train.batches import pad, shuffled_batches
from muattack.train.optimise import make_optimiser, make_schedule, run_facts
from muattack.train.resume import Checkpoint, digest_of, first_weights, pack, unpack
from muattack.train.tokenizer import SPECIAL, train_tokenizer

# Of the chosen positions, the share replaced by the mask and by a random token; the rest stay as they are (BERT, Section 3.1).
MASKED, RANDOM = 0.8, 0.1


def mask_tokens(ids: torch.Tensor, real: torch.Tensor, share: float, mask_id: int, vocabulary: int, first: int, random: torch.Generator):
    """Return masked ids, and the chosen positions as flat indices; ids and `real` (what may be chosen) are (n, length).

    Every real position is chosen with probability `share`, at least one a batch. Random replacements are drawn from
    first..vocabulary-1, so that no special token appears among them.
    """
    chosen = (torch.rand(ids.shape, generator=random) < share) & real
    if not chosen.any():
        chosen.view(-1)[real.view(-1).nonzero()[0]] = True
    positions = chosen.view(-1).nonzero().squeeze(1)
    kind = torch.rand(len(positions), generator=random)
    replaced = torch.randint(first, vocabulary, (len(positions),), generator=random)
    masked = ids.clone().view(-1)
    masked[positions] = torch.where(kind < MASKED, mask_id, torch.where(kind < MASKED + RANDOM, replaced, masked[positions]))
    return masked.view_as(ids), positions


def pretrain_encoder(
    captions: pd.DataFrame,
    encoder: dict,
    out_folder: str | os.PathLike,
    seed: int,
    threads: int = 1,
    labels: Sequence[str] = LABELS,
    state_folder: str | os.PathLike | None = None,
    every: float | None = None,
) -> None:
    """Train tokenizer and encoder on the texts of split `train` and write them as a Hugging Face folder.

    Of captions those of human and machine are read, of a table with other classes (`labels`) all. `encoder` is the encoder's
    entry in the configuration. The folder holds config.json, model.safetensors, the tokenizer's
    files, history.json (loss by epoch) and meta.json. Same texts, settings, seed and threads give the same bytes,
    also where a training that was killed goes on from what it left in `state_folder`, at most one state in `every` seconds.
    Raises InputError when there is no training text.
    """
    torch.set_num_threads(threads)
    settings, max_length = encoder["pretrain"], encoder["max_length"]
    # The OOD captioner's texts are for testing only, here as in the training of detectors.
    texts = of_the_run(captions, labels).query("split == 'train'")["text"].tolist()
    if not texts:
        raise InputError(
            "There is no text in the split `train` to pretrain the encoder on. Raise captions.images or captions.split.train, or give the data set more rows."
        )
    if settings["width"] % settings["heads"]:
        raise InputError(
            f"The encoder's width {settings['width']} is not a multiple of its heads {settings['heads']}. Write for example width: 128, heads: 4."
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=train_tokenizer(texts, settings["vocabulary"]),
        model_max_length=max_length,
        cls_token="<s>",
        sep_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
        **SPECIAL,
    )
    tokens, truncated = tokenise(tokenizer, texts, max_length)
    lengths = [len(one) for one in tokens]

    torch.manual_seed(digest(seed, "pretrain", "weights"))
    random = torch.Generator().manual_seed(digest(seed, "pretrain", "masks") % 2**63)
    order = np.random.default_rng(digest(seed, "pretrain", "order"))
    dropout = settings["dropout"]
    model = (
        RobertaForMaskedLM(
            RobertaConfig(
                vocab_size=len(tokenizer),
                hidden_size=settings["width"],
                num_hidden_layers=settings["layers"],
                num_attention_heads=settings["heads"],
                intermediate_size=4 * settings["width"],
                # RoBERTa counts positions from padding id + 1.
                max_position_embeddings=max_length + tokenizer.pad_token_id + 1,
                type_vocab_size=1,
                hidden_dropout_prob=dropout,
                attention_probs_dropout_prob=dropout,
                bos_token_id=tokenizer.bos_token_id,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        )
        .train()
        .to(device())
    )
    epochs = [shuffled_batches(lengths, settings["token_budget"], order) for _ in range(settings["epochs"])]
    optimiser = make_optimiser(model, settings["learning_rate"], settings["weight_decay"])
    schedule = make_schedule(optimiser, sum(map(len, epochs)), settings["warmup_share"])
    history = []
    checkpoint = Checkpoint(
        state_folder,
        __file__,
        lambda: {
            "settings": digest_of(encoder, seed),
            "data": digest_of(texts, tokens),
            "first weights": first_weights(model),
            "versions or device": digest_of(run_facts(threads)),
        },
        every,
    )
    if before := checkpoint.read():
        tensors, facts = before
        unpack(tensors, facts, model, optimiser, schedule)
        random.set_state(tensors["generator/masks"])
        history = facts["history"]
    for batches in progress(epochs[len(history) :], "pretraining epochs"):
        total = count = 0
        for batch in progress(batches, f"batches of pretraining epoch {len(history) + 1}", closing=False):
            ids, mask = pad([tokens[i] for i in batch], tokenizer.pad_token_id)
            real = (ids >= len(SPECIAL)) & mask.bool()
            masked, positions = mask_tokens(ids, real, settings["mask_share"], tokenizer.mask_token_id, len(tokenizer), len(SPECIAL), random)
            # Masks are drawn on the processor, the same ones whatever the device.
            ids, masked, mask, positions = (one.to(device()) for one in (ids, masked, mask, positions))
            states = model.roberta(input_ids=masked, attention_mask=mask).last_hidden_state
            # Only the chosen positions meet the vocabulary: that product would be the largest of all.
            logits = model.lm_head(states.flatten(0, 1)[positions])
            loss = torch.nn.functional.cross_entropy(logits, ids.view(-1)[positions])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad(set_to_none=True)
            total += loss.item() * len(positions)
            count += len(positions)
        history.append({"epoch": len(history) + 1, "loss": total / count})
        print(f"pretraining epoch {len(history)}: loss {total / count:.4f}", flush=True)
        if len(history) < len(epochs) and checkpoint.due():
            tensors, facts = pack(model, optimiser, schedule)
            checkpoint.write(len(history), tensors | {"generator/masks": random.get_state()}, facts | {"history": history})

    folder = Path(out_folder)
    folder.mkdir(parents=True, exist_ok=True)
    with quiet_transformers():
        model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    open_to_readers(folder)
    write_json(folder / "history.json", history)
    write_json(
        folder / "meta.json",
        {
            "settings": settings,
            "seed": seed,
            "texts": len(texts),
            "share_truncated": float(truncated.mean()),
            "vocabulary": len(tokenizer),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "tokens_a_text": float(np.mean(lengths)),
            **run_facts(threads),
        },
    )
    checkpoint.remove()
