"""nlpaug's side of bench_peers.py, run by the Python of nlpaug's own environment: no muattack here.

Reads a JSON list of texts from the file named first; then, for each line of standard input that names an operator, mutates them all and prints a
JSON object: the seconds of processor time, and what became of the texts.
"""

import json
import sys
import time

import nlpaug.augmenter.char as character
import nlpaug.augmenter.word as word

# nlpaug passes over the words that this matches; what is left are the articles.
OTHERS = r"^(?!(?:a|an|the)$).*"
EVERY = {"stopwords_regex": OTHERS}
OPERATORS = {
    "word_articles": lambda: word.RandomWordAug(action="delete", aug_p=1, aug_max=None, **EVERY),
    "char_a_articles": lambda: character.OcrAug(
        dict_of_path={"a": ["α"]}, min_char=1, aug_char_p=1, aug_char_max=None, aug_word_p=1, aug_word_max=None, **EVERY
    ),
}

if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        texts = json.load(file)
    for line in sys.stdin:
        augmenter = OPERATORS[line.strip()]()
        started = time.process_time()
        found = [augmenter.augment(text) for text in texts]
        seconds = time.process_time() - started
        # A list of one, or nothing at all where no word is left.
        print(json.dumps([seconds, [one[0] if isinstance(one, list) and one else one or "" for one in found]]), flush=True)
