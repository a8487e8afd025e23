"""The general character operator: other letters inside the words of a list. Source: μAttacking, μc."""

from collections.abc import Mapping, Sequence

from muattack.mutate.operator import Action, Edit, LexicalOperator

OCCURRENCES = ("all", "first")


class CharacterOperator(LexicalOperator):
    """Replace letters inside every word of the list by a map.

    A capital that the map does not name takes the capital of what its small letter becomes (a: α also turns A into Α,
    and e: ϵ turns E into Ε). `occurrences: first` stops after the first of each letter in a word.
    """

    whole = False

    def __init__(self, name: str, words: Sequence[str], letters: Mapping[str, str], case_sensitive: bool = False, occurrences: str = "all") -> None:
        super().__init__(name, words, case_sensitive)
        self.letters = dict(letters)
        self.occurrences = occurrences

    def target(self, character: str) -> str | None:
        """Return what a character becomes, None when it stays."""
        if character in self.letters:
            return self.letters[character]
        small = character.lower()
        return self.letters[small].upper() if small != character and small in self.letters else None

    def rewrite(self, word: str) -> Action:
        """Return an edit for each letter of the word that the map names."""
        edits: list[Edit] = []
        seen: list[str] = []
        for position, character in enumerate(word):
            target = self.target(character)
            if target is None or target == character or (self.occurrences == "first" and character.lower() in seen):
                continue
            edits.append(Edit(position, position + 1, target))
            seen.append(character.lower())
        return Action(-1, tuple(edits), False)
