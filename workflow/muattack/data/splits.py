"""Which texts of a run's captions or of a data set are fitted on, and which are corrupted."""

import pandas as pd

from muattack.attack.texts import LEFT_OUT
from muattack.errors import InputError
from muattack.seeds import digest


def chosen_texts(table: pd.DataFrame, count: int | None, seed: int) -> pd.DataFrame:
    """Return id, image_id, text and label of the test texts to corrupt, in the table's order: all, or `count` of them.

    Of captions those of people and of the captioner to detect. Which ones are drawn is decided by the digest of seed and id, so it does not
    depend on the order of the rows, and a larger `count` adds texts. Equal texts stay. Raises InputError where there is none.
    """
    chosen = table[(table["split"] == "test") & (table["source"] != LEFT_OUT)]
    if chosen.empty:
        raise InputError("There is no test text to corrupt. Give the data set test rows, or the captions more images.")
    return draw(chosen[["id", "image_id", "text", "label"]], count, seed, "corrupted").reset_index(drop=True)


def draw(rows: pd.DataFrame, count: int | None, seed: int, purpose: str) -> pd.DataFrame:
    """Return `count` of the rows in their order, drawn by the digest of seed, purpose and `id`; all where count is None."""
    if count is None or count >= len(rows):
        return rows
    order = pd.Series([digest(seed, purpose, name) for name in rows["id"]], index=rows.index)
    return rows.loc[rows.index.isin(order.sort_values(kind="stable").index[:count])]


def training_texts(table: pd.DataFrame) -> list[str]:
    """Return the texts that a base is fitted on: all of the split `train`, people's and the captioner's where they are captions."""
    return table.loc[(table["split"] == "train") & (table["source"] != LEFT_OUT), "text"].tolist()
