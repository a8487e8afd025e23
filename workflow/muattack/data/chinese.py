"""Chinese reviews: one labelled file cut into training and test rows, and simulated reviews where there is no file.

News titles (text, tab, class number) need nothing of this: `muattack.data.datasets` reads them by configuration. The hotel reviews come as one
file with a row without text, which that reader refuses: `split_file` makes the two files that it reads.
"""

import json
import os
import random
from collections.abc import Mapping

import pandas as pd

from muattack.data.captions import SPLITS
from muattack.data.datasets import READERS, label_key
from muattack.errors import InputError
from muattack.records import sha256, write_json, write_text
from muattack.seeds import digest, generator

LABELS = ("negative", "positive")


def split_file(path: str | os.PathLike, rows: Mapping, out: Mapping[str, str | os.PathLike], share: float = 0.2, seed: int = 0) -> dict:
    """Cut a labelled file into a training and a test file of JSON lines {"text", "label"}; return what was counted.

    rows: format, text, label and the like, as in an entry of `classification.datasets`. out: {"train": path, "test": path}. share: chance of a
    text to be a test text, by the digest of seed and text: equal texts land on one side, and the same rows wherever they stand.
    Rows without text are left out and told: row numbers in `empty`. Raises InputError for a file that cannot be read, and where a side
    would be empty.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise InputError(f"The share of test texts is {share!r}, but must be above 0 and below 1, for example 0.2.")
    limit = share * 2**64
    lines: dict[str, list[str]] = {"train": [], "test": []}
    classes: dict[str, dict[str, int]] = {"train": {}, "test": {}}
    empty: list[str] = []
    for place, fields, label in READERS[rows["format"]](str(path), rows, ()):
        text = " ".join(field for field in fields if field.strip())
        if not text:
            empty.append(place)
            continue
        part = "test" if digest(seed, "test share", text) < limit else "train"
        key = label_key(label)
        lines[part].append(json.dumps({"text": text, "label": key}, ensure_ascii=False) + "\n")
        classes[part][key] = classes[part].get(key, 0) + 1
    for part, found in lines.items():
        if not found:
            raise InputError(f"The file {path} leaves no row for the {part} file: {sum(map(len, lines.values()))} rows with text, share {share:g}.")
        write_text(out[part], "".join(found))
    return {
        "file": os.path.basename(path), "sha256": sha256(path), "share": share, "seed": seed,
        "rows_in": sum(map(len, lines.values())) + len(empty), "rows": {part: len(found) for part, found in lines.items()},
        "classes": {part: dict(sorted(found.items())) for part, found in classes.items()}, "empty": empty,
    }  # fmt: skip


# --- Simulated reviews ------------------------------------------------------------------------------------------------

# What a clause is about and what can be said of it, badly and well. Plain words, written for this purpose.
TOPICS = {
    "房间": (("太小", "很旧", "不干净", "有异味", "光线昏暗"), ("很大", "很新", "非常干净", "宽敞明亮", "布置温馨")),
    "服务": (("很差", "冷淡", "太慢", "不够专业", "让人失望"), ("很好", "热情", "非常周到", "很专业", "让人满意")),
    "早餐": (("品种太少", "味道一般", "又冷又贵", "很难吃"), ("品种丰富", "味道不错", "新鲜可口", "很好吃")),
    "位置": (("偏僻", "很难找", "离地铁太远", "交通不便"), ("很好", "容易找", "离地铁很近", "交通方便")),
    "隔音": (("很差", "几乎没有", "不行，整夜吵闹"), ("很好", "不错，晚上安静", "令人满意")),
    "价格": (("偏贵", "不值", "比别家高很多"), ("实惠", "很合理", "比别家便宜")),
    "设施": (("陈旧", "坏了没人修", "不齐全"), ("齐全", "维护得很好", "比较新")),
    "前台": (("态度不好", "办理入住太慢", "一问三不知"), ("态度友好", "办理入住很快", "耐心解答问题")),
}
NEUTRAL = ("周末带家人来住了2晚", "出差时朋友推荐的", "订的是标准间", "住在8楼", "下午到店，第二天离开", "旁边有一家超市", "第一次住这里")
ENDINGS = (("下次不会再来了", "不推荐", "希望改进", "有点后悔"), ("下次还会来", "值得推荐", "继续保持", "很满意"))
CONTRARY = 0.2


def simulate_reviews(train: int = 1200, test: int = 300, seed: int = 0, name: str = "reviews") -> tuple[pd.DataFrame, dict]:
    """Return made-up Chinese hotel reviews as a data set's table (id, image_id, source, text, label, split), and its meta.

    train: rows to learn from, a tenth of which validate; test: rows to test on; half of each are positive (label 1). A review has two to
    five clauses, each of which says the contrary of its label with a chance of 0.2, so that no word gives the class away. Texts do not
    repeat. Raises InputError for fewer than 20 training rows or 2 test rows.
    """
    if train < 20 or test < 2:
        raise InputError(f"{train} training and {test} test reviews were asked for; at least 20 and 2 are needed.")
    texts: dict[str, int] = {}
    number = 0
    while len(texts) < train + test:
        label = len(texts) % 2
        texts.setdefault(_review(label, generator(seed, "review", number)), label)
        number += 1
    validation = train // 10
    splits = ["train"] * (train - validation) + ["val"] * validation + ["test"] * test
    ids = [f"{name}-{split}-{row}" for row, split in enumerate(splits)]
    frame = pd.DataFrame({"id": ids, "image_id": ids, "source": name, "text": list(texts), "label": list(texts.values()), "split": splits})
    frame = frame.astype({"label": "int8"})
    counts = {split: int((frame["split"] == split).sum()) for split in SPLITS}
    return frame, {"dataset": name, "labels": list(LABELS), "rows": counts, "seed": seed, "simulated": True}


def write_reviews(train: int, test: int, seed: int, out: Mapping[str, str | os.PathLike], meta: str | os.PathLike) -> None:
    """Write made-up reviews as two files of JSON lines {"text", "label"}, as `split_file` does, and their meta as JSON.

    out: {"train": path, "test": path}. What validates is not cut off here: whoever reads the files does so.
    """
    frame, about = simulate_reviews(train, test, seed)
    for part, rows in frame.groupby(frame["split"].where(frame["split"] == "test", "train")):
        lines = [
            json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in zip(rows["text"], rows["label"].tolist(), strict=True)
        ]
        write_text(out[part], "".join(f"{line}\n" for line in lines))
    write_json(meta, about | {"rows": {"train": train, "test": test}})


def _review(label: int, rng: random.Random) -> str:
    """Return one review of the class."""
    clauses = []
    for topic in rng.sample(list(TOPICS), rng.randint(2, 4)):
        said = label if rng.random() >= CONTRARY else 1 - label
        clauses.append(topic + rng.choice(TOPICS[topic][said]))
    if rng.random() < 0.5:
        clauses.insert(0, rng.choice(NEUTRAL))
    text = "，".join(clauses) + "。"
    return text + rng.choice(ENDINGS[label]) + rng.choice(("。", "！")) if rng.random() < 0.5 else text
