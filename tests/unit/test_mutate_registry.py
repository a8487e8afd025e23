"""Operator sets by configuration: sizes, own word lists and maps, and what bad ones are told."""

import pytest

from muattack.config import DEFAULTS, read_yaml
from muattack.errors import InputError
from muattack.mutate import corrupt, registry
from muattack.mutate.operator import Edit, Mutation
from muattack.mutate.registry import OperatorSet, check_tasks, files_of, join, load_sets, make_set, own_list, resolve

MUTATE = read_yaml(DEFAULTS)["mutate"]
NINE = [f"{kind}_{words}" for kind in ("word", "char_a", "char_e") for words in ("articles", "adjectives", "adverbs")]


def test_the_nine_sets_hold_2355_operators_and_those_without_the_letter_are_not_effective():
    sets = load_sets(MUTATE)
    assert list(sets) == NINE
    assert [one.nominal for one in sets.values()] == [3, 527, 255] * 3
    assert sum(one.nominal for one in sets.values()) == 2355
    for name, one in sets.items():
        letter = {"char_a": "a", "char_e": "e"}.get(name.rpartition("_")[0], "")
        assert one.effective == sum(letter in word for word in own_list(name.rpartition("_")[2]))
    assert sets["char_a_articles"].effective == 2
    assert sets["char_e_articles"].effective == 1


def test_default_tasks_join_the_sets_they_name():
    check_tasks(MUTATE, load_sets(MUTATE))
    assert join(resolve(MUTATE, "mcr")).apply("The man ate AN egg").text == "Thϵ man ate ΑN egg"
    assert join(resolve(MUTATE, "mcj")).apply("A large white Area").text == "A lαrgϵ whitϵ Area"
    assert join(resolve(MUTATE, "mwd")).apply("Very slowly they go together.").text == "they go."
    assert [one.name for one in resolve(MUTATE, "mcd")] == ["char_a_adverbs", "char_e_adverbs"]


def test_own_files_and_lists(tmp_path):
    (tmp_path / "greetings.txt").write_bytes("hi\r\nhello\r\nçava\r\n".encode())
    made = make_set("mine", {"kind": "word", "words": "greetings.txt", "replacement": "hey"}, tmp_path)
    assert made.words == ("hi", "hello", "çava")
    assert made.operator.apply("Hello, ÇAVA hi-hat").text == "Hey, HEY hey-hat"
    assert make_set("mine", {"kind": "word", "words": str(tmp_path / "greetings.txt")}).words == made.words
    listed = make_set("mine", {"kind": "character", "words": ["no", "one"], "letters": {"o": "0"}, "occurrences": "first"})
    assert listed.operator.apply("No one, nobody").text == "N0 0ne, nobody"
    exact = make_set("mine", {"kind": "word", "words": ["May", "may"], "case_sensitive": True})
    assert exact.operator.apply("May may MAY").text == "MAY"


def test_files_that_a_set_names():
    assert [files_of(settings) for settings in MUTATE["sets"].values()] == [{}] * 9
    assert files_of({"kind": "word", "words": "mine.txt"}) == {"words": "mine.txt"}
    assert files_of({"kind": "word", "words": ["red"]}) == {}
    assert files_of({"kind": "corrupt", "severity": 1, "base": "mine.json"}) == {"base": "mine.json"}
    assert files_of({"kind": "corrupt", "severity": 1, "base": "own", "synonyms": "wn/dict"}) == {"synonyms": "wn/dict"}
    for source in corrupt.SYNONYM_SOURCES:
        assert files_of({"kind": "corrupt", "severity": 1, "synonyms": source}) == {}


def test_a_set_that_can_match_nothing_is_allowed_and_counted():
    made = make_set("z", {"kind": "character", "words": "articles", "letters": {"z": "2"}})
    assert (made.nominal, made.effective) == (3, 0)
    assert not made.operator.apply("the zoo").changed


def test_a_capital_in_the_map_counts_unless_words_match_in_their_case():
    settings = {"kind": "character", "words": ["an", "the"], "letters": {"A": "4"}}
    assert make_set("x", settings).effective == 1
    assert make_set("x", {**settings, "case_sensitive": True}).effective == 0


