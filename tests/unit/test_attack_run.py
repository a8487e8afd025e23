"""Attacks on victims that a test understands: constraints, statuses, shards, resuming, what goes wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import micro
import numpy as np
import pandas as pd
import pytest
import toy_victims

from muattack.attack.records import apply_edits, gather, read_attack
from muattack.attack.run import attack_texts
from muattack.errors import InputError

TEXTS = (
    "a dog standing on the street, a girl on a bench!",
    "A Dog, standing in the street; the girl (bench) waits",
    "the girl and the dog were standing about the bench in the street",
)
TABLE = {
    "dog": ["cat", "hound", "puppy"], "standing": ["waiting", "sitting"], "street": ["road", "lane"], "girl": ["woman", "child"], "bench": ["seat", "stool"],
}  # fmt: skip
CONSTRAINTS = {"epsilon_min": 0.3, "k_max": 10, "rho_max": 0.5, "queries_per_word": None}
LOOSE = {"measure": "cosine", "precision": "float32"}
CHARACTER = ("textbugger", "deepwordbug")


def frame(texts) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"t-{i}" for i in range(len(texts))], "text": list(texts), "label": 1})


@pytest.fixture
def attack(tmp_path):
    """Attack texts with little said; returns the header and the records."""
    (tmp_path / "table.json").write_text(json.dumps(TABLE))

    def run(recipe="textfooler", victim="keyword", texts=TEXTS, out="out.jsonl", **other):
        arguments = {
            "victim": victim, "dataset": "toys", "labels": ["no", "yes"], "synonyms": tmp_path / "table.json", "similarity": LOOSE,
            "encoder": micro.frozen_bert(), "language_model": None, "state": tmp_path / "state", "seed": 1,
        }  # fmt: skip
        constraints = {key: other.pop(key) for key in list(other) if key in CONSTRAINTS}
        folder = other.pop("folder", f"toy_victims:{victim}")
        settings = {"recipe": recipe, **CONSTRAINTS, **constraints}
        texts = texts if isinstance(texts, pd.DataFrame) else frame(texts)
        attack_texts(texts, folder, **{**arguments, **other}, attacks={recipe: settings}, out={recipe: tmp_path / out})
        return read_attack(tmp_path / out)

    return run


def without_seconds(path: Path) -> list[dict]:
    return [{key: value for key, value in json.loads(line).items() if key != "seconds"} for line in path.read_text().split("\n")[:-1]]


def check(records: pd.DataFrame, constraints: dict) -> None:
    """What every record of every recipe must keep to."""
    for row in records.itertuples():
        assert row.queries <= max(1, (constraints["queries_per_word"] or constraints["k_max"]) * row.words)
        if row.status == "succeeded":
            assert apply_edits(row.original, row.edits) == row.adversarial != row.original
            assert row.predicted_after != row.label == row.predicted_before
            assert row.similarity >= constraints["epsilon_min"]
            assert 1 <= row.words_changed == len(row.edits) <= constraints["rho_max"] * row.words
        else:
            assert row.adversarial is None
            assert row.edits == []


def wordnet(folder: Path, synsets: list[tuple[str, ...]]) -> Path:
    """Write a WordNet of these nouns in the form of the real one's files."""
    root = folder / "corpora" / "wordnet"
    root.mkdir(parents=True)
    for pos in ("noun", "verb", "adj", "adv"):
        (root / f"{pos}.exc").write_text("")
        (root / f"index.{pos}").write_text("")
        (root / f"data.{pos}").write_text("")
    for name in ("cntlist.rev", "index.sense"):
        (root / name).write_text("")
    (root / "lexnames").write_text("".join(f"{i:02d}\tnoun.made{i}\t1\n" for i in range(4)))
    data, index = "  1 a header of the made file\n", {}
    for words in synsets:
        place = len(data)
        data += f"{place:08d} 03 n {len(words):02x} {' '.join(f'{word} 0' for word in words)} 000 | a made gloss\n"
        for word in words:
            index.setdefault(word, []).append(place)
    (root / "data.noun").write_text(data)
    lines = [f"{word} n {len(at)} 0 {len(at)} 0 {' '.join(f'{place:08d}' for place in at)}  \n" for word, at in sorted(index.items())]
    (root / "index.noun").write_text("".join(lines))
    return folder


