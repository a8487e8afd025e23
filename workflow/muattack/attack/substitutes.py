"""What may stand for a word: neighbours in a table, character bugs, a masked language model, WordNet.

Every source gives at most K_max different substitutes for a word, in a fixed order, best first; none is the word itself. Random
choices come from the digest of the run's seed, the text and the place, so that neither shards nor the order of texts change one.
"""

import heapq
import os
import random
import warnings
from collections.abc import Callable, Sequence

import torch

from muattack.attack.constraints import lemmas
from muattack.attack.deadline import Deadline
from muattack.attack.offline import load_textattack, stop_words
from muattack.attack.slots import SlotText, words_from_text
from muattack.detect.encoder import load_tokenizer, position_limit, quiet_transformers, readable
from muattack.device import device
from muattack.errors import InputError
from muattack.seeds import generator

textattack = load_textattack()
recover_case = textattack.transformations.word_swaps.word_swap_embedding.recover_word_case
Antonyms = dict[str, frozenset[str]]


def opposite(word: str, other: str, antonyms: Antonyms) -> bool:
    """Tell whether two words, or forms of them, are a pair of the antonym file."""
    return bool(antonyms) and any(lemmas(other) & antonyms.get(form, frozenset()) for form in lemmas(word))


class Substitutes(textattack.transformations.WordSwap):
    """A TextAttack transformation that puts substitutes into the slots that may be changed."""

    def __init__(self, k_max: int, antonyms: Antonyms | None = None) -> None:
        super().__init__()
        self.k_max, self.antonyms = k_max, antonyms or {}

    def begin(self, text: SlotText, name: str) -> None:
        """Take another text; `name` is its id."""

    def find(self, text: SlotText, index: int) -> Sequence[str]:
        """Return substitutes for the word in a slot, best first; more than K_max, repeats and the word itself are dropped later."""
        raise NotImplementedError

    def _get_transformations(self, current_text: SlotText, indices_to_modify: set[int]) -> list[SlotText]:
        texts = []
        for index in sorted(int(index) for index in indices_to_modify):
            word = current_text.words[index]
            found = [new for new in dict.fromkeys(self.find(current_text, index)) if new and new != word and not opposite(word, new, self.antonyms)]
            texts += [current_text.replace_word_at_index(index, new) for new in found[: self.k_max]]
        return texts


class Neighbours(Substitutes):
    """The nearest words of a neighbour table, in the case of the word.

    Stock (WordSwapEmbedding) needs its vectors from the network, cannot find neighbours without a matrix of them, and leaves the least
    cosine to a constraint; here the table was made with it.
    """

    def __init__(self, table: dict[str, list[str]], k_max: int, antonyms: Antonyms | None = None, most: int | None = None) -> None:
        super().__init__(k_max if most is None else min(k_max, most), antonyms)
        self.table = table

    def find(self, text: SlotText, index: int) -> list[str]:
        word = text.words[index]
        return [recover_case(new, word) for new in self.table.get(word.lower(), ())]


# --- Character bugs ---------------------------------------------------------------------------------------------------

# Characters that look alike, as TextBugger gives them: o for 0, l for 1, a for @, and others of the kind.
ALIKE = {"a": "@", "b": "6", "e": "3", "g": "9", "i": "1", "l": "1", "o": "0", "q": "9", "s": "5", "t": "+", "z": "2"}
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Keys beside a key in its row: m for n.
BESIDE = {key: row[max(place - 1, 0) : place] + row[place + 1 : place + 2] for row in ROWS for place, key in enumerate(row)}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def insert_space(word: str, draw: random.Random) -> str | None:
    """Put a space into the word."""
    if len(word) < 2:
        return None
    place = draw.randrange(1, len(word))
    return f"{word[:place]} {word[place:]}"


def delete_inner(word: str, draw: random.Random) -> str | None:
    """Take a character away, neither the first nor the last."""
    if len(word) < 3:
        return None
    place = draw.randrange(1, len(word) - 1)
    return word[:place] + word[place + 1 :]


def swap_inner(word: str, draw: random.Random) -> str | None:
    """Swap two neighbouring characters, neither the first nor the last."""
    places = [place for place in range(1, len(word) - 2) if word[place] != word[place + 1]]
    if not places:
        return None
    place = draw.choice(places)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def look_alike(word: str, draw: random.Random) -> str | None:
    """Put a character that looks like it in place of a character, or the key beside it where none looks like any of the word's."""
    places = [place for place, letter in enumerate(word) if letter.lower() in ALIKE]
    if places:
        place = draw.choice(places)
        return word[:place] + ALIKE[word[place].lower()] + word[place + 1 :]
    places = [place for place, letter in enumerate(word) if letter.lower() in BESIDE]
    if not places:
        return None
    place = draw.choice(places)
    return word[:place] + recover_case(draw.choice(BESIDE[word[place].lower()]), word[place]) + word[place + 1 :]


