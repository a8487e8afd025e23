"""ANTHRO's look-up: sounds and readings by hand, strict and not, tables that are wrong, and the real dictionary."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muattack.errors import InputError
from muattack.mutate.anthro import (
    Anthro,
    count_tokens,
    homoglyph,
    keeps_vowels,
    ordinary,
    read_corpus,
    read_table,
    readings,
    sound,
    tokens,
)

few = settings(max_examples=40, deadline=None)
strange = st.text(st.characters(categories=["L", "N", "M", "P", "S", "Z", "C", "Cs"]), max_size=40)
ENGLISH = {"silly", "sally", "sully", "plan", "street", "strait"}


@pytest.mark.parametrize(
    ("letters", "level", "code"),
    [
        ("silly", 1, "SI4"),
        ("silly", 0, "S4"),
        ("republicans", 1, "RE114252"),
        ("republiecans", 1, "RE114252"),
        ("stolid", 1, "ST43"),
        ("stollld", 1, "ST43"),
        ("edditor", 1, "ED36"),
        ("editor", 1, "ED36"),
        ("pfister", 0, "P236"),
        ("ashcraft", 0, "A2613"),
        ("tymczak", 0, "T522"),
        ("a", 2, "A"),
        ("", 1, ""),
    ],
)
def test_a_sound_is_its_first_letters_and_all_codes_after_them(letters, level, code):
    assert sound(letters, level) == code


@pytest.mark.parametrize(
    ("token", "first", "among"),
    [
        ("5illy", "silly", None),
        ("j0ke", "joke", None),
        ("$t@ble", "stable", None),
        ("f1ne", "flne", "fine"),
        ("ѕіllу", "silly", None),
        ("Ѕilly", "silly", None),
        ("s\u200billy", "silly", None),
        ("naïve", "naive", None),
        ("ｓｉｌｌｙ", "silly", None),
        ("ϵαt", "eat", None),
        ("日本", "日本", None),
    ],
)
def test_look_alikes_are_folded(token, first, among):
    assert readings(token)[0] == first
    assert among is None or among in readings(token)


def test_letters_of_other_scripts_keep_their_case_and_others_stay():
    assert "".join(map(homoglyph, "АαΕІіöſ日1Q")) == "AaEIios日1Q"


def test_tokens_are_words_with_the_signs_that_stand_for_letters():
    assert tokens("That's $illy! s!lly, st*lid. 911 red-hot j@r 😀 s\u200blow end.Next") == [
        "That's", "$illy", "s!lly", "st*lid", "red", "hot", "j@r", "s\u200blow", "end", "Next",
    ]  # fmt: skip


def test_no_vowel_may_become_another():
    assert keeps_vowels("stolid", "stold")
    assert keeps_vowels("stolid", "stoooolid")
    assert keeps_vowels("republicans", "repubLIEcans")
    assert keeps_vowels("silly", "s1lly")
    assert not keeps_vowels("silly", "sully")
    assert not keeps_vowels("silly", "sylli")


def test_forms_have_the_sound_and_the_strict_mode_drops_words_and_changed_vowels():
    counts = count_tokens(["silly sillyyy sillyyy SiLLy s1lly sillly sally slly Silly SILLY sulky sillyistic", "strait street str33t strt strEEt"])
    strict = Anthro(counts, english=ENGLISH)
    assert strict.forms("silly") == ("sillyyy", "SiLLy", "s1lly", "sillly")
    assert strict.forms("Silly") == strict.forms("silly")
    assert Anthro(counts, level=0, english=ENGLISH).forms("silly") == ("sillyyy", "SiLLy", "s1lly", "sillly", "slly")
    loose = Anthro(counts, level=0, strict=False, english=ENGLISH).forms("silly")
    assert "sally" in loose
    assert "sulky" not in loose  # Another sound.
    assert "sillyistic" not in loose
    assert Anthro(counts, level=1, strict=False, english=ENGLISH).forms("street") == ("str33t", "strEEt", "strait", "strt")
    assert strict.forms("street") == ("str33t", "strEEt", "strt")
    assert Anthro(counts, distance=1, english=ENGLISH).forms("silly") == ("SiLLy", "s1lly", "sillly")
    assert strict.forms("plan") == ()
    assert strict.table() == {word: strict.forms(word) for word in ("silly", "street")} | {
        word: forms for word in ("sally", "strait") if (forms := strict.forms(word))
    }


def test_the_order_of_a_corpus_does_not_matter():
    lines = ["silly sillyy", "SiLLy slly", "sillly sillyy"]
    assert Anthro(count_tokens(lines), english=ENGLISH).table() == Anthro(count_tokens(reversed(lines)), english=ENGLISH).table()


def test_rare_tokens_can_be_left_out():
    assert count_tokens(["a silly a plan", "plan"], minimum=2) == {"a": 2, "plan": 2}


@few
@given(strange)
def test_no_string_makes_it_raise(text):
    for token in tokens(text):
        assert 1 <= len(readings(token)) <= 8
        assert all(sound(one, level).isascii() or not one.isascii() for one in readings(token) for level in (0, 1))
    counts = count_tokens([text])
    look_up = Anthro(counts, english=ENGLISH)
    for token in counts:
        assert token in look_up.forms(token) or ordinary(token, token)


@pytest.mark.parametrize("text", ["a!" * 25_000, "1" * 50_000, "a" + "!" * 50_000, "é\u0301" * 25_000, "x'" * 25_000, "a\u200b" * 25_000])
def test_long_strings_take_no_time(text):
    begun = time.process_time()
    assert all(readings(token) for token in tokens(text))
    assert time.process_time() - begun < 1


def test_a_table_is_read_and_ordinary_spellings_left_out(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"Silly": ["sillyyy", "SILLY", "s1lly", "sillyyy"], "silly": ["slly"], "plan": ["Plan"]}), encoding="utf-8")
    assert read_table(path) == {"silly": ("sillyyy", "s1lly", "slly")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds a list, not an object"),
        ('{"silly": "slly"}', "the forms of 'silly' are no list of texts ('slly')"),
        ('{"silly": ["slly", 3]}', "are no list of texts (3)"),
        ('{"silly": [""]}', "has the form ''"),
        ('{"silly": ["sl ly"]}', "has the form 'sl ly'"),
        ('{"silly plan": ["x"]}', "'silly plan' is not one word"),
        ('{"silly": ["\\ud800"]}', "half of a surrogate pair"),
        ('{"silly": ["a"], "silly": ["b"]}', "the key 'silly' stands twice"),
        ('{"silly": ["SILLY"]}', "no word with a form"),
        ("{", "is not JSON"),
        ('{"silly": [NaN]}', "NaN is no number"),
    ],
)
def test_a_table_of_the_wrong_shape_is_an_error(tmp_path, content, said):
    path = tmp_path / "table.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"table\.json") as raised:
        read_table(path)
    assert said in str(raised.value)


def test_missing_empty_and_foreign_files_are_errors(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_table(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_corpus([tmp_path])
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_corpus([tmp_path / "latin.txt"])
    (tmp_path / "empty.txt").write_bytes(b"\n")
    with pytest.raises(InputError, match="is empty"):
        read_corpus([tmp_path / "empty.txt"])
    (tmp_path / "one.txt").write_bytes(b"one\r\ntwo\n")
    assert read_corpus([tmp_path / "one.txt"]) == ["one", "two"]


@pytest.mark.data
def test_the_real_tables_forms_are_found_by_sound(data):
    """Given the released forms as a corpus, the look-up of every word finds its own: the released dictionary asked with k = 1, d = 5."""
    for name, words, forms in (("hard_pert.json", 689, 2930), ("raw_pert_api.json", 330, 2860)):
        table = read_table(data / "perturbations" / "noisyhate" / name)
        assert (len(table), sum(map(len, table.values()))) == (words, forms)
        look_up = Anthro(dict.fromkeys((form for of_word in table.values() for form in of_word), 1), strict=False, english=())
        missed = [form for word, of_word in table.items() for form in set(of_word) - set(look_up.forms(word))]
        assert len(missed) <= 1
