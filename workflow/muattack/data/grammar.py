"""Human captions: a stochastic grammar that puts a scene into words as five different people would.

Every caption has an annotator of its own: how long a caption they like, what they look at first, which of the scene's
parts they mention, their habits (full stops, digits, telegraphic style, opinions) and slips. What can be said is in the
scene; how it is said is drawn here. A caption depends on the seed, the scene and its position alone.
"""

import random
import re

from muattack.data import world
from muattack.data.scenes import PEOPLE, actions, common, kinds, parts_of, places, rows, weighted
from muattack.seeds import generator

ARTICLES = ("a", "an", "the")
# Share of annotators who write telegram style, without a single article. The grammar leaves out articles elsewhere too
# (plurals, "some", "two"): together about 4 % of captions have none, as in human captions of photographs.
TELEGRAPHIC = 0.026
SLIP = 0.03

_DOUBLING = {"sit", "run", "swim", "cut", "jog", "nap", "sip", "chat", "hug", "get", "hit", "stir", "trot"}
_PLACED = (" on {o}", " in {o}", " at {o}", " from {o}", " next to {o}", " near {o}", " with {o}", " in front of {o}")
_PREPOSITIONS = {"on", "in", "at", "with", "next", "near", "over", "past", "from", "into", "through", "around", "under", "behind", "to", "for", "out"}
_TIMES = {name: parts_of(cell) for name, _, cell in rows(world.TIMES)}
_WEATHER = {name: parts_of(cell) for name, _, cell in rows(world.WEATHER)}

_BESIDE = ["next to", "near", "by", "in front of", "beside", "close to", "behind", "alongside", "across from"]
_AROUND = [
    "with {x} in the background", "near {x}", "with {x} behind {them}", "next to {x}", "and {x}", "with {x} nearby", "by {x}", "beside {x}",
    "in front of {x}", "while {x} can be seen in the distance", "surrounded by {x}", "with {x} to the side", "with {x} all around",
]  # fmt: skip
_PICTURE = [
    "a picture of", "a photo of", "a close up of", "an image of", "a black and white photo of", "a view of", "a close up view of", "a photograph of",
    "this is a picture of", "an old photo of", "an overhead view of", "a blurry picture of", "a shot of", "a side view of", "a painting of",
]  # fmt: skip
_OPINIONS = [
    "it looks {w}", "that looks very {w}", "and it is {w}", "and {they} {look} {m}", "which looks really {w}", "it must be {w}", "just having fun",
    "and {they} {look} like {they} {be} having fun", "and it seems quite {w}", "what a {w} sight", "maybe {they} {be} {m}", "almost too {w}",
    "probably on vacation", "and {they} {look} rather {m}", "as usual", "for the camera", "on {their} own", "with nobody else around", "i think it is {w}",
]  # fmt: skip
_WORTH = [
    "nice",
    "beautiful",
    "great",
    "good",
    "lovely",
    "amazing",
    "interesting",
    "strange",
    "wonderful",
    "perfect",
    "awesome",
    "pleasant",
    "funny",
    "impressive",
    "scenic",
    "unusual",
    "cool",
    "peaceful",
    "weird",
    "fantastic",
    "dramatic",
    "terrible",
    "gorgeous",
    "excellent",
    "typical",
    "ordinary",
    "crazy",
    "spectacular",
    "charming",
    "awful",
]
_MOODS = [
    "happy",
    "busy",
    "tired",
    "relaxed",
    "excited",
    "bored",
    "content",
    "curious",
    "ready",
    "calm",
    "surprised",
    "serious",
    "hungry",
    "pleased",
    "cold",
    "confused",
    "proud",
    "lost",
    "afraid",
    "sleepy",
]
_FILLER = ["very", "really", "so", "quite", "rather", "extremely", "pretty", "fairly", "somewhat"]
_DOING_TOO = {
    "person": [
        "smiling", "wearing {c}", "looking at the camera", "looking away", "holding {t}", "smiling brightly", "wearing {c} and smiling", "with {their} arms out",
        "with {their} hands up", "talking to someone", "laughing loudly", "leaning forward", "posing for a picture", "with long hair", "with {their} eyes closed",
        "looking down", "carrying {t}", "with a serious look on {their} face", "making a funny face", "with curly hair",
    ],
    "animal": [
        "looking at the camera", "looking around", "with {their} head down", "with {their} mouth open", "staring straight ahead", "looking up",
        "with {their} tongue out", "facing away", "with {their} eyes closed", "wearing a collar", "with {their} ears up", "standing still",
    ],
    "thing": [
        "on display", "in the middle", "on one side", "with nothing else around", "for sale", "ready to use", "in need of repair", "from above",
        "with its lights on", "in plain view", "seen from behind", "at an angle",
    ],
}  # fmt: skip
_THINGS_HELD = [
    "a bag",
    "a cup",
    "a camera",
    "a phone",
    "a bottle of water",
    "a backpack",
    "a small bag",
    "a drink",
    "flowers",
    "a map",
    "a plastic bag",
    "a stick",
]
_SPELLING = {
    "their": "there", "two": "to", "its": "it's", "skateboard": "skate board", "surfboard": "surf board", "snowboard": "snow board", "with": "wit",
    "beautiful": "beatiful", "grey": "gray", "next": "nex", "and": "adn", "sitting": "siting", "standing": "standng", "holding": "holing", "motorcycle": "motorcyle",
    "refrigerator": "refridgerator", "broccoli": "brocolli", "background": "back ground", "vegetables": "vegatables", "bathroom": "bath room", "street": "steet",
    "kitchen": "kithen", "elephant": "elephat", "riding": "rideing", "baseball": "base ball", "umbrella": "umbrela", "giraffe": "girafe", "through": "thru",
}  # fmt: skip


