"""Clean the test texts of a data set as NoisyHate does, and tell what each step did."""

from muattack.job import start_log

start_log(snakemake)

from muattack.data.noisyhate import clean, read_words
from muattack.data.splits import chosen_texts
from muattack.evaluate.noisyhate_pages import write_cleaning
from muattack.records import read_records, write_records

given, made, params = snakemake.input, snakemake.output, snakemake.params
texts = chosen_texts(read_records(given.texts), None, params.seed)
texts["label"] = (texts["label"] == params.label).astype("int8")
if not params.negatives:
    texts = texts[texts["label"] == 1]
cleaned, steps = clean(texts, read_words(given.english[0]) if given.english else None)
print(steps)
write_records(made.texts, cleaned, {"source": params.source, "positive": params.positive, "rows_in": len(texts), "rows_out": len(cleaned)})
write_cleaning(steps, params.source, "all classes" if params.negatives else f"class {params.positive}", made.csv, made.md)
