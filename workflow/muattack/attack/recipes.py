"""The attacks by name, and beside each what was changed of the stock recipe and why.

Changed in all of them: epsilon_min holds against the original text and for texts of every length (`constraints.Similar`); rho_max and Q_max
hold (`constraints.Changeable`, `search.Untargeted`); K_max bounds the substitutes of a word from whatever source; the stop words are those of
TextFooler's authors (NLTK's list, which the stock recipes but TextFooler's take, is a download), in any case of letters; ties are broken by place
(`search.Greedy`); nothing random depends on which texts were attacked before.
"""

import os
from dataclasses import dataclass

from muattack.attack.names import RECIPES, WITH_SYNONYMS
from muattack.errors import InputError

KEYS = ("recipe", "epsilon_min", "k_max", "rho_max", "queries_per_word")
# Sub-W of TextBugger takes the nearest five (Section III of its paper).
SUB_W = 5
# The edit distance that DeepWordBug may use up (Section 4 of its paper).
EDITS = 30


def resolve(attack: dict, measure: str = "cosine") -> dict:
    """Return an attack with every constraint checked and queries_per_word filled in.

    `attack` has the keys KEYS; queries_per_word null means k_max (Q_max = K_max x L). Raises InputError for an unknown recipe or
    constraint and for a value that no attack can keep to.
    """
    name = attack.get("recipe")
    if name not in RECIPES:
        raise InputError(f"The attack has the recipe {name!r}, which is none of {', '.join(RECIPES)}. Write for example `recipe: textfooler`.")
    unknown = sorted(set(attack) - set(KEYS))
    missing = [key for key in KEYS[1:4] if attack.get(key) is None]
    if unknown or missing:
        wrong = f"has the unknown constraint {unknown[0]!r}" if unknown else f"lacks {', '.join(missing)}"
        raise InputError(f"The attack {name} {wrong}. The constraints are {', '.join(KEYS[1:])}.")
    epsilon, k, rho, queries = (attack.get(key) for key in KEYS[1:])
    queries = k if queries is None else queries
    for key, value, good, range_ in (
        ("epsilon_min", epsilon, lambda x: 0 <= x <= 1, "lie in [0, 1]"),
        ("k_max", k, lambda x: x >= 1 and int(x) == x, "be a whole number of at least 1"),
        ("rho_max", rho, lambda x: 0 < x <= 1, "lie in ]0, 1]"),
        ("queries_per_word", queries, lambda x: 0 < x < float("inf"), "be above 0"),
    ):
        if isinstance(value, bool) or not isinstance(value, int | float) or not good(value):
            raise InputError(f"{key} of the attack {name} is {value!r}, but must {range_}. The defaults are under attacks.constraints.")
    if measure not in ("cosine", "angular"):
        raise InputError(f"attacks.similarity.measure is {measure!r}, but must be cosine or angular.")
    return {"recipe": name, "epsilon_min": epsilon, "k_max": int(k), "rho_max": rho, "queries_per_word": queries, "measure": measure}


@dataclass
class Resources:
    """What an attack is built from; those that its recipe does not read may be None."""

    victim: object
    similarity: object
    synonyms: dict[str, list[str]] | None
    antonyms: dict[str, frozenset[str]]
    language_model: str | os.PathLike | None
    deadline: object
    seed: int


def build(attack: dict, resources: Resources) -> tuple[object, dict]:
    """Return TextAttack's Attack for a resolved attack, and what its recipe adds to the header of the results."""
    from muattack.attack import substitutes
    from muattack.attack.constraints import Changeable, EditDistance, SamePart, Similar, load_tagger
    from muattack.attack.offline import load_textattack
    from muattack.attack.search import Greedy, Untargeted
    from muattack.attack.substitutes import Bugs, MaskedModel, Neighbours, WordNet

    name, k_max = attack["recipe"], attack["k_max"]
    victim, similarity, antonyms = resources.victim, resources.similarity, resources.antonyms
    constraints: list = [Changeable(attack["rho_max"]), Similar(similarity)]
    if name in WITH_SYNONYMS and resources.synonyms is None:
        raise InputError(f"The attack {name} takes its substitutes from a table of synonyms, and none was given. Set attacks.synonyms.source.")
    if name == "bert_attack" and resources.language_model is None:
        raise InputError(
            "The attack bert_attack needs a masked language model, and the run pretrains none. Name the folder of one under attacks.language_model."
        )
    adds: dict = {}

    if name == "textfooler":
        # Jin et al. 2019. Stock: similarity by windows of 15 words to the step before, not at all below 15 words. The least cosine of a
        # substitute (0.5) is kept when the table of synonyms is made. Parts of speech by NLTK's tagger, whose data is a download;
        # where it is not installed, by the parts of speech a word can have.
        tagger = load_tagger()
        adds = {"parts_of_speech": "nltk averaged_perceptron_tagger_eng" if tagger else "lemminflect, any that the words can have"}
        constraints.insert(1, SamePart(tagger))
        transformation, ranking = Neighbours(resources.synonyms, k_max, antonyms), "delete"
    elif name == "textbugger":
        # Li et al. 2019, as published: five bugs, the words among them the nearest five. Stock: similarity 0.8; its look-alikes come from
        # other scripts and one for every character, and its first bug (a space) hardly ever passed a limit on changed words.
        bugs = (substitutes.insert_space, substitutes.delete_inner, substitutes.swap_inner, substitutes.look_alike)
        adds = {"bugs": [bug.__name__ for bug in bugs], "sub_w": SUB_W}
        transformation = Bugs(bugs, k_max, resources.seed, Neighbours(resources.synonyms, k_max, antonyms, SUB_W))
        ranking = "delete"
    elif name == "textbugger_word":
        # What the defenders' reference code runs under the name of TextBugger: words only, K_max nearest, importance by the unknown word.
        # There similarity was measured to the step before, and not at all below 15 words.
        transformation, ranking = Neighbours(resources.synonyms, k_max, antonyms), "unk"
    elif name == "bert_attack":
        # Li et al. 2020. Stock: 8 candidates a word where the paper has 48, similarity 0.2, 0.4 of the words; the mended language
        # model is described at MaskedModel. Importance by the victim's own unknown word: "[UNK]" is seven letters to a byte-level vocabulary.
        transformation, ranking = MaskedModel(resources.language_model, k_max, antonyms, resources.deadline), "unk"
    elif name == "pwws":
        # Ren et al. 2019, without its named entities, as stock: those need the labels of the data set. Stock has neither a similarity
        # nor a limit on changed words, and ranks by the score of the best substitute instead of the gain (`search.Greedy`).
        transformation, ranking = WordNet(substitutes.load_wordnet(), k_max, antonyms), "weighted-saliency"
    else:
        # deepwordbug, Gao et al. 2018: one of four random edits of a character, 30 edits in all, as stock.
        bugs = (substitutes.swap_any, substitutes.substitute_any, substitutes.delete_any, substitutes.insert_any)
        adds = {"bugs": [bug.__name__ for bug in bugs], "edit_distance": EDITS}
        constraints.insert(1, EditDistance(EDITS))
        transformation, ranking = Bugs(bugs, k_max, resources.seed), "unk"

    adds["ranking"] = ranking
    if ranking != "delete":
        adds["unknown_word"] = victim.unknown
    search = Greedy(ranking, victim.unknown, similarity)
    goal = Untargeted(victim, attack["queries_per_word"])
    return load_textattack().Attack(goal, constraints, transformation, search), adds