def progressive(verb: str) -> str:
    """Return a verb's -ing form."""
    if verb in _DOUBLING:
        return verb + verb[-1] + "ing"
    if verb == "lie":
        return "lying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe")):
        return verb[:-1] + "ing"
    return verb + "ing"


def third_person(verb: str) -> str:
    """Return a verb's third person singular."""
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "ch", "sh", "o", "zz")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"


def indefinite(text: str) -> str:
    """Turn "a" into "an" before a vowel sound, and back."""

    def choose(match: re.Match) -> str:
        follows = match[2].lower()
        vowel = (follows[0] in "aeiou" and not follows.startswith(("uni", "use", "euro", "one"))) or follows in ("hour", "8")
        return ("an " if vowel else "a ") + match[2]

    return re.sub(r"\b(an?) (\w+)", choose, text)


class Annotator:
    """One person looking at one scene."""

    def __init__(self, rng: random.Random, scene: dict):
        self.rng = rng
        self.scene = scene
        self.place = places()[scene["place"]]
        self.action = actions()[scene["action"]]
        self.main = scene["main"]
        self.person = self.main["kind"] in PEOPLE
        self.animate = self.person or kinds()[self.main["kind"]].category in ("animal", "wild")
        self.plural = self.main["count"] > 1
        # Some people describe looks at length, some not at all.
        self.eye = rng.choice((0.15, 0.3, 0.4, 0.5, 0.7))
        self.wanted = max(6, round(rng.gauss(10.1, 2.1)))
        self.noun_said = ""

    def maybe(self, share: float) -> bool:
        """Return True with the given probability."""
        return self.rng.random() < share

    # Noun phrases

    def looks(self, thing: dict) -> list[str]:
        """Return the adjectives this annotator mentions, opinion and size before age, colour and material."""
        slots = ("mood", "taste", "size", "age", "look", "coat", "colour")
        chosen = [thing[slot].replace("-", " ") for slot in slots if slot in thing and self.maybe(self.eye)][:2]
        if chosen and self.maybe(0.04):
            chosen[0] = f"{common(self.rng, _FILLER)} {chosen[0]}"
        if not chosen and self.maybe(0.02):
            chosen = [common(self.rng, _WORTH)]
        return chosen

    def noun(self, thing: dict, many: bool, main: bool = False) -> str:
        """Return a noun for a thing, now and then the one for what somebody does (surfer)."""
        if main and self.person and self.action.doers and thing["kind"] != "baby" and self.maybe(0.22):
            doer = common(self.rng, self.action.doers)
            return doer + "s" if many else doer
        singular, plural = common(self.rng, kinds()[thing["kind"]].nouns)
        return plural if many else singular

    def counted(self, thing: dict, noun: str, adjectives: list[str]) -> str:
        """Put the words for how many before a noun."""
        words = " ".join([*adjectives, noun])
        kind, count = thing["kind"], thing["count"]
        if count == 1:
            determiner = weighted(self.rng, ["a", "the", "this", "one", "some kind of"], [88, 8, 1.2, 1, 0.4])
        elif count == 2:
            determiner = weighted(
                self.rng, ["two", "a couple of", "a pair of", "the two", "2", "some", "the", "both", "a couple"], [42, 22, 12, 7, 3, 3, 3, 0.5, 1]
            )
        elif count == 3:
            determiner = weighted(
                self.rng, ["three", "a group of", "several", "a few", "some", "the three", "3", "the", "a trio of"], [38, 20, 8, 12, 6, 6, 2, 4, 1]
            )
        else:
            collectives = world.COLLECTIVES.get(kind, "group bunch").split()
            collective = common(self.rng, collectives).replace("-", " ")
            determiner = weighted(
                self.rng,
                [
                    f"a {collective} of",
                    "a group of",
                    "a bunch of",
                    "several",
                    "many",
                    "some",
                    "a lot of",
                    "the",
                    "lots of",
                    "various",
                    "",
                    "a large group of",
                ],
                [34, 16, 12, 6, 5, 6, 6, 5, 1, 1, 1.5, 5] if kind in world.COLLECTIVES else [0, 24, 16, 10, 8, 8, 10, 8, 1, 2, 2, 4],
            )
            if kinds()[kind].category == "stuff":
                determiner = weighted(self.rng, [f"a {collective} of", "some", "fresh", "the", "a lot of", ""], [40, 26, 2, 8, 8, 8])
        return f"{determiner} {words}".strip()

    def subject(self, bare: bool = False) -> str:
        """Return the main object's noun phrase, a person's clothes included where the annotator looks at them."""
        many = self.plural
        self.noun_said = self.noun(self.main, many, main=True)
        if self.person and not many and self.maybe(0.02):
            phrase = "someone"
        elif bare:
            phrase = " ".join([*self.looks(self.main)[:1], self.noun_said])
        else:
            phrase = self.counted(self.main, self.noun_said, self.looks(self.main))
        if "wear" in self.main and self.maybe(0.28):
            phrase += " " + self.rng.choice(("in", "wearing", "in", "with", "dressed in")) + " " + self.clothes()
        return phrase

    def clothes(self) -> str:
        """Return what a person wears, with an article unless it is a pair of things or the wearers are many."""
        item = self.main.get("wear", "shirt")
        colour = self.main.get("wear_colour", "dark")
        words = f"{colour} {item}" if self.maybe(0.6) else item
        if item.endswith("s") and item != "dress":
            return words
        if self.plural:
            return words + ("es" if item == "dress" else "s") if self.maybe(0.7) else "a " + words
        return ("a " if self.maybe(0.93) else "his " if self.main["kind"] in ("man", "boy") else "her ") + words

    def other(self, thing: dict, definite: float = 0.1) -> str:
        """Return the noun phrase of something that is not the main object."""
        many = thing["count"] > 1
        noun, adjectives = self.noun(thing, many), self.looks(thing)
        if kinds()[thing["kind"]].category == "pair":
            return " ".join([*weighted(self.rng, [[], ["a pair of"], ["some"]], [50, 35, 10]), *adjectives, noun])
        # People surf on their boards: what somebody holds or wears is often theirs.
        if self.person and thing is self.scene["second"] and kinds()[thing["kind"]].category in ("item", "device") and self.maybe(0.1):
            return " ".join([self.their(), *adjectives, noun])
        if not many and self.maybe(definite):
            return " ".join(["the", *adjectives, noun])
        return self.counted(thing, noun, adjectives)

    def their(self) -> str:
        """Return the possessive that fits the main object."""
        if self.plural:
            return "their"
        kind = self.main["kind"]
        if kind in ("man", "boy"):
            return "his"
        if kind in ("woman", "girl"):
            return "her"
        return "its" if not self.person else "their"

    def they(self) -> str:
        """Return the pronoun that fits the main object."""
        return {"his": "he", "her": "she", "its": "it", "their": "they"}[self.their()]

    # Verb phrases

    def phrase(self) -> str:
        """Draw a phrase for the action, second object filled in."""
        second = self.scene["second"]
        able = [phrase for phrase in self.action.phrases if second or "{o}" not in phrase]
        phrase = common(self.rng, able)
        has_object = "{o}" in phrase
        filled = phrase.replace("{o}", self.other(second) if second and has_object else "").replace("{p}", self.their())
        if second and not has_object and self.maybe(0.3):
            filled += f" {common(self.rng, _BESIDE)} {self.other(second)}"
        return filled

    def verb(self, form: str) -> str:
        """Return the verb phrase in a form: ing ("riding"), finite ("rides"), be ("is riding")."""
        head, _, rest = self.phrase().partition(" ")
        be = "are" if self.plural else "is"
        if head.startswith("*"):
            head = head[1:].replace("-", " ")
            said = head if form == "ing" else f"{be} {head}"
        elif form == "ing":
            said = progressive(head)
        elif form == "be":
            said = f"{be} {progressive(head)}"
        else:
            said = head if self.plural else third_person(head)
        manner = self.scene["manner"]
        if not manner or not self.maybe(0.75 if self.scene["striking"] else 0.1):
            return f"{said} {rest}".strip()
        manner = manner.replace("-", " ")
        where = weighted(self.rng, ["before", "after", "end"], [18 if manner.endswith("ly") and form != "be" else 0, 55, 27])
        if where == "before":
            return f"{manner} {said} {rest}".strip()
        if where == "after" and (not rest or rest.split()[0] in _PREPOSITIONS):
            return f"{said} {manner} {rest}".strip()
        return f"{said} {rest} {manner}".replace("  ", " ").strip()

    # Where, when, what else

    def where(self, along: bool = False) -> str:
        """Return the phrase for the place."""
        phrases = self.place.along if along else self.place.at
        adjective = self.scene["place_adjective"] if self.maybe(0.35) else None
        return common(self.rng, phrases).replace("~", f"{adjective} ".replace("-", " ") if adjective else "")

    def when(self) -> str:
        """Return the phrase for weather or time, empty where the scene has neither."""
        said = [_WEATHER[self.scene["weather"]]] if self.scene["weather"] else []
        said += [_TIMES[self.scene["time"]]] if self.scene["time"] else []
        return common(self.rng, self.rng.choice(said)) if said else ""

    def around(self) -> str:
        """Return a phrase for the third thing, empty where there is none."""
        third = self.scene["third"]
        if not third:
            return ""
        them = "them" if self.plural else {"his": "him", "her": "her"}.get(self.their(), "it")
        return common(self.rng, _AROUND).replace("{x}", self.other(third)).replace("{them}", them)

    def fill(self, text: str) -> str:
        """Fill pronouns and judgements into a stock phrase."""
        many = self.plural or self.they() == "they"
        said = {
            "{they}": self.they(), "{their}": self.their(), "{look}": "look" if many else "looks", "{be}": "are" if many else "is",
            "{w}": common(self.rng, _WORTH), "{m}": common(self.rng, _MOODS), "{c}": self.clothes(), "{t}": common(self.rng, _THINGS_HELD),
        }  # fmt: skip
        for mark, words in said.items():
            text = text.replace(mark, words)
        return text

    def detail(self) -> str:
        """Return a further detail that needs no part of the scene's own."""
        if self.maybe(0.22):
            return self.fill(common(self.rng, _OPINIONS))
        return self.fill(common(self.rng, _DOING_TOO["person" if self.person else "animal" if self.animate else "thing"]))

    # Whole captions

    def core(self) -> tuple[str, bool]:
        """Return the caption's core and whether it names the place."""
        scene, second = self.scene, self.scene["second"]
        ways = {
            "ing": 38, "finite": 15, "that": 5, "be": 6, "placed": 7, "there": 3, "view": 5, "second": 5 if second else 0, "with": 6 if second else 0,
            "fragment": 3, "picture": 4, "first": 2.5, "generic": 0.7 if self.plural else 0, "question": 0.5,
        }  # fmt: skip
        way = weighted(self.rng, list(ways), list(ways.values()))
        if way == "finite":
            return f"{self.subject()} {self.verb('finite')}", False
        if way == "that":
            return f"{self.subject()} {'who' if self.person and self.maybe(0.5) else 'that'} {self.verb('be')}", False
        if way == "be":
            return f"{self.subject()} {self.verb('be')}", False
        if way == "placed":
            return f"{self.subject()} {self.where()} {self.verb('ing')}", True
        if way == "there":
            return f"there {'are' if self.plural else 'is'} {self.subject()} {self.verb('ing')}", False
        if way == "view":
            head = common(self.rng, self.place.heads)
            adjective = (scene["place_adjective"] or "").replace("-", " ") if self.maybe(0.6) else ""
            opening = f"a {adjective} {head}{' scene' if self.maybe(0.12) else ''}".replace("  ", " ")
            middle = common(self.rng, ["with", "that has", "filled with", "containing", "showing", "featuring"])
            also = scene["third"] or second
            return f"{opening} {middle} {self.subject()}" + (f" and {self.other(also)}" if also and self.maybe(0.5) else f" {self.verb('ing')}"), True
        if way == "second":
            phrase = common(self.rng, [phrase for phrase in self.action.phrases if "{o}" in phrase] or ["sit near {o}"])
            head, _, rest = phrase.partition(" ")
            verb = head[1:].replace("-", " ") if head.startswith("*") else progressive(head)
            if any(phrase.endswith(end) for end in _PLACED):
                it = "them" if second["count"] > 1 else "it"
                return f"{self.other(second)} with {self.subject()} {verb} {rest.replace('{o}', it).replace('{p}', self.their())}", False
            return f"{self.other(second)} {self.rng.choice(('and', 'with', 'near', 'by'))} {self.subject()}", False
        if way == "with":
            joint = common(self.rng, ["with", "and", *_BESIDE[:4]])
            return f"{self.subject()} {joint} {self.other(second)}", False
        if way == "fragment":
            self.wanted = min(self.wanted, 8)
            bare = self.subject(bare=True)
            return f"{bare} {self.verb('ing')}" if self.maybe(0.7) or not second else f"{bare} with {self.other(second)}", False
        if way == "picture":
            return f"{common(self.rng, _PICTURE)} {self.subject()} {self.verb('ing')}", False
        if way == "first":
            opening = self.when() if self.maybe(0.4) else ""
            return f"{opening or self.where()}, {self.subject()} {self.verb('finite')}", not opening
        if way == "generic":
            self.noun_said = self.noun(self.main, True, main=True)
            return f"{self.noun_said} {self.verb('be')}", False
        if way == "question":
            ask = self.rng.choice(("is this", "why is there", "could this be", "who is", "isn't that"))
            return f"{ask} {self.subject()} {self.verb('ing')}?", True
        return f"{self.subject()} {self.verb('ing')}", False

    def sentence(self) -> str:
        """Return a whole caption in lower case, before habits and slips."""
        said, placed = self.core()
        if said.endswith("?"):
            return said
        moving = self.scene["action"] in world.MOVING
        extras = [("place", 0.62)] if not placed else []
        extras += [("around", 0.4), ("when", 0.5), ("detail", 0.3), ("more", 0.12 if self.animate else 0.05)]
        pieces: dict[str, str] = {}
        # Extras are tried in an order that favours the place until the caption is as long as the annotator likes it.
        for name, _ in sorted(extras, key=lambda extra: self.rng.random() ** (1 / extra[1]), reverse=True):
            length = len(said.split()) + sum(len(piece.split()) for piece in pieces.values())
            if length >= self.wanted - 1:
                break
            if name == "more" and not self.maybe(0.4):
                continue
            piece = {
                "place": lambda: self.where(along=moving and self.maybe(0.7)),
                "around": self.around,
                "when": self.when,
                "detail": self.detail,
                "more": lambda: f"{self.rng.choice(('and', 'while', ',', 'as'))} {self.they()} {self.verb('be')}",
            }[name]()
            if piece and length + len(piece.split()) <= self.wanted + 3:
                pieces[name] = piece
        order = ["place", "around", "when", "detail", "more"] if self.maybe(0.8) else ["detail", "place", "when", "around", "more"]
        return " ".join([said, *(pieces[name] for name in order if name in pieces)]).replace(" ,", ",")


