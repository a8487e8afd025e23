"""Write the most important word of each clean text as people write it; keep the draw with the most varied types."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.noisyhate import pairs_of
from muattack.data.splits import draw
from muattack.evaluate.noisyhate_pages import write_perturbing
from muattack.mutate.anthro import read_table
from muattack.mutate.human import HumanOperator, perturb
from muattack.records import read_records, write_records

given, made, params = snakemake.input, snakemake.output, snakemake.params
config = json.loads(params.config)
noisyhate, seed = config["noisyhate"], config["seed"]
proxy = None
if params.proxy:
    # Without a proxy no torch is needed.
    import torch

    from muattack.detect.positive import open_positive

    torch.set_num_threads(params.threads)
    proxy, _ = open_positive(**json.loads(params.proxy))
texts = draw(read_records(given.texts), noisyhate["texts"], seed, "noisyhate")
operator = HumanOperator("noisyhate", read_table(given.forms), proxy, noisyhate["threshold"], noisyhate["skip_unknown"], noisyhate["types"], seed)
perturbed, draws = perturb(texts, operator, seed, noisyhate["seeds"])
pairs = pairs_of(perturbed, texts)
print(draws)
write_records(made.texts, perturbed, {"texts": len(texts), "proxy": params.name, "draws": draws.to_dict("records")})
write_records(made.pairs, pairs, {"pairs": len(pairs), "types": pairs["type"].value_counts().to_dict()})
write_perturbing(config, perturbed, draws, params.name or None, made.csv, made.md)