@pytest.fixture
def resources(tmp_path, monkeypatch):
    """What a recipe needs beside a table: WordNet, a masked language model."""
    import nltk

    synsets = [("dog", "domestic_dog", "Hound"), ("cad", "dog"), ("girl", "miss"), ("street", "road"), ("bench", "settle"), ("standing", "status")]
    monkeypatch.setattr(nltk.data, "path", [str(wordnet(tmp_path / "nltk", synsets))])
    return {"language_model": micro.tiny()}


# --- Recipes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["textfooler", "textbugger", "textbugger_word", "bert_attack", "pwws", "deepwordbug"])
def test_each_recipe_succeeds_on_a_toy_victim_and_fails_on_a_constant_one(attack, resources, recipe):
    header, records = attack(recipe, **resources)
    check(records, CONSTRAINTS)
    assert "succeeded" in set(records["status"]), records[["status", "reason"]]
    assert header["attack"]["recipe"] == recipe
    assert header["attack"]["ranking"] == {"bert_attack": "unk", "pwws": "weighted-saliency"}.get(recipe, header["attack"]["ranking"])
    _, records = attack(recipe, "constant", out="constant.jsonl", **resources)
    assert set(records["status"]) == {"failed"}
    check(records, CONSTRAINTS)
    assert (records["queries"] > 1).all()


def test_textfooler_takes_the_substitutes_of_the_table_in_the_case_of_the_word(attack):
    _, records = attack(texts=TEXTS[1:2], rho_max=1.0)
    row = records.iloc[0]
    assert row["status"] == "succeeded"
    for edit in row["edits"]:
        word = row["original"][edit["start"] : edit["end"]]
        assert edit["replacement"].lower() in TABLE[word.lower()]
        assert edit["replacement"].istitle() == word.istitle()


def test_pwws_ranks_by_saliency_times_gain():
    # Ren et al. 2019, Eq. 4-8, by hand: softmax of the saliencies times the gain of the best substitute over the text as it is.
    from muattack.attack.search import Greedy
    from muattack.attack.slots import SlotText

    class Result:
        def __init__(self, score):
            self.score = score

    search = Greedy("weighted-saliency", "[UNK]", None)
    unknown, best, search.before = [0.5, 0.4, 0.3], [0.41, 0.6, 0.55], 0.4
    text = SlotText("one two three")
    search.get_indices_to_order = lambda given: (3, [2, 0, 1])
    search.get_transformations = lambda given, original_text, indices_to_modify: [text.replace_word_at_index(indices_to_modify[0], "new")]

    def ask(texts):
        scores = [unknown[i] if word == "[UNK]" else best[i] for given in texts for i, word in given.changes.items()]
        return [Result(score) for score in scores], False

    search.get_goal_results = ask
    weights = np.exp(unknown) / np.exp(unknown).sum()
    assert search._get_index_order(text)[0] == np.argsort(-weights * (np.array(best) - 0.4)).tolist() == [1, 2, 0]


# --- Constraints ------------------------------------------------------------------------------------------------------


def test_k_max_bounds_the_substitutes_and_q_max_the_queries(attack):
    toy_victims.CALLS.clear()
    header, one = attack("textbugger_word", "lengthy", k_max=1)
    assert header["attack"]["queries_per_word"] == 1
    _, three = attack("textbugger_word", "lengthy", k_max=3)
    assert (one["queries"] < three["queries"]).all()
    _, few = attack("textbugger_word", "lengthy", queries_per_word=0.5)
    assert few["queries"].tolist() == [int(words * 0.5) for words in few["words"]]
    assert set(few["reason"]) == {"the queries are used up"}


