"""Score clean and perturbed texts with one classifier."""

from muattack.job import start_log

start_log(snakemake)

import json

import torch

from muattack.detect.positive import open_positive
from muattack.evaluate.thresholds import score_pairs
from muattack.mutate.normalise_text import make_normaliser
from muattack.records import read_records, write_records

params = snakemake.params
torch.set_num_threads(params.threads)
pairs = read_records(snakemake.input.pairs)
if params.normaliser:
    normaliser = make_normaliser(params.normaliser, "noisyhate.classifiers")
    pairs = pairs.assign(**{version: [normaliser.text(text).text for text in pairs[version]] for version in ("clean", "perturbed")})
predict, truncated = open_positive(**json.loads(params.classifier))
scores = score_pairs(pairs, predict)
meta = {"pairs": len(pairs), "share_truncated": float(truncated(pairs["perturbed"]).mean()), "normaliser": params.normaliser}
print(meta)
write_records(snakemake.output[0], scores, meta)
