"""Stand-ins of the public data and models that config/paper.yaml names, in exactly their formats, each small: COCO, captioners, OpenAI's detector."""

import json
import random
from pathlib import Path

import torch
from made_images import draw, make_captioner
from tokenizers import ByteLevelBPETokenizer
from transformers import RobertaConfig, RobertaForSequenceClassification, RobertaTokenizerFast

ARTICLES, ADJECTIVES, THINGS = ("a", "the"), ("small", "large", "red", "black"), ("dog", "cat", "bus", "kite", "boy", "girl", "pizza", "train")
VERBS, ADVERBS = ("stands", "waits", "sits", "lies"), ("slowly", "quietly", "already", "together")


def said(chance: random.Random) -> str:
    """Say something as people do: every kind of word that operators mutate, capital and full stop."""
    parts = [ARTICLES, ADJECTIVES, THINGS, VERBS, ADVERBS]
    return " ".join(chance.choice(part) for part in parts).capitalize() + f" near {chance.choice(ARTICLES)} {chance.choice(THINGS)}."


def make_stand_ins(folder: Path, images: int) -> None:
    """Write a folder an asset: coco_annotations, coco_images, vit-gpt2, blip-base, roberta-large, openai_detector."""
    chance = random.Random(0)
    photographs = [{"id": 7 * number + 3, "file_name": f"{7 * number + 3:012}.jpg"} for number in range(images)]
    for name in ("coco_annotations", "coco_images", "roberta-large", "openai_detector"):
        (folder / name).mkdir(parents=True)
    for number, photograph in enumerate(photographs):
        draw(folder / "coco_images" / photograph["file_name"], number)
    rows = [{"id": 10 * one["id"] + number, "image_id": one["id"], "caption": said(chance)} for one in photographs for number in range(5)]
    annotations = json.dumps({"info": {"year": 2017}, "images": photographs, "annotations": rows})
    for part in ("train", "val"):
        (folder / "coco_annotations" / f"captions_{part}2017.json").write_text(annotations)
    words = [*ARTICLES, *ADJECTIVES, *THINGS, *VERBS, *ADVERBS]
    for seed, name in enumerate(("vit-gpt2", "blip-base")):
        make_captioner(folder / name, words, seed)

    roberta = folder / "roberta-large"
    tokenizer = ByteLevelBPETokenizer()
    texts = [said(chance).lower() for _ in range(200)]
    tokenizer.train_from_iterator(texts, vocab_size=400, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False)
    tokenizer.save_model(str(roberta))
    RobertaTokenizerFast(str(roberta / "vocab.json"), str(roberta / "merges.txt"), model_max_length=62).save_pretrained(roberta)
    tokenizer.save_model(str(roberta))
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}
    torch.manual_seed(0)
    model = RobertaForSequenceClassification(RobertaConfig(vocab_size=tokenizer.get_vocab_size(), type_vocab_size=1, num_labels=2, **shape))
    model.save_pretrained(roberta)
    # As its authors saved it: a pickle with the weights beside the optimiser and the arguments.
    torch.save(
        {"epoch": 1, "model_state_dict": model.state_dict(), "optimizer_state_dict": {}, "args": {"large": True}},
        folder / "openai_detector" / "detector-large.pt",
    )
