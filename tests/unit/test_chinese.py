"""Chinese perturbations: right values by hand, what holds for every text, words, settings, and the data they are used on."""

import json
import logging
import random
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.data.chinese import LABELS, TOPICS, simulate_reviews, split_file
from muattack.data.datasets import read_dataset
from muattack.errors import InputError
from muattack.mutate import chinese
from muattack.mutate.apply import mutate_texts
from muattack.mutate.chinese import (
    ALREADY_TRADITIONAL,
    NO_CHINESE,
    NO_LEFT_RIGHT,
    NO_PINYIN,
    NO_TRADITIONAL,
    NONE_DRAWN,
    NOTHING_NEW,
    ChineseOperator,
    Custom,
    Rewrite,
    Splitting,
    Tradition,
    chinese_set,
    left_right,
    segment,
)  # fmt: skip
from muattack.mutate.operator import EMPTY_TEXT, Edit
from muattack.mutate.registry import make_set, register
from muattack.seeds import generator

register("chinese", "muattack.mutate.chinese:chinese_set")

TRADITION = ChineseOperator("tradition", Tradition())
REWRITE = ChineseOperator("rewrite", Rewrite(), words="characters")
JIEBA = ChineseOperator("jieba", Rewrite(), words="jieba")
SPLITTING = ChineseOperator("splitting", Splitting())
ONE = ChineseOperator("one", Splitting("one"), words="characters", share=0.5)


def double(word: str, rng: random.Random) -> str | None:
    """A method of the user's: the word twice, or a star more, by chance."""
    return None if word == "很" else word * 2 + "*" * rng.randint(0, 3)


def broken(word: str, rng: random.Random) -> str:
    raise RuntimeError("no dictionary")


def number(word: str, rng: random.Random) -> int:
    return 7


def halves(text: str) -> list[tuple[int, int]]:
    """A segmenter of the user's."""
    return [(at, min(at + 2, len(text))) for at in range(0, len(text), 2)]


def backwards(text: str) -> list[tuple[int, int]]:
    return [(1, 2), (0, 1)]


CUSTOM = ChineseOperator("custom", Custom("test_chinese:double", double), words="characters")
OPERATORS = [TRADITION, REWRITE, JIEBA, SPLITTING, ONE, CUSTOM]
REVIEW = "房间很干净，头发长；银行在2楼，2M宽Good!服务员的态度非常好😀"

few = settings(max_examples=25, deadline=None)
ZOO = [
    "房间", "很", "头发", "银行", "行走", "乾隆", "台灣", "权", "好", "好好", "，", "。", "〇", "々", "⼀", "⺮", "龥", "𠀀", "𪚥", "日本の", "カ", "한국", "ﬁ", "é", "e\u0301", "好\u0301",
    "a", "A1", " ", "\u3000", "\n", "😀", "👩‍👩‍👧", "<b>好</b>", "&amp;", "\x00", "\u200b", "\ud800", "\udfff", "\ufeff", "㐀", "\U0003ffff", "2M", "%", "_", "+", "#",
]  # fmt: skip
texts = st.lists(st.sampled_from(ZOO) | st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=3), max_size=12).map("".join)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=30)


