"""Convert pickled weights to safetensors."""

from muattack.job import start_log

start_log(snakemake)

from muattack.fetch.convert import convert_pickle

print(convert_pickle(snakemake.input.weights, snakemake.output[0]))