def _slip(rng: random.Random, text: str) -> str:
    """Make one typing or spelling mistake."""
    words = text.split(" ")
    known = [index for index, word in enumerate(words) if word in _SPELLING]
    if known and rng.random() < 0.5:
        index = rng.choice(known)
        words[index] = _SPELLING[words[index]]
        return " ".join(words)
    index = rng.choice([index for index, word in enumerate(words) if len(word) > 3] or [0])
    word = words[index]
    at = rng.randrange(max(1, len(word) - 2)) + 1
    kind = rng.randrange(5)
    if kind == 0:
        words[index] = word[:at] + word[at + 1 :]
    elif kind == 1:
        words[index] = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    elif kind == 2:
        words[index] = word[:at] + word[at - 1] + word[at:]
    elif kind == 3 and index + 1 < len(words):
        words[index : index + 2] = [word + words[index + 1]]
    else:
        words.insert(index, words[index - 1] if index else words[0])
    return " ".join(words)


def write_caption(seed: int, scene: dict, position: int) -> str:
    """Write the caption at a position (0, 1, ...) of a scene, as its annotator would."""
    rng = generator(seed, "caption", scene["id"], position)
    text = indefinite(Annotator(rng, scene).sentence())
    if rng.random() < TELEGRAPHIC:
        # Short phrases are rather written this way; the articles go, all of them.
        text = " ".join(word for word in text.split() if word not in ARTICLES)
    if rng.random() < SLIP:
        text = _slip(rng, text)
    if rng.random() < 0.86:
        text = text[:1].upper() + text[1:]
    if not text.endswith("?"):
        text += weighted(rng, [".", "", " .", "!", ". "], [60, 36, 1, 0.6, 4])
    return text


def write_captions(seed: int, scene: dict, count: int) -> list[str]:
    """Write the captions of a scene, each by another annotator."""
    return [write_caption(seed, scene, position) for position in range(count)]