# First in the file, so that the dictionary is read once.
def test_jieba_writes_no_cache_and_no_log(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    chinese._jieba.cache_clear()
    # A cache file of somebody else's must not be believed.
    (tmp_path / "jieba.cache").write_bytes(b"nonsense")
    assert segment("房间干净") == [(0, 2), (2, 4)]
    assert [file.name for file in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == b"nonsense"
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("jieba").level >= logging.WARNING


# --- Right values -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mutated"),
    [
        ("头发", "頭髮"),
        ("发现", "發現"),
        ("干净，干部", "乾淨，幹部"),
        ("皇后在后面", "皇后在後面"),
        ("乾隆皇后的头发", "乾隆皇后的頭髮"),
        ("2M宽<b>头</b>", "2M寬<b>頭</b>"),
        ("我爱头髮", "我愛頭髮"),
    ],
)
def test_tradition(text, mutated):
    assert TRADITION.apply(text).text == mutated


def test_tradition_edits_are_single_characters():
    assert TRADITION.apply("很干净").edits == (Edit(1, 2, "乾"), Edit(2, 3, "淨"))


def test_the_standard_of_traditional_characters_can_be_chosen():
    assert TRADITION.apply("里面").text == "裏面"
    assert ChineseOperator("tw", Tradition("s2tw")).apply("里面").text == "裡面"


@pytest.mark.parametrize("text", ["台灣群眾在後面吃飯", "著作權", "這裡的房間"])
def test_traditional_text_is_left_alone_though_opencc_would_level_some_of_it(text):
    assert TRADITION.apply(text) == (text, (), ALREADY_TRADITIONAL)


def test_text_that_is_the_same_in_both_scripts_is_left_alone():
    assert TRADITION.apply("你好") == ("你好", (), NO_TRADITIONAL)


def test_the_word_decides_how_a_character_is_read_and_the_text_how_it_is_written():
    assert {REWRITE.word("行走", 0, 2, key)[0] for key in range(20)} == {Edit(0, 1, "xing"), Edit(1, 2, "zou")}
    assert {JIEBA.word("银行", 0, 2, key)[0] for key in range(20)} == {Edit(0, 1, "yin"), Edit(1, 2, "hang")}
    # A single character keeps the form that its neighbours give it.
    assert TRADITION.word("头发", 1, 2, 0) == (Edit(1, 2, "髮"),)
    assert TRADITION.word("发现", 0, 1, 0) == (Edit(0, 1, "發"),)


@pytest.mark.parametrize(("style", "pinyin"), [("normal", "nv"), ("tone", "nǚ"), ("tone3", "nv3")])
def test_pinyin_with_and_without_tones(style, pinyin):
    assert ChineseOperator("r", Rewrite(style), words="characters").apply("女").text == pinyin


def test_rewrite_changes_one_character_of_each_word():
    mutation = JIEBA.apply(REVIEW)
    spans = [span for span in segment(REVIEW) if chinese.HAN.search(REVIEW, *span)]
    assert len(mutation.edits) == len(spans) > 8
    for (start, end), edit in zip(spans, mutation.edits, strict=True):
        assert start <= edit.start < edit.end == edit.start + 1 <= end
        assert edit.replacement.isascii()
        assert edit.replacement.isalpha()


@pytest.mark.parametrize(
    ("character", "parts"),
    [("好", "女子"), ("的", "白勺"), ("酒", "氵酉"), ("打", "扌丁"), ("钱", "钅戋"), ("江", "氵工"), ("林", "木木")],
)
def test_left_right_characters_are_split(character, parts):
    assert left_right(character) == parts


@pytest.mark.parametrize("character", [*"我人国字这间门房花思八升中一a1，😀经錢𠀀", "\ud800"])
def test_other_characters_are_not_split(character):
    # 字 花 思 top-bottom, 国 这 间 房 enclosed, 我 人 中 whole, 八 strokes, 经 with a part that fonts lack, 錢 traditional.
    assert left_right(character) == ""


def test_splitting():
    assert SPLITTING.apply("这酒很好").text == "这氵酉彳艮女子"
    assert SPLITTING.apply("这酒很好").edits == (Edit(1, 2, "氵酉"), Edit(2, 3, "彳艮"), Edit(3, 4, "女子"))
    one = Splitting("one")
    assert {one.edits("很好", 0, 2, key) for key in range(20)} == {(Edit(0, 1, "彳艮"),), (Edit(1, 2, "女子"),)}


def test_a_method_of_the_users():
    mutation = CUSTOM.apply("很好a1")
    assert [(edit.start, edit.end, edit.replacement.rstrip("*")) for edit in mutation.edits] == [(1, 2, "好好"), (2, 4, "a1a1")]
    assert CUSTOM.apply("很，").reason == NOTHING_NEW
    with pytest.raises(InputError, match=r"failed on the word '好': RuntimeError: no dictionary"):
        ChineseOperator("b", Custom("broken", broken), words="characters").apply("好")
    with pytest.raises(InputError, match="returned 7 for the word"):
        ChineseOperator("n", Custom("number", number), words="characters").apply("好")


@pytest.mark.parametrize(
    ("operator", "text", "reason"),
    [
        *((operator, "", EMPTY_TEXT) for operator in OPERATORS),
        *((operator, "Good 2M 😀<b>", NO_CHINESE) for operator in OPERATORS[:-1]),
        (SPLITTING, "我在国中", NO_LEFT_RIGHT),
        (REWRITE, "々", NO_PINYIN),
        (ChineseOperator("never", Rewrite(), words="characters", share=1e-12), "好", NONE_DRAWN),
        (ChineseOperator("never", Splitting(), words="characters", share=1e-12), "我", NO_LEFT_RIGHT),
    ],
)
def test_reasons_for_doing_nothing(operator, text, reason):
    assert operator.apply(text) == (text, (), reason)


# --- What holds for every text ----------------------------------------------------------------------------------------


@few
@given(text=texts | strange)
def test_words_do_not_overlap_and_cover_all_chinese(text):
    for words in ("jieba", "characters", "test_chinese:halves"):
        spans = segment(text, words)
        assert all(start < end for start, end in spans)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        covered = {at for start, end in spans for at in range(start, end)}
        assert all(at in covered for at, character in enumerate(text) if chinese.HAN.match(character))


@few
@given(text=texts, low=st.floats(0.05, 0.95))
def test_a_larger_share_changes_the_same_words_and_more(text, low):
    some = ChineseOperator("s", Rewrite(), words="characters", share=low).apply(text)
    more = ChineseOperator("s", Rewrite(), words="characters", share=min(1.0, low + 0.3)).apply(text)
    assert set(some.edits) <= set(more.edits) <= set(ChineseOperator("s", Rewrite(), words="characters").apply(text).edits)


def test_chance_comes_from_seed_name_and_text_alone():
    long = "房间不错服务态度" * 10
    same = ChineseOperator("rewrite", Rewrite(), words="characters", share=0.5)
    assert same.apply(long) == ChineseOperator("rewrite", Rewrite(), words="characters", share=0.5).apply(long)
    assert same.apply(long) != ChineseOperator("rewrite", Rewrite(), words="characters", share=0.5, seed=1).apply(long)
    assert same.apply(long) != ChineseOperator("other", Rewrite(), words="characters", share=0.5).apply(long)
    # What happens to a word does not depend on which others are asked about.
    key = JIEBA.key(REVIEW)
    apart = tuple(edit for span in reversed(JIEBA.spans(REVIEW)) for edit in JIEBA.word(REVIEW, *span, key))
    assert tuple(sorted(apart)) == JIEBA.apply(REVIEW).edits


def test_about_as_many_words_change_as_the_share_says():
    text = "好" * 2000
    assert 850 < len(ChineseOperator("s", Splitting(), words="characters", share=0.45).apply(text).edits) < 950


def test_the_batch_gives_what_text_by_text_gives():
    sets = [make_set("r", {"kind": "chinese", "method": "rewrite"})]
    table = mutate_texts([REVIEW, "Good", "", REVIEW], sets, seed=5, ids=["a", "b", "c", "d"])
    expected = [sets[0].operator.apply(text, generator(5, "r", one)).text for one, text in zip("abcd", [REVIEW, "Good", "", REVIEW], strict=True)]
    assert table["mutated"].to_pylist() == expected
    assert table["changed"].to_pylist() == [True, False, False, True]
    assert isinstance(table, pa.Table)


# --- Words ------------------------------------------------------------------------------------------------------------


def test_words_of_jieba_and_characters():
    assert [REVIEW[start:end] for start, end in segment(REVIEW)][:8] == ["房间", "很", "干净", "头发", "长", "银行", "在", "2"]
    assert [("2M宽Good-好"[start:end]) for start, end in segment("2M宽Good-好", "characters")] == ["2M", "宽", "Good", "好"]


def test_a_segmenter_whose_words_overlap_is_refused():
    with pytest.raises(InputError, match=r"returned \(0, 1\) behind position 2 of a text of 2 characters"):
        segment("房间", "test_chinese:backwards")


# --- Configuration ----------------------------------------------------------------------------------------------------


def test_a_set_by_configuration():
    made = make_set("zh", {"kind": "chinese", "method": "splitting", "words": "characters", "share": 1, "characters": "one"})
    assert (made.kind, made.nominal, made.effective) == ("chinese", 1, 1)
    assert made.settings == {"method": "splitting", "words": "characters", "share": 1.0, "seed": 0, "characters": "one"}
    assert made.operator.apply("很好").edits == (Edit(0, 1, "彳艮"), Edit(1, 2, "女子"))
    custom = make_set("own", {"kind": "chinese", "method": "test_chinese:double", "words": "test_chinese:halves"})
    assert custom.operator.apply("房间很").text.startswith("房间房间")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "method .*None is no known method"),
        ({"method": "traditon"}, "Did you mean tradition"),
        ({"method": 3}, "3 is no known method"),
        ({"method": "no_such_module:f"}, "no_such_module:f cannot be imported"),
        ({"method": "test_chinese:missing"}, "test_chinese:missing cannot be imported"),
        ({"method": "test_chinese:REVIEW"}, "is a str, which cannot be called"),
        ({"method": "rewrite", "variant": "s2t"}, "'variant' is no known key"),
        ({"method": "rewrite", "style": "wade"}, "'wade' is no known style"),
        ({"method": "tradition", "variant": "t2s"}, "'t2s' is no known variant"),
        ({"method": "splitting", "characters": "two"}, "'two' is no known characters"),
        ({"method": "rewrite", "words": "jeiba"}, "Did you mean jieba"),
        ({"method": "rewrite", "share": 0}, "share: expected a number above 0"),
        ({"method": "rewrite", "share": 1.5}, "share: expected a number above 0"),
        ({"method": "rewrite", "share": True}, "share: expected a number above 0"),
        ({"method": "rewrite", "seed": "x"}, "seed: expected a whole number"),
        ({"method": "test_chinese:double", "style": "tone"}, "'style' is no known key"),
    ],
)
def test_settings_that_are_refused(entry, message):
    with pytest.raises(InputError, match=message):
        chinese_set("zh", entry, Path())


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opencc", None)
    chinese._converter.cache_clear()
    with pytest.raises(InputError, match="need the package opencc-py"):
        Tradition().edits("头", 0, 1)
    chinese._converter.cache_clear()


