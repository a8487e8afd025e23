"""The parts of an attack: similarity, parts of speech, the language model's words, bugs."""

import itertools
import math
import sys
import types

import micro
import numpy as np
import pytest

from muattack.attack.constraints import EditDistance, SamePart, most_changed
from muattack.attack.offline import load_textattack
from muattack.attack.similarity import Similarity, as_cosine, from_cosine, load_similarity_encoder
from muattack.attack.slots import SlotText
from muattack.attack.substitutes import (
    MaskedModel,
    best_combinations,
    delete_any,
    delete_inner,
    insert_any,
    insert_space,
    look_alike,
    substitute_any,
    swap_any,
    swap_inner,
)
from muattack.errors import InputError
from muattack.seeds import generator

TEXT = "a dog standing on the street, a girl and a boy on the bench"


@pytest.fixture(scope="module")
def encoder():
    return load_similarity_encoder(micro.frozen_bert(), "float32")


def mean_of_states(encoder, text: str) -> np.ndarray:
    import torch

    inputs = encoder.tokenizer([text], return_tensors="pt")
    with torch.inference_mode():
        states = encoder.encoder(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state[0]
    return states.double().mean(0).numpy()


def candidates(original: SlotText) -> list[SlotText]:
    words = ("cat", "bus", "waits", "pizza", "room")
    one = [original.replace_word_at_index(i, new) for i in range(original.num_words) for new in words]
    return one[::7] + [text.replace_word_at_index(0, "kite").replace_word_at_index(3, "horse") for text in one[-20::7]]


# --- Similarity -------------------------------------------------------------------------------------------------------


def test_similarity_is_the_cosine_of_mean_states(encoder):
    original = SlotText(TEXT)
    similarity = Similarity(encoder, "float32", "cosine", 0.5)
    similarity.begin(original)
    changed = original.replace_word_at_index(1, "cat")
    first, second = mean_of_states(encoder, TEXT), mean_of_states(encoder, changed.text)
    expected = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    assert similarity.similarity(changed) == pytest.approx(expected, abs=1e-6)
    assert similarity.similarity(original) == pytest.approx(1, abs=1e-6)
    angular = Similarity(encoder, "float32", "angular", 0.5)
    angular.begin(original)
    assert angular.similarity(changed) == pytest.approx(1 - math.acos(expected) / math.pi, abs=1e-5)
    for value in (0.0, 0.3, 0.84, 1.0):
        assert from_cosine(as_cosine(value, "angular"), "angular") == pytest.approx(value)
    # TextFooler's threshold: 1 - 0.5 / pi of the angle is a cosine of 0.8776.
    assert as_cosine(0.840845057, "angular") == pytest.approx(math.cos(0.5), abs=1e-6)


@pytest.mark.parametrize(
    ("measure", "precision"), [("cosine", "float32"), ("angular", "float32"), pytest.param("cosine", "bfloat16", marks=pytest.mark.slow)]
)
def test_no_decision_differs_from_float32_text_by_text(encoder, measure, precision):
    original = SlotText(TEXT)
    sure = Similarity(encoder, "float32", measure, 0.5)
    sure.begin(original)
    texts = candidates(original)
    exact = [sure.similarity(text) for text in texts]
    used = load_similarity_encoder(micro.frozen_bert(), precision)
    # Also where the processor has none and a run would take float32.
    used.reduced = precision == "bfloat16"
    # Thresholds on a value itself and a hair above one: where rounding would decide.
    for epsilon in (sorted(exact)[len(exact) // 3], float(np.median(exact)) + 1e-7):
        similarity = Similarity(used, precision, measure, epsilon)
        similarity.begin(original)
        assert similarity.allowed(texts) == [value >= epsilon for value in exact]
        assert similarity.rechecked > 0
        assert similarity.similarity(similarity.most_similar(texts)) == max(exact)


def test_the_original_and_equal_texts_are_encoded_once(encoder):
    similarity = Similarity(encoder, "float32", "cosine", 0.0001)
    original = SlotText(TEXT)
    similarity.begin(original)
    texts = candidates(original)
    similarity.allowed(texts)
    similarity.allowed(texts)
    assert similarity.encoded == 1 + len({text.text for text in texts})
    off = Similarity(encoder, "float32", "cosine", 0.0)
    off.begin(original)
    assert off.allowed(texts) == [True] * len(texts)
    assert off.encoded == 0


def test_a_text_longer_than_the_encoder_is_cut_at_blanks_and_an_edit_encodes_its_piece_alone(encoder):
    text = " ".join(f"the dog and girl number{i} waits on the bench," for i in range(12))
    original = SlotText(text)
    similarity = Similarity(encoder, "float32", "cosine", 0.5)
    similarity.begin(original)
    pieces = similarity.pieces(original)
    assert len(pieces) > 3
    assert "".join(pieces) == text
    assert all(piece.endswith(" ") for piece in pieces[:-1])
    assert all(len(encoder.tokenizer(piece)["input_ids"]) <= encoder.piece for piece in pieces)
    # The mean over all tokens of all pieces.
    sums = [(mean_of_states(encoder, piece), len(encoder.tokenizer(piece)["input_ids"])) for piece in pieces]
    mean = sum(vector * count for vector, count in sums) / sum(count for _, count in sums)
    assert np.allclose(similarity.reference, mean / np.linalg.norm(mean), atol=1e-6)
    before = similarity.encoded
    late = original.replace_word_at_index(original.num_words - 1, "pizza pizza")
    assert similarity.allowed([late]) == [True]
    assert similarity.encoded - before <= len(pieces) + 1
    before = similarity.encoded
    assert similarity.pieces(late)[:-1] == pieces[:-1]
    similarity.allowed([original.replace_words_at_indices([2, original.num_words - 1], ["cat", "pizza pizza"])])
    assert similarity.encoded - before == 1
    # An edit that the encoder's window would not have seen counts.
    assert similarity.cosine(late) < 1 - 1e-6


def test_tokens_of_nothing_have_a_similarity(encoder):
    similarity = Similarity(encoder, "float32", "cosine", 0.5)
    similarity.begin(SlotText(""))
    assert similarity.allowed([SlotText("")]) == [True]


def test_the_universal_sentence_encoder_is_used_where_it_is_installed(tmp_path, monkeypatch):
    class Vectors:
        def __init__(self, texts):
            self.values = np.array([[len(text), 1.0 + text.count("dog")] for text in texts])

        def numpy(self):
            return self.values

    loaded = []
    monkeypatch.setitem(sys.modules, "tensorflow_hub", types.SimpleNamespace(load=lambda path: loaded.append(path) or Vectors))
    spec = {"source": "tensorflow_hub", "path": str(tmp_path), "pooling": "mean"}
    with pytest.raises(InputError, match=r"there is no saved_model\.pb"):
        load_similarity_encoder(spec, "float32")
    (tmp_path / "saved_model.pb").touch()
    similarity = Similarity(load_similarity_encoder(spec, "float32"), "float32", "cosine", 0.5)
    original = SlotText("dog dog")
    similarity.begin(original)
    expected = (7 * 7 + 3 * 2) / np.hypot(7, 3) / np.hypot(7, 2)
    assert similarity.similarity(original.replace_word_at_index(0, "cat")) == pytest.approx(expected)
    assert loaded == [str(tmp_path)]


# --- Constraints ------------------------------------------------------------------------------------------------------


def test_the_share_of_words_is_exact():
    assert [most_changed(words, 0.3) for words in (3, 4, 10, 11, 20)] == [0, 1, 3, 3, 6]
    assert most_changed(100, 0.29) == 29
    assert most_changed(5, 1.0) == 5


def test_the_tag_of_a_word_that_comes_twice_is_that_of_its_place():
    # B7: stock takes the tag of the first "play".
    original = SlotText("play the play")
    tags = {("play", 0): "VERB", ("the", 1): "DET", ("play", 2): "NOUN", ("quick", 2): "ADJ", ("quick", 0): "ADJ"}
    asked = []

    def tagger(words):
        asked.append(words)
        return ["ADJ" if place == 2 and word == "play" else tags.get((word, place), "NOUN") for place, word in enumerate(words)]

    same = SamePart(tagger)
    assert same._check_constraint(original.replace_word_at_index(2, "quick"), original)
    assert not same._check_constraint(original.replace_word_at_index(0, "quick"), original)
    assert asked[0] == ["play", "the", "play"]


def test_parts_of_speech_by_dictionary():
    original, same = SlotText("the dog walks slowly"), SamePart(None)
    for index, word, allowed in (
        (1, "hound", True),
        (1, "quickly", False),
        (2, "ran", True),
        (2, "bench", True),
        (3, "bench", False),
        (1, "zzyzx", True),
    ):
        assert same._check_constraint(original.replace_word_at_index(index, word), original) is allowed, word


def test_edits_of_characters_are_counted_word_by_word():
    original = SlotText("standing street")
    one = original.replace_word_at_index(0, "stading")
    two = one.replace_word_at_index(1, "sterte")
    assert [EditDistance(most)._check_constraint(text, original) for text, most in ((one, 1), (two, 2), (two, 9))] == [True, False, True]


# --- Substitutes ------------------------------------------------------------------------------------------------------


def test_bugs_do_what_they_say():
    for number in range(40):
        draw = generator("bugs", number)
        word = draw.choice(["street", "dog", "a", "ab", "Bench", "zzz", "naïve", "xyz"])
        made = {bug: bug(word, generator(number, bug.__name__)) for bug in (insert_space, delete_inner, swap_inner, look_alike)}
        any_ = {bug: bug(word, generator(number, bug.__name__)) for bug in (swap_any, substitute_any, delete_any, insert_any)}
        if made[insert_space] is not None:
            assert made[insert_space].replace(" ", "") == word
            assert " " in made[insert_space].strip()
        for bug, change in ((delete_inner, -1), (swap_inner, 0), (look_alike, 0)):
            new = made[bug]
            if new is not None:
                assert len(new) == len(word) + change
                assert new != word
                assert bug is look_alike or (new[0], new[-1]) == (word[0], word[-1])
        for bug, change in ((swap_any, 0), (substitute_any, 0), (delete_any, -1), (insert_any, 1)):
            if any_[bug] is not None:
                assert len(any_[bug]) == len(word) + change
                assert any_[bug] != word
        if made[swap_inner] is not None:
            assert sorted(made[swap_inner]) == sorted(word)
    assert delete_inner("ab", generator(1)) is None
    assert look_alike("l", generator(1)) == "1"
    assert look_alike("m", generator(1)) == "n"


def test_the_best_combinations_are_exact():
    # B4: stock ranks the combinations and throws the ranking away.
    draw = np.random.default_rng(1)
    choices = [[(float(loss), f"{place}{i} ") for i, loss in enumerate(draw.random(6))] for place in "abc"]
    everything = sorted((sum(loss for loss, _ in some), "".join(text for _, text in some)) for some in itertools.product(*choices))
    assert best_combinations(choices, 10) == [text for _, text in everything[:10]]


def masked(text: str, index: int, folder) -> list[str]:
    model = MaskedModel(folder, 20)
    original = SlotText(text)
    model.begin(original, "t")
    return [new.changes[index] for new in model._get_transformations(original, {index})]


def test_a_language_model_proposes_words_that_fit_the_place():
    words = masked("a dog standing on the street", 2, micro.tiny())
    assert words[0] == "waits"
    assert len(set(micro.PLACES) & set(masked("a dog standing on the street", 5, micro.tiny()))) >= 3
    assert 1 <= len(words) == len(set(words)) <= 20
    assert not {"a", "the", "on", "standing"} & set(words)
    assert masked("a dog Standing on the street", 2, micro.tiny())[0].istitle()
    # A word of several tokens; and one beyond what the model sees at once, which has a window of its own.
    assert all(load_textattack().shared.utils.words_from_text(word) == [word] for word in masked("a dog waits", 1, micro.tiny()))
    assert "waits" in masked("a dog standing on the street " * 30, 6 * 29 + 2, micro.tiny())[:3]


def test_a_wordpiece_model_proposes_whole_words(tmp_path):
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cat", "play", "run", "##ing", "##er", "##s", "the", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    BertTokenizerFast(str(tmp_path / "vocab.txt"), model_max_length=32).save_pretrained(tmp_path)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32}
    BertForMaskedLM(BertConfig(vocab_size=len(pieces), **shape)).save_pretrained(tmp_path)
    assert set(masked("the dog playing", 1, tmp_path)) == {"cat", "play", "run"}
    # Two tokens: a beginning and an end, never "##ing" alone or "playthe".
    beginnings, ends = ("dog", "cat", "play", "run"), ("ing", "er", "s")
    found = masked("the dog playing", 2, tmp_path)
    assert set(found) <= {first + last for first in (*beginnings, "the", "a") for last in ends} - {"playing"}
    assert len(found) >= 12


def test_stock_textattack_has_the_faults_that_are_mended_here():
    # When one of these fails, the library was mended, and the comment beside our own way can go.
    textattack = load_textattack()
    from textattack.constraints.overlap import MaxWordsPerturbed

    stock, original = textattack.shared.AttackedText("one good film in ten words of which none counts"), None
    original = stock
    split = stock.replace_word_at_index(2, "fi lm")
    assert not MaxWordsPerturbed(max_percent=0.3)._check_constraint(split, original)
    with pytest.raises(FileNotFoundError):
        textattack.transformations.WordSwapHomoglyphSwap()
    scores = textattack.goal_functions.UntargetedClassification._process_model_outputs(None, [1], np.array([[0.7, 0.3 + 2e-6]]))
    assert abs(float(scores[0, 0]) - 0.7) > 0.05
