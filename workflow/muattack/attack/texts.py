"""Which test texts are attacked. Imports neither torch nor TextAttack."""

from collections.abc import Sequence

import pandas as pd

from muattack.errors import InputError
from muattack.seeds import digest

# The captioner whose texts are out of distribution: no victim is judged by it under attack.
LEFT_OUT = "machine_ood"


def choose_texts(table: pd.DataFrame, count: int, classes: Sequence[int] | None, seed: int) -> pd.DataFrame:
    """Return id, text and label of the test texts to attack, in the order in which they are attacked.

    `table` has the columns id, source, text, label, split. The order is drawn by the digest of seed and id, so it does not depend on
    the order of the rows, and a larger `count` adds texts behind the same first ones. `classes` (label numbers) keeps
    texts of these classes alone; of equal texts the first drawn is attacked. Fewer texts than `count` are all taken.
    Raises InputError where none is left.
    """
    if count < 1:
        raise InputError(f"attacks.texts is {count}, but at least one text must be attacked. Write for example `texts: 40`.")
    chosen = table[(table["split"] == "test") & (table["source"] != LEFT_OUT)]
    if classes is not None:
        chosen = chosen[chosen["label"].isin(list(classes))]
    if chosen.empty:
        have = ", ".join(str(label) for label in sorted(table.loc[table["split"] == "test", "label"].unique())) or "none"
        wanted = "any class" if classes is None else f"class {', '.join(map(str, classes))}"
        raise InputError(f"No text can be attacked: the test split has labels {have}, and texts of {wanted} are wanted. Change attacks.classes.")
    order = [digest(seed, "attack", name) for name in chosen["id"]]
    chosen = chosen.assign(order=order).sort_values(["order", "id"], kind="stable").drop_duplicates("text")
    return chosen[["id", "text", "label"]].head(count).reset_index(drop=True)
