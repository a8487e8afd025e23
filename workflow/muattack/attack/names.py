"""The names of the attacks' recipes. Imports nothing: configuration and tables ask it too."""

RECIPES = ("textfooler", "textbugger", "textbugger_word", "bert_attack", "pwws", "deepwordbug")
# Recipes that take substitutes from the table of synonyms; the others ask a language model or WordNet, or misspell.
WITH_SYNONYMS = ("textfooler", "textbugger", "textbugger_word")
