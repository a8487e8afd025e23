"""A text under attack against TextAttack's own class, and where that one goes wrong."""

import random

import pytest

from muattack.attack.offline import load_textattack
from muattack.attack.records import apply_edits
from muattack.attack.slots import SlotText

AttackedText = load_textattack().shared.AttackedText
TEXTS = (
    "a dog, a 'cat' and a well-known don't -- (bus)  waits.\n",
    "  Ünïcode naïve café — ça va? x",
    "dog",
    "the the the",
    "e-mail me@here.org *now* 3.5%!",
    # TextAttack cuts Chinese into words with jieba, whose dictionary takes seconds to load.
    pytest.param("“quoted” 狗和猫 bus", marks=pytest.mark.slow),
)


@pytest.mark.parametrize("text", TEXTS)
def test_words_and_changes_are_textattacks(text):
    stock, ours = AttackedText(text), SlotText(text)
    assert ours.words == stock.words
    assert [text[start:end] for start, end in ours.spans] == stock.words
    for index in range(stock.num_words):
        assert ours.replace_word_at_index(index, "xyz").text == stock.replace_word_at_index(index, "xyz").text
        assert ours.delete_word_at_index(index).text == stock.delete_word_at_index(index).text


def test_edits_give_the_text_and_leave_the_rest():
    draw = random.Random(1)
    for text in TEXTS[:-1]:
        current = SlotText(text)
        for index in draw.sample(range(current.num_words), current.num_words // 2 + 1):
            current = current.replace_word_at_index(index, draw.choice(["zebra", "q", "fi lm", "Ω"]))
        assert apply_edits(text, current.edits()) == current.text
        assert {(edit["start"], edit["end"]) for edit in current.edits()} <= set(current.spans)


def test_a_space_in_a_word_is_one_change_and_moves_no_other():
    # B10 and the positionwise difference: stock counts every word behind the space as changed.
    text = "one good film in ten words of which none counts"
    split = SlotText(text).replace_word_at_index(2, "fi lm")
    stock = AttackedText(text).replace_word_at_index(2, "fi lm")
    assert split.words_changed == 1
    assert len(stock.all_words_diff(AttackedText(text))) == 8
    again = split.replace_word_at_index(3, "inside")
    assert again.text == "one good fi lm inside ten words of which none counts"
    assert again.words_changed == 2


def test_equal_texts_are_equal_however_they_were_made():
    base = SlotText("a dog waits")
    one = base.replace_word_at_index(1, "cat").replace_word_at_index(2, "sits")
    other = base.replace_words_at_indices([2, 1], ["sits", "cat"])
    assert one == other
    assert hash(one) == hash(other)
    assert one != base
    assert base.replace_word_at_index(1, "dog").edits() == []