def test_rho_max_is_a_share_that_is_never_passed_not_even_by_a_space(attack):
    # TextBugger's first bug puts a space into a word: stock's limit counts every word behind it.
    for rho in (0.1, 0.2, 0.25, 0.3):
        _, records = attack("textbugger", rho_max=rho, out=f"{rho}.jsonl")
        check(records, {**CONSTRAINTS, "rho_max": rho})
    _, records = attack("textfooler", texts=["dog standing street"], rho_max=0.3)
    assert records["reason"].tolist() == ["rho_max 0.3 lets no word of 3 change"]
    assert records["queries"].tolist() == [1]


def test_epsilon_min_holds_for_short_texts_and_against_the_original(attack):
    # B12: TextFooler's recipe checks no text under 15 words.
    _, free = attack("textfooler", epsilon_min=0.0, rho_max=1.0)
    assert set(free["status"]) == {"succeeded"}
    bound = float(free["similarity"].max()) + 1e-6
    _, records = attack("textfooler", epsilon_min=min(bound, 1.0), rho_max=1.0)
    check(records, {**CONSTRAINTS, "epsilon_min": bound, "rho_max": 1.0})
    _, none = attack("textfooler", epsilon_min=1.0, rho_max=1.0)
    assert set(none["status"]) == {"failed"}


def test_stop_words_are_left_alone_in_any_case(attack):
    _, records = attack("deepwordbug", "lengthy", texts=["The and OF about."])
    assert records["status"].tolist() == ["failed"]
    assert records["queries"].tolist() == [1]


def test_antonyms_are_no_substitutes(attack, tmp_path):
    (tmp_path / "ant.txt").write_text("dog cat\nstreet road\nbench seat\ngirl woman\nstand wait\n")
    header, records = attack("textfooler", antonyms=tmp_path / "ant.txt", rho_max=1.0)
    used = {edit["replacement"].lower() for edits in records["edits"] for edit in edits}
    assert used
    # "standing" and "waiting" are forms of the pair stand, wait.
    assert not used & {"cat", "road", "seat", "woman", "waiting"}
    assert len(header["attack"]["antonyms_sha256"]) == 64


# --- Texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", ["textfooler", "textbugger", "bert_attack", "deepwordbug"])
def test_odd_texts_end_in_a_record(attack, resources, recipe):
    # B9 and the queries of an empty text (a budget of 0 words): none of these may raise.
    texts = ["", " ", "123 !!!", "?", "dog", "🙂🙂", "\n\t", "a\u0000b \ufeffc", "<SPLIT> dog <SPLIT>", "[UNK] <mask> dog street"]
    _, records = attack(recipe, "constant", texts=texts, rho_max=1.0, **resources)
    assert records["original"].tolist() == texts
    assert set(records["status"]) == {"failed"}, records[["status", "reason"]].to_string()
    assert records["reason"].tolist()[:2] == ["the text has no words"] * 2


