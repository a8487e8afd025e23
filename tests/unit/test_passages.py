"""Passages cut to sentences: what is a sentence, what is dropped, how the classes are split and balanced."""

import json

import pytest

from muattack.data.passages import collect_passages, own_sentences, read_passages, sentences
from muattack.errors import InputError

SHARES = {"train": 0.7, "val": 0.15, "test": 0.15}
BASE = {"min_words": 3, "max_words": 8}


def write(path, original, sampled):
    path.write_text(json.dumps({"original": original, "sampled": sampled}), encoding="utf-8")
    return path


def made_passages(pairs):
    human = [
        f"Shared start number {n} is here. Human line {n} comes first. Then another human line {n} follows. {'Extra human words only ' + str(n)}."
        for n in range(pairs)
    ]
    machine = [f"Shared start number {n} is here. Machine line {n} comes first. Machine again says {n} things." for n in range(pairs)]
    return human, machine


def test_sentences_end_at_marks_and_lines_and_must_be_complete():
    text = 'A title\n\nHe said "stop." Then he left! 3.5 km on, e.g. here, it ended. Why? cut off at the'
    assert sentences(text) == ['He said "stop."', "Then he left!", "3.5 km on, e.g. here, it ended."]


def test_text_that_both_passages_share_is_no_ones():
    shared = "One two three four. "
    assert own_sentences(shared + "Five six seven eight.", len(shared), 3, 8, "paper") == ["five six seven eight"]


def test_sentences_are_measured_in_words_after_normalising():
    assert own_sentences("Too short. It's just right here. This one has far too many words to be taken here.", 0, 3, 8, "paper") == [
        "its just right here"
    ]
    assert own_sentences("It's just right here.", 0, 3, 8, "none") == ["It's just right here."]


def test_table_is_balanced_split_by_passage_and_sorted(tmp_path):
    table, meta = collect_passages([write(tmp_path / "news.raw.json", *made_passages(40))], BASE, "paper", SHARES, 1)
    assert list(table.columns) == ["id", "image_id", "source", "text", "label", "split"]
    assert table.groupby("image_id")["split"].nunique().max() == 1
    assert set(table["split"]) == {"train", "val"}
    counts = table.groupby(["split", "source"]).size().unstack()
    assert (counts["human"] == counts["machine"]).all()
    assert (table["label"] == (table["source"] == "machine")).all()
    assert not table["text"].str.contains("shared start").any()
    assert table["id"].is_unique
    assert table["text"].is_unique
    assert list(table["source"]) == sorted(table["source"])
    assert meta["passages"] == 40
    # Six of seven passages train, whatever the third share was.
    assert 30 <= table[table["split"] == "train"]["image_id"].nunique() <= 36


def test_same_input_same_table_and_another_seed_another_split(tmp_path):
    path = write(tmp_path / "a.json", *made_passages(40))
    first, second, other = (collect_passages([path], BASE, "paper", SHARES, seed)[0] for seed in (1, 1, 2))
    assert first.equals(second)
    assert not first.equals(other)


def test_a_sentence_of_both_classes_is_dropped(tmp_path):
    human, machine = made_passages(20)
    human = [text + " The very same sentence here." for text in human]
    machine = [text + " The very same sentence here." for text in machine]
    table, _ = collect_passages([write(tmp_path / "a.json", human, machine)], BASE, "paper", SHARES, 1)
    assert not table["text"].str.contains("very same").any()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"original": ["A b c."]}, "sampled is missing"),
        (["A b c."], "holds a list"),
        ({"original": "A b c.", "sampled": ["D e f."]}, "original is a str"),
        ({"original": ["A b c.", 3], "sampled": ["D e f.", "G."]}, "original, passage 2, is a int"),
        ({"original": ["A b c."], "sampled": []}, "1 original and 0 sampled"),
    ],
)
def test_wrong_shapes_are_named(tmp_path, content, says):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json") as error:
        read_passages(path)
    assert says in str(error.value)


def test_nothing_left_and_a_file_named_twice_are_errors(tmp_path):
    path = write(tmp_path / "a.json", *made_passages(20))
    with pytest.raises(InputError, match="90 to 99 words"):
        collect_passages([path], {"min_words": 90, "max_words": 99}, "paper", SHARES, 1)
    with pytest.raises(InputError, match="two files"):
        collect_passages([path, path], BASE, "paper", SHARES, 1)
