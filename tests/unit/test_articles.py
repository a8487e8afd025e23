import os
from pathlib import Path

import pandas as pd
import pytest

from muattack.data.captions import collect_captions
from muattack.evaluate.articles import count_missing_articles, lacks_article

DATA = Path(os.environ.get("MUATTACK_DATA", Path(__file__).parents[2] / "../shared/data"))


@pytest.mark.parametrize("text", ["The dog", "dog AN x", "it is (a) dog", "a", "dog-the-cat", "x.the,y"])
def test_whole_words_in_any_case_are_articles(text):
    assert not lacks_article(text)


@pytest.mark.parametrize("text", ["", "cat and dog", "then athe", "αn dog", "a's dog", "42 🐕", "thé"])
def test_parts_of_words_are_none(text):
    assert lacks_article(text)


def test_shares_by_source_over_all_splits():
    captions = pd.DataFrame(
        {
            "source": ["human"] * 4 + ["machine"] * 2,
            "image_id": ["1", "1", "2", "2", "1", "2"],
            "text": ["a dog", "dog", "the cat", "cats", "a dog", "a cat"],
            "split": ["train", "train", "test", "test", "train", "test"],
        }
    )
    table = count_missing_articles(captions).set_index("source")
    assert list(table.index) == ["human", "machine"]
    assert table.loc["human", ["n", "images", "without", "share", "published"]].tolist() == [4, 2, 2, 0.5, 0.04]
    assert table.loc["machine", ["n", "without", "share", "low"]].tolist() == [2, 0, 0, 0]
    assert 0.5 < table.loc["machine", "high"] < 0.8


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "captions/same_images").is_dir(), reason="needs captions/same_images in MUATTACK_DATA or ../shared/data")
def test_real_captions_give_the_known_shares():
    files = {"human": "human", "machine": "captioner1", "machine_ood": "captioner2"}
    files = {source: str(DATA / f"captions/same_images/{name}.json") for source, name in files.items()}
    captions, _ = collect_captions(files, None, "paper", {"train": 0.7, "val": 0.15, "test": 0.15}, 1)
    table = count_missing_articles(captions).set_index("source")
    assert table.images.tolist() == [1975] * 3
    assert table.without.tolist() == [428, 5, 6]
    assert [f"{100 * share:.2f}" for share in table.share] == ["4.33", "0.05", "0.06"]
    assert [f"{100 * share:.3f}" for share in table.share[1:]] == ["0.051", "0.061"]