@pytest.mark.parametrize("words", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_very_long_text_ends_within_the_limit(attack, words):
    # The ranking asks for as many texts as there are words; the victim sees fifty tokens of each.
    long = "dog standing street girl bench lorem ipsum dolor sit amet, " * (words // 10)
    _, records = attack("textfooler", folder=own_victim(), labels=["human", "machine"], texts=[long, "a dog"], seconds=90.0, epsilon_min=0.0)
    assert records["words"].tolist() == [words, 2]
    assert records["status"].iloc[0] == "failed"
    assert records["queries"].iloc[0] > 2 * words
    assert records["seconds"].max() < 90


@pytest.mark.slow
def test_ten_thousand_words_of_which_the_encoder_sees_all_end_in_a_record(attack):
    long = "dog standing street girl bench lorem ipsum dolor sit amet, " * 1000
    _, records = attack("deepwordbug", folder=own_victim(), labels=["human", "machine"], texts=[long], seconds=5.0)
    assert records["status"].iloc[0] in ("failed", "timed_out")
    assert records["seconds"].iloc[0] < 10


def test_nothing_outside_the_edits_changes(attack):
    text = "\u00a0 A  dog,\tstanding -- on the\r\nstreet… 'girl' \u200b(bench)  "
    _, records = attack("textfooler", texts=[text], rho_max=1.0)
    assert records["status"].tolist() == ["succeeded"]
    assert records["original"].tolist() == [text]


# --- Shards, resuming, determinism ------------------------------------------------------------------------------------


def test_neither_shards_nor_order_change_a_record(attack, tmp_path):
    texts = frame([*TEXTS, "", "a cat"])
    attack("textbugger", texts=texts, out="whole.jsonl", state=tmp_path / "whole")
    whole = without_seconds(tmp_path / "whole.jsonl")[1:]
    for shards in (2, 7):
        paths = [tmp_path / f"{shards}-{shard}.jsonl" for shard in range(shards)]
        for shard, path in enumerate(paths):
            from_shard = {"shard": shard, "shards": shards}
            settings = {"bugs": {"recipe": "textbugger", **CONSTRAINTS}}
            attack_texts(
                texts, "toy_victims:keyword", "keyword", "toys", ["no", "yes"], settings, tmp_path / "table.json", LOOSE, micro.frozen_bert(), None,
                {"bugs": path}, tmp_path / "state", 1, **from_shard,
            )  # fmt: skip
        gather(paths, tmp_path / "gathered.jsonl")
        assert without_seconds(tmp_path / "gathered.jsonl")[1:] == whole
    attack("textbugger", texts=texts.iloc[::-1], out="back.jsonl", state=tmp_path / "back")
    assert without_seconds(tmp_path / "back.jsonl")[1:][::-1] == whole


@pytest.mark.slow
def test_no_hash_seed_changes_a_record(attack, tmp_path):
    attack("textbugger", out="here.jsonl")
    code = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import pandas as pd
from muattack.attack.run import attack_texts
attack_texts(pd.read_parquet(sys.argv[1]), "toy_victims:keyword", "keyword", "toys", ["no", "yes"], { ({"bugs": {"recipe": "textbugger", **CONSTRAINTS}})!r},
    sys.argv[2], {LOOSE!r}, {micro.frozen_bert()!r}, None, {{"bugs": sys.argv[3]}}, sys.argv[4], 1)
"""
    frame(TEXTS).to_parquet(tmp_path / "texts.parquet")
    arguments = [str(tmp_path / name) for name in ("texts.parquet", "table.json", "there.jsonl", "state")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env={**os.environ, "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "2"})
    assert without_seconds(tmp_path / "here.jsonl") == without_seconds(tmp_path / "there.jsonl")


def test_a_killed_shard_goes_on_to_the_same_bytes(attack, tmp_path, monkeypatch, capsys):
    from muattack.attack import run

    attack("textbugger", out="left_alone.jsonl", state=tmp_path / "of its own")
    done = []
    once = run.attack_one

    def dies(*arguments):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(arguments[4])
        return once(*arguments)

    monkeypatch.setattr(run, "attack_one", dies)
    with pytest.raises(KeyboardInterrupt):
        attack("textbugger")
    assert not (tmp_path / "out.jsonl").exists()
    [state] = (tmp_path / "state").iterdir()
    # A record cut off while it was written.
    state.write_text(state.read_text() + '0123456789abcdef {"id": "t-2", "lab')
    again = []
    monkeypatch.setattr(run, "attack_one", lambda *arguments: again.append(arguments[4]) or once(*arguments))
    attack("textbugger")
    assert again == ["t-2"]
    assert "2 of 3 texts are done already" in capsys.readouterr().out
    assert without_seconds(tmp_path / "out.jsonl") == without_seconds(tmp_path / "left_alone.jsonl")


def test_what_is_done_is_not_done_again_for_another_attack_or_more_texts(attack, tmp_path, monkeypatch):
    from muattack.attack import run

    table, labels = tmp_path / "table.json", ["no", "yes"]
    recipes = {name: {"recipe": recipe, **CONSTRAINTS} for name, recipe in (("first", "textfooler"), ("second", "deepwordbug"))}
    asked, once = [], run.attack_one
    monkeypatch.setattr(run, "attack_one", lambda *arguments: asked.append(arguments[4]) or once(*arguments))

    def together(names, texts):
        asked.clear()
        attacks, out = {name: recipes[name] for name in names}, {name: tmp_path / f"{name}.jsonl" for name in names}
        attack_texts(
            texts, "toy_victims:keyword", "keyword", "toys", labels, attacks, table, LOOSE, micro.frozen_bert(), None, out, tmp_path / "kept", 1
        )
        return list(asked)

    texts = frame(TEXTS)
    assert together(["first"], texts.iloc[:2]) == ["t-0", "t-1"]
    assert together(["second", "first"], texts.iloc[:2]) == ["t-0", "t-1"]
    assert together(["second", "first"], texts) == ["t-2", "t-2"]
    # As by themselves.
    for name, recipe in (("first", "textfooler"), ("second", "deepwordbug")):
        attack(recipe, out="alone.jsonl", state=tmp_path / f"{name} alone")
        alone, kept = (without_seconds(tmp_path / f"{one}.jsonl") for one in ("alone", name))
        assert alone == kept
    # Another text under the same name, or another label, is another text.
    texts.loc[0, "text"] = "a girl on the street"
    texts.loc[1, "label"] = 0
    assert together(["first"], texts) == ["t-0", "t-1"]


@pytest.mark.parametrize("damage", ["stale", "damaged", "another text"])
def test_a_stale_or_damaged_state_is_named_and_not_used(attack, tmp_path, monkeypatch, capsys, damage):
    from muattack.attack import run

    once = run.attack_one

    def dies(*arguments):
        if arguments[4] == "t-2":
            raise KeyboardInterrupt
        return once(*arguments)

    monkeypatch.setattr(run, "attack_one", dies)
    with pytest.raises(KeyboardInterrupt):
        attack("textbugger")
    [state] = (tmp_path / "state").iterdir()
    text = state.read_text()
    if damage == "damaged":
        state.write_text(text.replace('"queries"', '"quer', 1))
    elif damage == "another text":
        state.write_text(text.replace("a dog standing", "a dog sitting", 1))
    again = []
    monkeypatch.setattr(run, "attack_one", lambda *arguments: again.append(arguments[4]) or once(*arguments))
    attack("textbugger", **({"k_max": 9} if damage == "stale" else {}))
    assert again == ["t-0", "t-1", "t-2"]
    assert ("state of other settings" if damage == "stale" else "is damaged") in capsys.readouterr().out


# --- What goes wrong --------------------------------------------------------------------------------------------------


def test_a_text_whose_attack_raises_becomes_an_error_and_the_others_go_on(attack, monkeypatch):
    from muattack.attack.substitutes import Neighbours

    find = Neighbours.find

    def fails(self, text, index):
        if "(bench)" in text.original:
            raise RuntimeError("out of luck")
        return find(self, text, index)

    monkeypatch.setattr(Neighbours, "find", fails)
    _, records = attack("textfooler")
    assert records["status"].tolist()[1] == "error"
    assert records["reason"].iloc[1] == "RuntimeError: out of luck"
    assert records["predicted_before"].iloc[1] == 1
    assert "succeeded" in {records["status"].iloc[0], records["status"].iloc[2]}


def test_a_victim_that_returns_nan_is_told_and_loses_nothing(attack, tmp_path):
    # No word of the first text may change; the second meets the NaN.
    texts = frame(["a dog", "the girl"])
    with pytest.raises(InputError, match="score that is not finite"):
        attack("textfooler", "broken", texts=texts, rho_max=0.3)
    assert not (tmp_path / "out.jsonl").exists()
    [state] = (tmp_path / "state").iterdir()
    first = json.loads(state.read_text().split("\n")[1].split(" ", 1)[1])
    assert (first["id"], first["status"]) == ("t-0", "failed")


def test_a_text_that_takes_too_long_is_given_up(attack):
    _, records = attack("textfooler", "slow", texts=TEXTS[:2], seconds=0.1)
    assert set(records["status"]) == {"timed_out"}
    assert set(records["reason"]) == {"the limit of 0.1 s for one text"}
    assert records["predicted_before"].tolist() == [1, 1]
    assert (records["seconds"] < 5).all()


def test_misclassified_texts_are_skipped_after_one_query(attack):
    table = frame(TEXTS)
    table["label"] = 0
    _, records = attack("textfooler", texts=table)
    assert set(records["status"]) == {"skipped"}
    assert records["queries"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("other", "match"),
    [
        ({"recipe": "textfoolr"}, "recipe 'textfoolr', which is none of textfooler"),
        ({"epsilon_min": 1.2}, r"epsilon_min of the attack textfooler is 1\.2, but must lie in \[0, 1\]"),
        ({"epsilon_min": float("nan")}, "epsilon_min"),
        ({"epsilon_min": None}, "lacks epsilon_min"),
        ({"k_max": 0}, "k_max of the attack textfooler is 0"),
        ({"k_max": 2.5}, "whole number"),
        ({"k_max": True}, "k_max"),
        ({"rho_max": 0}, r"rho_max .* must lie in \]0, 1\]"),
        ({"rho_max": -0.1}, "rho_max"),
        ({"queries_per_word": 0}, "queries_per_word .* must be above 0"),
        ({"similarity": {"measure": "euclid", "precision": "float32"}}, "must be cosine or angular"),
        ({"seconds": 0}, r"attacks\.seconds is 0"),
        ({"shard": 2, "shards": 2}, "Shard 2 of 2"),
        ({"labels": ["only"]}, "has the label 1, but the classes are 1"),
        ({"recipe": "bert_attack"}, "needs a masked language model"),
        ({"synonyms": None}, "table of synonyms, and none was given"),
    ],
)
def test_settings_that_no_attack_can_keep_to(attack, other, match):
    with pytest.raises(InputError, match=match):
        attack(**other)


def test_an_unknown_constraint_is_refused():
    from muattack.attack.recipes import resolve

    with pytest.raises(InputError, match="unknown constraint 'rho'"):
        resolve({"recipe": "textfooler", **CONSTRAINTS, "rho": 0.3})


def test_missing_resources_are_named_with_the_way_to_give_them(attack, monkeypatch, tmp_path):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(InputError, match=r"WordNet, which is not installed.*NLTK_DATA"):
        attack("pwws")
    (wordnet(tmp_path / "nltk", [("dog", "hound")]) / "corpora" / "wordnet" / "index.sense").unlink()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk")])
    with pytest.raises(InputError, match=r"of which a file cannot be read .*index\.sense.*NLTK_DATA"):
        attack("pwws")
    with pytest.raises(InputError, match=r"no masked language model's head.*attacks\.language_model"):
        attack("bert_attack", language_model=micro.bert())
    with pytest.raises(InputError, match=r"nobody/none is neither a local folder nor in the local Hugging Face cache.*`path: FOLDER`"):
        attack("bert_attack", language_model="nobody/none")
    with pytest.raises(InputError, match="neither a local folder nor in the local"):
        attack(encoder={"source": "huggingface", "path": "nobody/nothing", "pooling": "mean"})
    with pytest.raises(InputError, match="tensorflow_hub is not installed"):
        attack(encoder={"source": "tensorflow_hub", "path": str(tmp_path), "pooling": "mean"})


# --- Victims ----------------------------------------------------------------------------------------------------------


def own_victim() -> Path:
    """A folder with a classifier of random weights of the micro encoder's shape."""
    import torch
    from transformers import AutoModelForSequenceClassification

    from muattack.detect.encoder import load_tokenizer

    folder = micro.tiny().parent / "victim"
    if not folder.is_dir():
        torch.manual_seed(3)
        AutoModelForSequenceClassification.from_pretrained(micro.tiny(), id2label={0: "human", 1: "machine"}).save_pretrained(folder)
        load_tokenizer(micro.tiny()).save_pretrained(folder)
    return folder


def test_a_victim_of_other_classes_is_refused(attack):
    with pytest.raises(InputError, match="tells human, machine apart, but the texts to attack have the labels no, yes"):
        attack(folder=own_victim())


def test_scores_are_those_of_the_model_whatever_was_asked_before():
    # B3 and B6: padded to the longest text only, and never softmaxed a second time.
    import torch
    from transformers import AutoModelForSequenceClassification

    from muattack.attack.victim import open_victim
    from muattack.detect.encoder import load_tokenizer

    victim = open_victim(own_victim(), "v", ["human", "machine"])
    texts = ["a dog", "a dog standing on the street quietly", "a dog", ""]
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(own_victim()).eval(), load_tokenizer(own_victim())
    with torch.inference_mode():
        expected = torch.stack([torch.softmax(model(**tokenizer([text], return_tensors="pt")).logits.double(), -1)[0] for text in texts])
    first = victim(texts)
    assert np.allclose(first, expected.numpy(), atol=1e-6)
    assert np.array_equal(victim(texts), first)
    assert first.dtype == np.float64
    assert victim.unknown == "<unk>"


def test_the_seen_part_of_a_long_text_has_the_same_tokens():
    from muattack.attack.victim import open_victim

    victim = open_victim(own_victim(), "v", ["human", "machine"])
    words = ("dog", "standing!", "x" * 300, "ünï", "🙂", "a", "\n", "street,")
    draw = np.random.default_rng(0)
    for _ in range(6):
        text = " ".join(draw.choice(words, 1500))
        assert len(victim._seen(text)) < len(text) / 2
        assert victim._tokens([text]) == [tuple(victim.tokenizer(text, truncation=True, max_length=victim.detector.max_length)["input_ids"])]


def test_a_confident_victim_can_be_attacked():
    # 1 - P(true) is 0 in float32 from a logit gap of 17 on: nothing would seem to matter.
    from muattack.attack.search import Untargeted

    goal = object.__new__(Untargeted)
    goal.ground_truth_output = 1
    scores = [goal._get_score(np.array([np.exp(-gap), 1 - np.exp(-gap)]), None) for gap in (50.0, 40.0, 30.0)]
    assert scores == sorted(scores)
    assert scores[0] > 0


# --- The import -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_textattack_is_imported_without_network_and_without_a_trace(tmp_path):
    code = """
import os, sys
before = dict(os.environ)
import nltk
nltk.download = lambda *a, **k: sys.exit("nltk.download was called")
import socket
def refuse(*a, **k): sys.exit("a socket was opened")
socket.socket.connect = refuse
from muattack.attack.offline import load_textattack, stop_words
textattack = load_textattack()
from textattack.attack_recipes import TextFoolerJin2019
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
assert "flair" not in sys.modules
assert len(stop_words()) == 266 and "the" in stop_words() and list(stop_words()) == sorted(stop_words())
import transformers, datasets, huggingface_hub
assert os.environ["HOME"] in huggingface_hub.constants.HF_HOME, huggingface_hub.constants.HF_HOME
"""
    environment = {key: value for key, value in os.environ.items() if key not in ("HF_HOME", "XDG_CACHE_HOME", "TA_CACHE_DIR", "NLTK_DATA")}
    subprocess.run([sys.executable, "-c", code], check=True, env={**environment, "HOME": str(tmp_path)})
    assert not (tmp_path / ".cache" / "textattack").exists()