def swap_any(word: str, draw: random.Random) -> str | None:
    """Swap two neighbouring characters."""
    places = [place for place in range(len(word) - 1) if word[place] != word[place + 1]]
    if not places:
        return None
    place = draw.choice(places)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def substitute_any(word: str, draw: random.Random) -> str | None:
    """Put another letter in place of a character."""
    if len(word) < 2:
        return None
    place = draw.randrange(len(word))
    return word[:place] + draw.choice([letter for letter in LETTERS if letter != word[place].lower()]) + word[place + 1 :]


def delete_any(word: str, draw: random.Random) -> str | None:
    """Take a character away."""
    if len(word) < 2:
        return None
    place = draw.randrange(len(word))
    return word[:place] + word[place + 1 :]


def insert_any(word: str, draw: random.Random) -> str | None:
    """Put a letter into the word."""
    if len(word) < 2:
        return None
    place = draw.randrange(len(word) + 1)
    return word[:place] + draw.choice(LETTERS) + word[place:]


class Bugs(Substitutes):
    """One substitute by each character bug, then the neighbours of `words`.

    Stock draws from NumPy's global generator, so a bug depends on all texts attacked before; its look-alikes need a file that its package
    lacks, and come from other scripts, one for every character, where TextBugger has o for 0 and the keys beside.
    """

    def __init__(self, bugs: Sequence[Callable], k_max: int, seed: int, words: Neighbours | None = None) -> None:
        super().__init__(k_max, words.antonyms if words else None)
        self.bugs, self.seed, self.near = bugs, seed, words

    def begin(self, text: SlotText, name: str) -> None:
        self.name = name

    def find(self, text: SlotText, index: int) -> list[str]:
        word = text.words[index]
        made = [bug(word, generator(self.seed, "attack", self.name, index, bug.__name__)) for bug in self.bugs]
        near = [new for new in self.near.find(text, index) if not opposite(word, new, self.antonyms)][: self.near.k_max] if self.near else []
        return [new for new in made if new] + near


# --- BERT-Attack's language model -------------------------------------------------------------------------------------


