# muattack: one command from captions to a paper's tables and figures.
#   snakemake --cores all                                          the demo, nothing needed
#   snakemake --cores all --configfile config/captions.yaml        your own caption files; config/ has more
#
# Every result lies under results/{run}/ (config: run):
#   captions.parquet  base_captions.parquet                        the texts, split by image
#   mutants/{set}.parquet  mutants/operators.parquet               nine operator sets, six tasks; one mutant an operator
#   encoder/  detectors/{detector}/                                safetensors and JSON
#   scores/{detector}.parquet  metrics.csv  differences.csv        P(machine) of every text; every number with its interval
#   datasets/{dataset}.parquet                                     topic and sentiment sets, rows in are rows out
#   classifiers/{dataset}/{defence}/                               one for each defence; {defence}.scores.parquet beside it
#   attacks/{victim}/{attack}.jsonl                                one record a text that was attacked
#   chinese/  corrupted/  noisyhate/                               the families of perturbations that the configuration turns on
#   report.html  tables/{table}.{csv,md}  figures/{figure}.{png,svg}  everything on one page; what a paper prints
#   logs/{rule}/  benchmarks/{rule}/                               what happened, and what it cost
from snakemake.utils import min_version

min_version("9.20")


# From here and not from the working folder, so that the workflow also runs elsewhere (snakemake --directory).
configfile: f"{workflow.current_basedir}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/mutate.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/classify.smk"


for family in families_of(config):

    include: f"workflow/rules/{family}.smk"


include: "workflow/rules/evaluate.smk"
include: "workflow/rules/figures.smk"


if ATTACKS:

    include: "workflow/rules/attack.smk"


report: "workflow/report/workflow.rst"


onerror:
    print(how_to_go_on(log), file=sys.stderr)


rule all:
    default_target: True
    input:
        expand("results/{run}/report.html", run=config["run"]),
        expand("results/{run}/metrics.csv", run=config["run"] if CAPTIONED else []),
        [expand(files, run=config["run"]) for files in FOLDERS.values()],
    message:
        f"Everything of the run is made: see results/{config['run']}/"
