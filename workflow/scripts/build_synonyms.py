"""Find substitutes for the words of the texts that will be attacked."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.attack.synonyms import build_synonyms, words_of
from muattack.attack.texts import LEFT_OUT, choose_texts
from muattack.records import read_records

given, params = snakemake.input, snakemake.params
table = read_records(given.texts)
words = words_of(choose_texts(table, *json.loads(params.chosen), params.seed)["text"])
training = table[table["split"].eq("train") & table["source"].ne(LEFT_OUT)]["text"].tolist()
source, antonyms = (given[key][0] if given[key] else None for key in ("source", "antonyms"))
print(build_synonyms(json.loads(params.synonyms), source, training, words, params.most, antonyms, params.seed, snakemake.output[0]))