# --- Data -------------------------------------------------------------------------------------------------------------

ROWS = {"format": "csv", "text": ["review"], "label": "label"}
JSONL = {"format": "jsonl", "text": ["text"], "label": "label"}
ENTRY = {"labels": {"0": "negative", "1": "positive"}, "train": JSONL, "test": JSONL}


def test_a_file_is_cut_in_two_and_read_back(tmp_path):
    texts = [f'房间"{"大" if row % 2 else "小"}"，第{row}次' for row in range(200)]
    rows = [f'{row % 2},"{text.replace(chr(34), chr(34) * 2)}"' for row, text in enumerate(texts)]
    source = tmp_path / "all.csv"
    source.write_text("label,review\n" + "\n".join([*rows[:50], "1,", *rows[50:], rows[3]]) + "\n", encoding="utf-8")
    out = {part: tmp_path / f"{part}.jsonl" for part in ("train", "test")}
    found = split_file(source, ROWS, out, share=0.3, seed=4)
    assert found["rows_in"] == 202
    assert found["empty"] == ["row 51 (line 52)"]
    assert sum(found["rows"].values()) == 201
    assert 40 < found["rows"]["test"] < 80
    read = {part: [json.loads(line)["text"] for line in out[part].read_text(encoding="utf-8").splitlines()] for part in out}
    assert sorted(read["train"] + read["test"]) == sorted([*texts, texts[3]])
    assert not set(read["train"]) & set(read["test"])
    frame, meta = read_dataset("hotel", ENTRY, {part: [str(path)] for part, path in out.items()}, 1)
    assert len(frame) == 201
    assert meta["test_texts_also_in_train"] == 0
    before = out["test"].read_bytes()
    split_file(source, ROWS, out, share=0.3, seed=4)
    assert out["test"].read_bytes() == before


