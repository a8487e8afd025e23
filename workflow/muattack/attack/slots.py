"""A text under attack: its words are slots of the original, and whatever is done to it is edits on the original.

TextAttack's own class splits every candidate into words again. There a space put into a word shifts all words behind it, so that one
change counts as many and later words are taken for others (its issues with TextBugger's first bug), and one candidate costs time
in proportion to the text several times over. Here a slot stays a slot, everything outside the edits stays byte for byte, and a
candidate is made when somebody asks for its text.
"""

from muattack.attack.offline import load_textattack

textattack = load_textattack()
words_from_text = textattack.shared.utils.words_from_text

# Characters from which on a candidate's text is not kept.
KEPT = 20_000


def slots(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every word as TextAttack sees words: hyphens and apostrophes inside belong to a word."""
    spans, after = [], 0
    for word in words_from_text(text):
        # What lies between two words holds no character that can begin one, so the first find is the word itself.
        start = text.index(word, after)
        after = start + len(word)
        spans.append((start, after))
    return spans


class SlotText(textattack.shared.AttackedText):
    """A text, and what stands in each of its slots; indices are always those of the original's words."""

    def __init__(self, text: str):
        self.original, self.spans, self.changes = text, slots(text), {}
        self.original_words = [text[start:end] for start, end in self.spans]
        self._text, self._words, self._parent = text, self.original_words, None
        self.attack_attrs = {"modified_indices": frozenset(), "newly_modified_indices": frozenset()}

    def _changed(self, changes: dict[int, str]) -> "SlotText":
        if self._text is None:
            # Candidates are made from this text: it is kept, and what it was made from is not needed any more.
            self._text, self._parent = self.text, None
        new = object.__new__(SlotText)
        new.original, new.spans, new.original_words = self.original, self.spans, self.original_words
        new.changes = {**self.changes, **changes}
        new._text, new._words, new._parent = None, None, self
        new.attack_attrs = {"modified_indices": self.attack_attrs["modified_indices"] | changes.keys(), "newly_modified_indices": frozenset(changes)}
        return new

    def replace_words_at_indices(self, indices, new_words) -> "SlotText":
        """Return a text with other words in these slots; "" takes a word away, with a neighbouring space."""
        return self._changed({int(index): word for index, word in zip(indices, new_words, strict=True)})

    def generate_new_attacked_text(self, new_words) -> "SlotText":
        """Return a text with these words, one a slot."""
        return self._changed({i: new for i, (old, new) in enumerate(zip(self.words, new_words, strict=True)) if old != new})

    def edits(self) -> list[dict]:
        """Return what differs from the original, sorted: {"start", "end", "replacement"} with positions in the original."""
        found = []
        for index in sorted(self.changes):
            (start, end), word = self.spans[index], self.changes[index]
            if word == "" and end < len(self.original):
                # As TextAttack does it: the first word goes with the space behind, any other with the one before it.
                if index == 0:
                    end += self.original[end] == " "
                else:
                    start -= self.original[start - 1 : start] == " "
            if found and start < found[-1]["end"]:
                start = found[-1]["end"]
            if self.original[start:end] != word:
                found.append({"start": start, "end": end, "replacement": word})
        return found

    def start(self, index: int) -> int:
        """Return where the word of a slot begins in the text as it is now; no word may have been taken away."""
        moved = sum(len(word) - self.spans[other][1] + self.spans[other][0] for other, word in self.changes.items() if other < index)
        return self.spans[index][0] + moved

    @property
    def text(self) -> str:
        """The text with all edits."""
        if self._text is not None:
            return self._text
        text = self._spliced() if self._parent is not None else None
        if text is None:
            parts, after = [], 0
            for edit in self.edits():
                parts += [self.original[after : edit["start"]], edit["replacement"]]
                after = edit["end"]
            text = "".join([*parts, self.original[after:]])
        # Of a long text there may be thousands of candidates: keeping each would take gigabytes.
        if len(text) < KEPT:
            self._text = text
        return text

    def _spliced(self) -> str | None:
        """Return the text it was made from with the one new word put in; None where more has changed than that."""
        [index, *more] = self.attack_attrs["newly_modified_indices"]
        parent = self._parent
        if more or not self.changes[index] or "" in parent.changes.values():
            return None
        start = parent.start(index)
        return parent._text[:start] + self.changes[index] + parent._text[start + len(parent.changes.get(index, self.original_words[index])) :]

    @property
    def tokenizer_input(self) -> str:
        """The text, as a victim reads it."""
        return self.text

    @property
    def words(self) -> list[str]:
        """The words, one a slot."""
        if self._words is None:
            words = list(self.original_words)
            for index, word in self.changes.items():
                words[index] = word
            if len(self.original) >= KEPT:
                return words
            self._words = words
        return self._words

    @property
    def num_words(self) -> int:
        """The words of the original: L."""
        return len(self.spans)

    @property
    def words_changed(self) -> int:
        """In how many words the text differs from the original (Hamming distance by slots, Eq. 2 of the defenders' paper)."""
        return sum(word != self.original_words[index] for index, word in self.changes.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotText) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)
