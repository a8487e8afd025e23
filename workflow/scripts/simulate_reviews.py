"""Make up Chinese hotel reviews, one file to train on and one to test on."""

from muattack.job import start_log

start_log(snakemake)

import json

from muattack.data.chinese import write_reviews

reviews, made = json.loads(snakemake.params.reviews), snakemake.output
write_reviews(reviews["train"], reviews["test"], snakemake.params.seed, {"train": made.train, "test": made.test}, made.meta)