def test_a_file_that_cannot_be_cut_is_refused(tmp_path):
    (tmp_path / "one.csv").write_text("label,review\n1,好\n", encoding="utf-8")
    out = {part: tmp_path / f"{part}.jsonl" for part in ("train", "test")}
    with pytest.raises(InputError, match="leaves no row for the"):
        split_file(tmp_path / "one.csv", ROWS, out)
    with pytest.raises(InputError, match="share of test texts is 1"):
        split_file(tmp_path / "one.csv", ROWS, out, share=1)


def test_simulated_reviews_can_be_learnt_but_not_by_one_word():
    frame, meta = simulate_reviews(train=400, test=100, seed=3)
    assert meta["labels"] == list(LABELS)
    assert frame["split"].value_counts().to_dict() == {"train": 360, "test": 100, "val": 40}
    assert not frame["text"].duplicated().any()
    assert frame["label"].mean() == 0.5
    assert frame.equals(simulate_reviews(train=400, test=100, seed=3)[0])
    assert not frame.equals(simulate_reviews(train=400, test=100, seed=4)[0])
    good, bad = ([clause for topic, sides in TOPICS.items() for clause in (topic + said for said in sides[side])] for side in (1, 0))
    balance = frame["text"].map(lambda text: sum(clause in text for clause in good) - sum(clause in text for clause in bad))
    assert 0.75 < ((balance > 0) == (frame["label"] == 1))[balance != 0].mean() < 0.97
    for clause in good:
        assert frame["label"][frame["text"].str.contains(clause, regex=False)].eq(0).any() or frame["text"].str.contains(clause).sum() < 20
    with pytest.raises(InputError, match="at least 20 and 2"):
        simulate_reviews(train=5, test=1)


