"""What every attack keeps to: epsilon_min, K_max, rho_max, Q_max (Section 3.1 of the defenders' paper), and parts of speech.

Q_max is kept by `search.Untargeted`, K_max by each source of substitutes.
"""

import functools
from collections.abc import Callable
from fractions import Fraction

import editdistance

from muattack.attack.offline import load_textattack, stop_words
from muattack.attack.similarity import Similarity
from muattack.attack.slots import SlotText

textattack = load_textattack()
Constraint = textattack.constraints.Constraint
PreTransformationConstraint = textattack.constraints.PreTransformationConstraint


@functools.lru_cache(maxsize=1024)
def most_changed(words: int, rho_max: float) -> int:
    """Return how many words may change: the most whose share is no larger than rho_max (0.3 is 3/10, not the nearest binary fraction)."""
    share = Fraction(str(rho_max))
    return words * share.numerator // share.denominator


class Changeable(PreTransformationConstraint):
    """Words that may still be changed: each once, no stop word, and none when rho_max of them have been.

    Stock has three constraints. MaxWordsPerturbed compares words by position after the fact (a space put into a word shifts all
    behind it, so TextBugger's first bug hardly ever passed), rounds up (4 of 11 words at 0.3) and takes 0 for no limit;
    StopwordModification takes "The" for no stop word.
    """

    def __init__(self, rho_max: float) -> None:
        self.rho_max, self.stop_words = rho_max, frozenset(stop_words())
        self._words: list[str] = []
        self._free: frozenset[int] = frozenset()

    def _get_modifiable_indices(self, current_text: SlotText) -> frozenset[int]:
        if current_text.original_words is not self._words:
            self._words = current_text.original_words
            self._free = frozenset(i for i, word in enumerate(self._words) if word.lower() not in self.stop_words)
        changed = current_text.attack_attrs["modified_indices"]
        return frozenset() if len(changed) >= most_changed(current_text.num_words, self.rho_max) else self._free - changed


class Similar(Constraint):
    """At least epsilon_min similar to the original text, whatever its length.

    Stock compares windows of 15 words with the text of the step before, leaves texts shorter than the window unchecked (TextFooler's
    recipe), and encodes the original again for every candidate.
    """

    def __init__(self, similarity: Similarity) -> None:
        super().__init__(compare_against_original=True)
        self.similarity = similarity

    def _check_constraint_many(self, transformed_texts: list[SlotText], reference_text: SlotText) -> list[SlotText]:
        allowed = self.similarity.allowed(transformed_texts)
        return [text for text, good in zip(transformed_texts, allowed, strict=True) if good]

    def _check_constraint(self, transformed_text: SlotText, reference_text: SlotText) -> bool:
        return self.similarity.allowed([transformed_text])[0]


class EditDistance(Constraint):
    """At most so many characters inserted, deleted or substituted in all (DeepWordBug).

    Summed word by word, which no comparison of whole texts can undercut where words are changed in place, and which does not
    grow with the square of the text.
    """

    def __init__(self, most: int) -> None:
        super().__init__(compare_against_original=True)
        self.most = most

    def _check_constraint(self, transformed_text: SlotText, reference_text: SlotText) -> bool:
        words = transformed_text.original_words
        return sum(editdistance.eval(words[index], new) for index, new in transformed_text.changes.items()) <= self.most


class SamePart(Constraint):
    """A substitute has the part of speech of its word, nouns and verbs counting as one (TextFooler).

    Stock looks the word up among the tags by its spelling: of a word that comes twice it takes the first tag. Here the place is
    used. Without a tagger a substitute must share one of the parts of speech that the word can have by lemminflect's
    dictionary; words that are not in it pass.
    """

    def __init__(self, tagger: Callable[[list[str]], list[str]] | None) -> None:
        super().__init__(compare_against_original=True)
        self.tagger = tagger
        self.tags: dict[tuple[str, ...], list[str]] = {}

    def _check_constraint(self, transformed_text: SlotText, reference_text: SlotText) -> bool:
        for i in transformed_text.attack_attrs["newly_modified_indices"]:
            before, after = reference_text.words[max(i - 4, 0) : i], reference_text.words[i + 1 : i + 4]
            old, new = reference_text.words[i], transformed_text.changes[i]
            if self.tagger:
                same = self._tag(before, old, after) == self._tag(before, new, after)
            else:
                parts = possible_parts(old.lower()), possible_parts(new.lower())
                same = not all(parts) or not parts[0].isdisjoint(parts[1])
            if not same:
                return False
        return True

    def _tag(self, before: list[str], word: str, after: list[str]) -> str:
        context = (*before, word, *after)
        if context not in self.tags:
            self.tags[context] = self.tagger(list(context))
        tag = self.tags[context][len(before)]
        return "NOUN" if tag == "VERB" else tag

    def clear_cache(self) -> None:
        """Forget the tags of the last text."""
        self.tags.clear()


@functools.lru_cache(maxsize=100_000)
def possible_parts(word: str) -> frozenset[str]:
    """Return the parts of speech that a word can have (nouns count as verbs); none for a word that lemminflect does not know."""
    from lemminflect import getAllLemmas

    return frozenset("VERB" if part in ("NOUN", "PROPN", "AUX") else part for part in getAllLemmas(word))


@functools.lru_cache(maxsize=100_000)
def lemmas(word: str) -> frozenset[str]:
    """Return the forms that a dictionary lists a word under, and the word itself, in lower case."""
    from lemminflect import getAllLemmas

    word = word.lower()
    return frozenset((word, *(lemma.lower() for found in getAllLemmas(word).values() for lemma in found)))


def load_tagger() -> Callable[[list[str]], list[str]] | None:
    """Return NLTK's tagger, words -> universal tags, where its data is installed; else None."""
    import nltk

    try:
        nltk.data.find("taggers/averaged_perceptron_tagger_eng")
        nltk.data.find("taggers/universal_tagset")
    except LookupError:
        return None
    # nltk.pos_tag would read the weights again at every call.
    tagger = nltk.tag.PerceptronTagger()
    return lambda words: [nltk.tag.map_tag("en-ptb", "universal", tag) for _, tag in tagger.tag(words)]