class MaskedModel(Substitutes):
    """What a masked language model finds likely in the place of a word, the word itself being in view (BERT-Attack).

    Stock pads to 512 tokens, knows a few vocabularies by name, takes a word beyond the model's length for one without
    candidates, and for a word of several tokens scores K^n combinations one by one and then throws the ranking away, so that it
    keeps the first K instead of the best. Here each token has the K best that can stand there (that begin a word, or go on with one), and
    the K best combinations are exact. As in the authors' code stop words are no substitutes.
    """

    def __init__(self, folder: str | os.PathLike, k_max: int, antonyms: Antonyms | None = None, deadline: Deadline | None = None) -> None:
        super().__init__(k_max, antonyms)
        self.model, self.tokenizer = load_masked_model(folder).to(device()), load_tokenizer(folder)
        self.deadline = deadline or Deadline()
        self.longest = min(position_limit(self.model.config.to_dict()), self.tokenizer.model_max_length)
        self.stop_words = frozenset(stop_words())
        size = min(len(self.tokenizer), self.model.config.vocab_size)
        tokens, special = self.tokenizer.convert_ids_to_tokens(list(range(size))), set(self.tokenizer.all_special_ids)
        # Vocabularies that write the blank before a word into its token (byte-level BPE, SentencePiece), or mark what goes on (WordPiece).
        self.blanks = any(token and token[0] in "Ġ▁" for token in tokens)
        writes = [(None, None) if i in special or not token else self._writes(token) for i, token in enumerate(tokens)]
        self.written = [first or rest or "" for first, rest in writes]
        self.opens = torch.tensor([first is not None for first, _ in writes])
        self.goes_on = torch.tensor([rest is not None for _, rest in writes])

    def _writes(self, token: str) -> tuple[str | None, str | None]:
        """Return what a token writes where it begins a word, and where it goes on with one; None where it cannot."""
        if not self.blanks:
            return (None, token[2:]) if token.startswith("##") else (token, None)
        text = self.tokenizer.convert_tokens_to_string([token])
        if "\ufffd" in text:
            return None, None
        return (text.strip(), None) if token[0] in "Ġ▁" else (None, text)

    def begin(self, text: SlotText, name: str) -> None:
        self.seen: dict[str, tuple] = {}
        self.cut: dict[str, list] = {}

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        if text not in self.cut:
            self.cut = {text: self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]}
        return self.cut[text]

    def _window(self, text: str, start: int) -> tuple[int, int]:
        """Return the part of a text, as [from, to), that the model sees for the word at `start`: all of it where it fits."""
        offsets, room = self._offsets(text), self.longest - self.tokenizer.num_special_tokens_to_add()
        if len(offsets) <= room:
            return 0, len(text)
        # Words of one block share a window, so that a long text costs one pass a block and not one a word.
        block = max(1, room // 2)
        place = next((i for i, (_, end) in enumerate(offsets) if end > start), len(offsets) - 1)
        first = max(0, min(place // block * block - room // 4, len(offsets) - room))
        begin = offsets[first][0]
        # Cut inside a word, the rest of it would be taken for another word.
        while first < place and begin > 0 and not text[begin - 1].isspace() and not text[begin].isspace():
            first += 1
            begin = offsets[first][0]
        last = min(first + room, len(offsets)) - 1
        return begin + (text[begin].isspace()), offsets[last][1]

    def _predict(self, text: str) -> tuple[list[tuple[int, int]], torch.Tensor]:
        """Return the place of every token (none for special ones) and the log-probabilities of the vocabulary there."""
        if text not in self.seen:
            self.deadline.check()
            encoded = self.tokenizer(text, truncation=True, max_length=self.longest, return_offsets_mapping=True, return_special_tokens_mask=True)
            ids = torch.tensor([encoded["input_ids"]], device=device())
            with torch.inference_mode():
                logits = self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, :, : len(self.written)].cpu()
            places = zip(encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True)
            if len(self.seen) > 16:
                self.seen.clear()
            self.seen[text] = [(-1, -1) if special else place for place, special in places], torch.log_softmax(logits, dim=-1)
        return self.seen[text]

    def find(self, text: SlotText, index: int) -> list[str]:
        whole, word = text.text, text.words[index]
        start = text.start(index)
        begin, end = self._window(whole, start)
        places, scores = self._predict(whole[begin:end])
        low, high = start - begin, start - begin + len(word)
        at = [i for i, (first, last) in enumerate(places) if first < high and last > low]
        if not at:
            return []
        # A word that no blank precedes begins with a token that goes on, in vocabularies that write the blank.
        bare = self.blanks and (low == 0 or whole[start - 1] != " ")
        choices = []
        for number, place in enumerate(at):
            fits = self.opens if number == 0 and not bare else self.goes_on
            values, ids = torch.topk(scores[place].masked_fill(~fits, -torch.inf), min(self.k_max, int(fits.sum())))
            choices.append([(-value, self.written[i]) for value, i in zip(values.tolist(), ids.tolist(), strict=True)])
        found = best_combinations(choices, self.k_max)
        return [recover_case(new, word) for new in found if words_from_text(new) == [new] and new.lower() not in self.stop_words]


def best_combinations(choices: Sequence[Sequence[tuple[float, str]]], k: int) -> list[str]:
    """Return the k texts, one part from each choice in order, with the least sum of losses: exactly the k best, for the sum of any beginning
    of one of them is among the k least sums of beginnings."""
    best = [(0.0, "")]
    for options in choices:
        best = heapq.nsmallest(k, ((loss + more, text + part) for loss, text in best for more, part in options))
    return [text for _, text in best]


def load_masked_model(folder: str | os.PathLike) -> torch.nn.Module:
    """Open a masked language model; raise InputError for a folder that holds none, such as an encoder without its head."""
    from transformers import AutoModelForMaskedLM

    with readable(folder), quiet_transformers():
        model, told = AutoModelForMaskedLM.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
    missing = sorted(told["missing_keys"])
    if missing:
        raise InputError(
            f"The model in {folder} has no masked language model's head ({missing[0]} is missing), so it cannot propose words for bert_attack. "
            "Name the folder of a masked language model under attacks.language_model, or leave it null for the encoder that the run pretrains."
        )
    return model.eval()


# --- WordNet ----------------------------------------------------------------------------------------------------------


def load_wordnet():
    """Return NLTK's WordNet reader over a local copy; raise InputError naming the asset where there is none."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    try:
        # Without the multilingual part, which nothing here reads and which would be another asset.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    except (LookupError, OSError) as error:
        # NLTK's LookupError is a page of places it looked at; an OSError names the one file that a copy lacks.
        what = "which is not installed" if isinstance(error, LookupError) else f"of which a file cannot be read ({error})"
        raise InputError(
            f"The attack pwws takes its synonyms from WordNet, {what}. Copy NLTK's corpus `wordnet` ({', '.join(WordNetCorpusReader._FILES)}) "
            "to FOLDER/corpora/wordnet and set the environment variable NLTK_DATA to FOLDER, or leave the attack out."
        ) from None


class WordNet(Substitutes):
    """WordNet's synonyms of a word, the most common sense first.

    Stock asks the network at every start, and lists the synonyms in an order that changes with the interpreter's hash seed.
    """

    def __init__(self, wordnet, k_max: int, antonyms: Antonyms | None = None) -> None:
        super().__init__(k_max, antonyms)
        self.wordnet = wordnet
        self.known: dict[str, list[str]] = {}

    def find(self, text: SlotText, index: int) -> list[str]:
        word = text.words[index]
        key = word.lower()
        if key not in self.known:
            names = dict.fromkeys(name for synset in self.wordnet.synsets(key) for name in synset.lemma_names())
            self.known[key] = [name for name in names if name.lower() != key and words_from_text(name) == [name] and "_" not in name]
        return [recover_case(new, word) for new in self.known[key]]