@pytest.mark.data
def test_the_real_hotel_reviews_and_news_titles(data, tmp_path):
    folder = data / "chinese"
    out = {part: tmp_path / f"{part}.jsonl" for part in ("train", "test")}
    found = split_file(folder / "ChnSentiCorp_htl_all.csv", ROWS, out, share=0.2, seed=0)
    assert (found["rows_in"], found["rows"], found["empty"]) == (7766, {"train": 6188, "test": 1577}, ["row 6375 (line 6376)"])
    frame, _ = read_dataset("hotel", ENTRY, {part: [str(path)] for part, path in out.items()}, 1)
    assert len(frame) == 7765
    names = (folder / "thucnews_class.txt").read_text(encoding="utf-8").split()
    part = {"format": "tsv", "header": False, "text": [0], "label": 1}
    entry = {"labels": {str(place): name for place, name in enumerate(names)}, "train": part, "test": part}
    frame, meta = read_dataset("news", entry, {"train": [str(folder / "thucnews_dev.txt")], "test": [str(folder / "thucnews_test.txt")]}, 1)
    assert len(frame) == 20000
    assert len(meta["labels"]) == 10
    # What the splitting relies on: about two fifths of running text are left-right characters that it can split.
    titles = "".join(frame["text"])
    han = [character for character in titles if "\u4e00" <= character <= "\u9fff"]
    assert 0.3 < sum(bool(left_right(character)) for character in han) / len(han) < 0.45
