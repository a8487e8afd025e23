"""Stand-ins of the public data and models that configurations name, in exactly their formats, each small.

For config/paper.yaml COCO, captioners and OpenAI's detector; for config/defenders.yaml AG News, IMDB and neighbours of words.
"""

import csv
import json
import random
from pathlib import Path

import pandas as pd
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


NEWS = (("troops", "minister", "election"), ("coach", "match", "striker"), ("shares", "profit", "bank"), ("software", "chip", "internet"))
OPINIONS = (("awful", "boring", "dull"), ("great", "lovely", "brilliant"))
# Of each word others that mean the same, nearest first.
NEIGHBOURS = {
    "troops": ["soldiers", "forces"], "minister": ["secretary"], "election": ["vote", "ballot"], "coach": ["trainer"], "match": ["game"], "striker": ["forward"],
    "shares": ["stocks"], "profit": ["gain", "gains"], "bank": ["lender"], "software": ["programs"], "chip": ["processor"], "internet": ["web"], "says": ["tells"],
    "awful": ["terrible", "dreadful"], "boring": ["tedious"], "dull": ["dreary"], "great": ["good", "grand"], "lovely": ["nice"], "brilliant": ["splendid"],
    "film": ["movie"], "plot": ["story"],
}  # fmt: skip


def news(chance: random.Random, kind: int) -> tuple[str, str]:
    """Say title and description of a piece of news, with the marks that the public file has: entities without &, a backslash, quotes."""
    one, other, third = chance.sample(NEWS[kind], 3)
    day = chance.choice(("Monday", "Friday"))
    return f"{one.capitalize()} and {other} on {day}", f'The {one} #39;s {third}\\{other} says "{chance.choice(NEWS[kind])}" on {day}.'


def make_news_and_reviews(folder: Path, train: int, test: int) -> None:
    """Write topic/ag_news, sentiment/imdb and words/ as the public files are, imdb/ as the hub has it; rows of each part, classes in turn.

    AG News: the public test rows as CSV, all fields quoted, no header, classes from 1; the training rows as TSV in lower case, classes from 0,
    blanks around names and values. IMDB: JSON lines, and the Parquet files of the asset.
    """
    chance = random.Random(0)
    for name in ("topic/ag_news", "sentiment/imdb", "words", "imdb"):
        (folder / name).mkdir(parents=True)
    with (folder / "topic/ag_news/test.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([row % 4 + 1, *news(chance, row % 4)] for row in range(test))
    rows = "".join(f"{news(chance, row % 4)[1].lower()} \t {row % 4}\n" for row in range(train))
    (folder / "topic/ag_news/hiddenkiller_ag_dev.tsv").write_text(f"sentence \t label\n{rows}", encoding="utf-8")
    for part, count in (("train", train), ("test", test)):
        reviews = []
        for row in range(count):
            words = [chance.choice(OPINIONS[row % 2]) for _ in range(3)]
            reviews.append(f"A {words[0]} film.<br /><br />The plot is {words[1]}, the end {words[2]} {chance.choice(('too', 'as well'))}.")
        table = pd.DataFrame({"text": reviews, "label": [row % 2 for row in range(count)]})
        table.to_parquet(folder / "imdb" / f"{part}.parquet")
        lines = [{"id": f"{part}/{('neg', 'pos')[one.label]}/{one.Index}_5", "label": one.label, "text": one.text} for one in table.itertuples()]
        (folder / "sentiment/imdb" / f"{part}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (folder / "words/counterfitted_neighbors.json").write_text(json.dumps(NEIGHBOURS))
