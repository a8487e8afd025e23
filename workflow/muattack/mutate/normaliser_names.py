"""The names of normalisers, for whoever checks a configuration without loading any; `normalise_text` makes them."""

OFFLINE = ("pyspellchecker", "symspellpy", "confusables", "look-alikes", "lower-case", "zero-width")
# Web services, each of which needs the user's key.
WEB = ("serpapi",)
