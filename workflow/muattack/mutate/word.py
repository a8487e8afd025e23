"""The general word operator: remove a word, or put another text in its place. Source: μAttacking, μw."""

from collections.abc import Sequence

from muattack.mutate.operator import Action, Edit, LexicalOperator

CASES = ("keep", "exact")


def like(word: str, replacement: str) -> str:
    """Return the replacement in the word's case: all capitals, a first capital, or as it is written."""
    letters = [character for character in word if character.isalpha()]
    if len(letters) > 1 and word.isupper():
        return replacement.upper()
    if letters and letters[0].isupper():
        return replacement[:1].upper() + replacement[1:]
    return replacement


class WordOperator(LexicalOperator):
    """Replace every word of the list as a whole; an empty replacement removes it with one neighbouring space.

    `case: keep` writes the replacement as the word is written (The -> Some, THE -> SOME), `exact` as it was given.
    """

    whole = True

    def __init__(self, name: str, words: Sequence[str], case_sensitive: bool = False, replacement: str = "", case: str = "keep") -> None:
        super().__init__(name, words, case_sensitive)
        self.replacement = replacement
        self.case = case

    def rewrite(self, word: str) -> Action:
        """Return the removal or replacement of a word; nothing where it would be replaced by itself."""
        if not self.replacement:
            return Action(-1, (Edit(0, len(word), ""),), True)
        replacement = like(word, self.replacement) if self.case == "keep" else self.replacement
        return Action(-1, (Edit(0, len(word), replacement),) if replacement != word else (), False)
