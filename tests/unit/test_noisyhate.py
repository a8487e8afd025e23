"""Cleaning step by step with its counts, and pairs read strictly."""

import time

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.data.noisyhate import STEPS, clean, is_link, read_pairs, read_words
from muattack.errors import InputError

ENGLISH = {"hello", "world", "see", "now", "it's", "don't", "do", "it", "men", "time", "its", "mail", "me"}
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=40)


def frame(*texts):
    return pd.DataFrame({"id": [f"t{row}" for row in range(len(texts))], "text": pd.Series(texts, dtype=object), "toxicity": 0.5})


def test_each_step_with_its_counts():
    left, steps = clean(
        frame(
            "Hello world!!",
            "Hello world!!",  # a duplicate
            "See http://x.org/a?b=1 now (www.y.z)",
            "It's 3,000 men, 2nd time: 10%",
            "don’t do it 😀",
            "😀 &!",  # nothing is left
            "hello   WORLD",  # a duplicate once clean
            "hello qzx",  # no English
            "w0rld",  # no English
            "me@y.com mail me",
        ),
        ENGLISH,
    )
    assert list(left["text"]) == ["hello world", "see now", "its men time", "dont do it", "mail me"]
    assert list(left["id"]) == ["t0", "t2", "t3", "t4", "t9"]
    assert left["original"][3] == "don’t do it 😀"
    assert (left["toxicity"] == 0.5).all()
    assert list(steps.itertuples(index=False, name=None)) == [
        ("duplicates", 10, 9, 0),
        ("links", 9, 9, 2),
        ("numbers", 9, 9, 1),
        ("special characters", 9, 9, 7),
        ("capitals", 9, 9, 4),
        ("empty", 9, 8, 0),
        ("duplicates after cleaning", 8, 7, 0),
        ("non-English words", 7, 5, 0),
    ]
    assert tuple(steps["step"]) == STEPS


@pytest.mark.parametrize(
    "link", ["http://a", "HTTPS://x.org/y?z=1", "(www.site.example),", "site.com", "site.co.uk/page.", "a.b.org/x", "me@x.org", "ftp://x"]
)
def test_links(link):
    assert is_link(link)


@pytest.mark.parametrize("word", ["end.Next", "@somebody", "1.5", "...", "and/or", "e.g.", "com", ".com", "U.S.", "a@b"])
def test_no_links(word):
    assert not is_link(word)


@settings(max_examples=40, deadline=None)
@given(st.lists(strange, max_size=5))
def test_cleaning_twice_changes_nothing_more(texts):
    left, steps = clean(frame(*texts), ENGLISH)
    assert (steps["rows_out"] <= steps["rows_in"]).all()
    assert (steps["rows_in"][1:].to_numpy() == steps["rows_out"][:-1].to_numpy()).all()
    again, _ = clean(left.drop(columns="original"), ENGLISH)
    assert list(again["text"]) == list(left["text"])


@pytest.mark.parametrize("text", ["a." * 25_000, "1," * 25_000, "a@" * 25_000, "http://" * 7000, "1" * 50_000 + "a", "a'" * 25_000, "😀" * 50_000])
def test_long_texts_take_no_time(text):
    begun = time.process_time()
    clean(frame(text), ENGLISH)
    assert time.process_time() - begun < 1


def test_the_own_list_of_english_words():
    left, _ = clean(frame("what a SILLY plan, isn't it", "a s1lly plan", "qzx"))
    assert list(left["text"]) == ["what a silly plan isnt it"]


def test_a_text_that_is_none_is_an_error():
    with pytest.raises(InputError, match=r"Row 1 .*t1.*float"):
        clean(frame("x", 1.5))


def test_an_empty_table_is_cleaned_too():
    left, steps = clean(frame())
    assert len(left) == 0
    assert (steps["rows_in"] == 0).all()


def test_a_list_of_words_is_read(tmp_path):
    (tmp_path / "words.txt").write_text("Silly\r\n\nplan\n", encoding="utf-8")
    assert read_words(tmp_path / "words.txt") == {"silly", "plan"}
    (tmp_path / "none.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="is empty"):
        read_words(tmp_path / "none.txt")


def write(tmp_path, *rows, header="toxicity,clean_version,perturbed_version,quality_mean"):
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_pairs_are_read_with_the_word_that_differs(tmp_path):
    pairs = read_pairs(write(tmp_path, "0.7,a silly plan,a s1lly plan,4.0", '0.6,null and silly,"null and sillyyy",3.5'))
    assert pairs.to_dict("records") == [
        {"id": "1", "clean": "a silly plan", "perturbed": "a s1lly plan", "place": 1, "start": 2, "end": 7, "word": "silly", "form": "s1lly", "type": "SpecialChar", "toxicity": 0.7, "quality_mean": 4.0},
        {"id": "2", "clean": "null and silly", "perturbed": "null and sillyyy", "place": 2, "start": 9, "end": 14, "word": "silly", "form": "sillyyy", "type": "RepeatChar", "toxicity": 0.6, "quality_mean": 3.5},
    ]  # fmt: skip


def test_columns_have_names_of_the_users(tmp_path):
    pairs = read_pairs(write(tmp_path, "silly,slly", header="before,after"), "before", "after")
    assert list(pairs.columns) == ["id", "clean", "perturbed", "place", "start", "end", "word", "form", "type"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            ["0.7,a silly plan,a silly plan,4.0"],
            "row 1 (line 2): a pair has one word that differs, at the same place; this one has 0 words that differ",
        ),
        (["0.7,a silly plan,a slly pln,4.0"], "2 words that differ"),
        (["0.7,a silly plan,a sil ly plan,4.0"], "3 and 4 words"),
        (["0.7,silly,slly,4.0", "high,silly,slly,4.0"], "row 2 (line 3): toxicity is 'high', not a number"),
        (["nan,silly,slly,4.0"], "'nan', not a number"),
        (["0.7,silly,slly"], "has 3 columns, but the first line has 4"),
        (['0.7,"silly,slly,4.0'], "cannot be read from line 2 on"),
        ([], "has no pairs"),
    ],
)
def test_wrong_rows_are_errors(tmp_path, rows, said):
    with pytest.raises(InputError, match=r"pairs\.csv") as raised:
        read_pairs(write(tmp_path, *rows))
    assert said in str(raised.value)


def test_missing_files_and_columns_are_errors(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_pairs(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no column 'clean_version'"):
        read_pairs(write(tmp_path, "silly,slly", header="before,after"))


@pytest.mark.data
def test_the_real_pairs(data):
    pairs = read_pairs(data / "perturbations" / "noisyhate" / "noisyhate.csv")
    assert len(pairs) == 1339
    assert pairs["clean"].nunique() == 1290
    assert pairs["quality_mean"].min() == 3.2
    assert (pairs["toxicity"] >= 0.5).all()
    # What was cleaned already stays as it is, but for words that the default list has not.
    left, steps = clean(pairs[["id", "clean"]].rename(columns={"clean": "text"}))
    assert list(steps["changed"]) == [0] * 8
    assert len(left) > 0.95 * 1290