@pytest.mark.parametrize(
    ("content", "row", "message"),
    [
        (b"red\n\nblue\n", "row 2", "no word"),
        (b"red\n  \n", "row 2", "no word"),
        (b"red\nblue\nRed\n", "row 3", "already, in row 1"),
        (b"red\ndark blue\n", "row 2", "dark and blue"),
        (b"red\nred-haired\n", "row 2", "red and haired"),
        (b"red \n", "row 1", "blanks around"),
        (b"red\n\xff\n", "row 2", "UTF-8"),
        (b"\xef\xbb\xbfred\n", "", "byte order mark"),
        (b"", "", "empty"),
        (b"...\n", "row 1", "not one word"),
        (b"red\n\n", "row 2", "no word"),
    ],
)
def test_bad_word_lists_name_file_and_row(tmp_path, content, row, message):
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(InputError) as error:
        make_set("mine", {"kind": "word", "words": "list.txt"}, tmp_path)
    assert str(tmp_path / "list.txt") in str(error.value)
    assert row in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words": "articles"}, "needs a kind"),
        ("articles", "needs a kind"),
        ({"kind": "words", "words": "articles"}, "Did you mean word"),
        ({"kind": "word"}, "mutate.sets.mine.words"),
        ({"kind": "word", "words": []}, "empty"),
        ({"kind": "word", "words": [True]}, "quotes"),
        ({"kind": "word", "words": ["a", "A"]}, "entry 2"),
        ({"kind": "word", "words": "article"}, "Did you mean articles"),
        ({"kind": "word", "words": "missing/list.txt"}, "missing/list.txt does not exist"),
        ({"kind": "word", "words": "."}, "cannot be read"),
        ({"kind": "word", "words": "articles", "letters": {"a": "b"}}, "letters"),
        ({"kind": "word", "words": "articles", "replacment": ""}, "Did you mean replacement"),
        ({"kind": "word", "words": "articles", "replacement": " x"}, "outer blanks"),
        ({"kind": "word", "words": "articles", "replacement": None}, "replacement"),
        ({"kind": "word", "words": "articles", "case": "lower"}, "keep, exact"),
        ({"kind": "word", "words": "articles", "case_sensitive": "no"}, "true or false"),
        ({"kind": "character", "words": "articles"}, "letters"),
        ({"kind": "character", "words": "articles", "letters": {}}, "letters"),
        ({"kind": "character", "words": "articles", "letters": {1: "l"}}, "quotes"),
        ({"kind": "character", "words": "articles", "letters": {"ab": "c"}}, "not one letter"),
        ({"kind": "character", "words": "articles", "letters": {"-": "c"}}, "not one letter"),
        ({"kind": "character", "words": "articles", "letters": {"a": ""}}, "at least one character"),
        ({"kind": "character", "words": "articles", "letters": {"a": "b c"}}, "no blanks"),
        ({"kind": "character", "words": "articles", "letters": {"a": "a"}}, "becomes itself"),
        ({"kind": "character", "words": "articles", "letters": {"a": "b"}, "occurrences": "one"}, "all, first"),
    ],
)
def test_bad_settings_are_explained(settings, message):
    with pytest.raises(InputError) as error:
        make_set("mine", settings)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["clean", "a/b", "", "ä", ".x", 3])
def test_bad_names_are_refused(name):
    with pytest.raises(InputError, match="name"):
        load_sets({"sets": {name: {"kind": "word", "words": "articles"}}})


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"mwx": ["word_article"]}, "Did you mean word_articles"),
        ({"mwx": []}, "list of sets"),
        ({"mwx": "word_articles"}, "list of sets"),
        ({"mwx": ["word_articles", "word_articles"]}, "twice"),
        ({"word_articles": ["word_adverbs"]}, "Rename"),
        ({"operators": ["word_adverbs"]}, "taken"),
        (["mwr"], "expected names"),
    ],
)
def test_bad_tasks_are_explained(tasks, message):
    with pytest.raises(InputError, match=message):
        check_tasks({"tasks": tasks}, load_sets(MUTATE))


def test_no_set_at_all_and_unknown_names():
    with pytest.raises(InputError, match="no operator set"):
        load_sets({"sets": {}})
    with pytest.raises(InputError, match="Did you mean mwr"):
        resolve(MUTATE, "mwrr")


class Shout:
    """A family of its own: as many exclamation marks at the end as the generator says."""

    name = "shout"

    def apply(self, text, rng=None):
        edit = Edit(len(text), len(text), "!" * rng.randint(1, 9))
        return Mutation(text + edit.replacement, (edit,))


def shout_set(name, settings, folder):
    return OperatorSet(name, "shout", (), dict(settings), Shout(), 1, 1)


@pytest.mark.parametrize("factory", [shout_set, f"{__name__}:shout_set"])
def test_a_new_kind_plugs_in(monkeypatch, factory):
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    registry.register("shout", factory)
    sets = load_sets({"sets": {"loud": {"kind": "shout"}, "word": {"kind": "word", "words": "articles"}}})
    check_tasks({"tasks": {"t": ["loud"]}}, sets)
    with pytest.raises(InputError, match="cannot share a task"):
        check_tasks({"tasks": {"t": ["loud", "word"]}}, sets)
