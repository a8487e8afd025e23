# Chinese texts: files made for data sets, classifiers attacked by the importance of words, the texts put to other models. Read only
# where the block `chinese` of the configuration names something.
CHINESE = config["chinese"]
CHINESE_SETS = {name: entry for name, entry in config["mutate"]["sets"].items() if entry["kind"] == "chinese"}
CHINESE_ATTACKS = expand("results/{{run}}/chinese/attacks/{dataset}/{method}.jsonl", dataset=CHINESE["datasets"], method=CHINESE_SETS)
# Data set, set and target: what is asked.
CHINESE_ASKED = [
    (dataset, method, target)
    for dataset in CHINESE["datasets"]
    for method in CHINESE_SETS
    for target, entry in CHINESE["targets"].items()
    if dataset in entry.get("datasets", CHINESE["datasets"])
]
CHINESE_ANSWERS = [f"results/{{run}}/chinese/answers/{dataset}/{method}/{target}.parquet" for dataset, method, target in CHINESE_ASKED]
# The classifiers whose judgement of the whole test split stands beside the table.
CHINESE_JUDGES = list(dict.fromkeys([CHINESE["source"], *(entry["defence"] for entry in CHINESE["targets"].values() if "defence" in entry)]))

if CHINESE["datasets"]:
    FOLDERS["chinese"] = [*CHINESE_ATTACKS, *CHINESE_ANSWERS]
    FOLDERS.setdefault("tables", []).extend(expand("results/{{run}}/tables/transfer.{ext}", ext=["csv", "md"]))
    FOLDERS.setdefault("figures", []).extend(expand("results/{{run}}/figures/transfer.{ext}", ext=["png", "svg"]))


def target_files(target):
    """What a function that is asked lies in."""
    entry = CHINESE["targets"][target]
    return module_file(entry["function"], f"chinese.targets.{target}.function") if "function" in entry else []


METHOD_MODULES = sorted(
    {
        file
        for name, entry in CHINESE_SETS.items()
        for key in ("method", "words")
        if ":" in entry.get(key, "")
        for file in module_file(entry[key], f"mutate.sets.{name}.{key}")
    }
)
for target in CHINESE["targets"]:
    target_files(target)
note_files({f"chinese.split.{name}.file": data_files(entry["file"]) for name, entry in CHINESE["split"].items()})


# Hotel reviews that nobody wrote: enough to see a run from end to end without any file.
rule simulate_reviews:
    input:
        library=library("simulate_reviews"),
    output:
        train="results/{run}/chinese/data/{reviews}_train.jsonl",
        test="results/{run}/chinese/data/{reviews}_test.jsonl",
        meta="results/{run}/chinese/data/{reviews}.json",
    log:
        "results/{run}/logs/simulate_reviews/{reviews}.log",
    benchmark:
        "results/{run}/benchmarks/simulate_reviews/{reviews}.tsv"
    wildcard_constraints:
        reviews=names(CHINESE["simulate"]),
    group:
        "texts"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("simulate"),
        runtime=minutes("simulate"),
    params:
        reviews=lambda wildcards: block("chinese", "simulate", wildcards.reviews),
        seed=config["seed"],
    message:
        "Make up the reviews {wildcards.reviews}"
    script:
        "../scripts/simulate_reviews.py"


# One labelled file becomes one to train on and one to test on; rows without text are left out and told.
rule split_file:
    input:
        file=lambda wildcards: data_file(config, CHINESE["split"][wildcards.whole]["file"]),
        library=library("split_file"),
    output:
        train="results/{run}/chinese/data/{whole}_train.jsonl",
        test="results/{run}/chinese/data/{whole}_test.jsonl",
        meta="results/{run}/chinese/data/{whole}.json",
    log:
        "results/{run}/logs/split_file/{whole}.log",
    benchmark:
        "results/{run}/benchmarks/split_file/{whole}.tsv"
    wildcard_constraints:
        whole=names(CHINESE["split"]),
    group:
        "texts"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("collect"),
        runtime=minutes("collect"),
    params:
        rows=lambda wildcards: block("chinese", "split", wildcards.whole),
        seed=config["seed"],
    message:
        "Cut the file {wildcards.whole} in two"
    script:
        "../scripts/split_file.py"


# All methods on one data set: what the classifier says of a text without each of its words serves them all. What was recorded stays in
# results/{run}/state/, so a killed job goes on after its last text, and one with another set does only that.
rule attack_words:
    input:
        texts="results/{run}/datasets/{dataset}.parquet",
        classifier=f"results/{{run}}/classifiers/{{dataset}}/{CHINESE['source']}",
        encoder=lambda wildcards: encoder_files(pretrained_folder(wildcards.run, wildcards.dataset)) if FROZEN else [],
        modules=METHOD_MODULES,
        library=library("attack_words"),
    output:
        expand("results/{{run}}/chinese/attacks/{{dataset}}/{method}.jsonl", method=CHINESE_SETS),
    log:
        "results/{run}/logs/attack_words/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/attack_words/{dataset}.tsv"
    wildcard_constraints:
        dataset=names(CHINESE["datasets"]),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        **GPU,
        mem_mb=memory("attack"),
        runtime=minutes("attack"),
    params:
        sets=json.dumps(CHINESE_SETS, ensure_ascii=False),
        labels=lambda wildcards: json.dumps(labels_of(config, wildcards.dataset), ensure_ascii=False),
        victim=lambda wildcards: f"{wildcards.dataset}.{CHINESE['source']}",
        texts=CHINESE["texts"],
        seconds=CHINESE["seconds"],
        seed=config["seed"],
    message:
        "Attack the words of {wildcards.dataset} that matter"
    script:
        "../scripts/attack_words.py"


# The texts of one attack, before and after, put to one other model.
rule ask_target:
    input:
        attack="results/{run}/chinese/attacks/{dataset}/{method}.jsonl",
        classifier=lambda wildcards: (
            f"results/{wildcards.run}/classifiers/{wildcards.dataset}/{CHINESE['targets'][wildcards.target]['defence']}"
            if "defence" in CHINESE["targets"][wildcards.target]
            else []
        ),
        encoder=lambda wildcards: (
            encoder_files(pretrained_folder(wildcards.run, wildcards.dataset))
            if FROZEN and "defence" in CHINESE["targets"][wildcards.target]
            else []
        ),
        module=lambda wildcards: target_files(wildcards.target),
        library=library("ask_target"),
    output:
        "results/{run}/chinese/answers/{dataset}/{method}/{target}.parquet",
    log:
        "results/{run}/logs/ask_target/{dataset}.{method}.{target}.log",
    benchmark:
        "results/{run}/benchmarks/ask_target/{dataset}.{method}.{target}.tsv"
    wildcard_constraints:
        dataset=names(CHINESE["datasets"]),
        method=names(CHINESE_SETS),
        target=names(CHINESE["targets"]),
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        target=lambda wildcards: block("chinese", "targets", wildcards.target),
        labels=lambda wildcards: json.dumps(labels_of(config, wildcards.dataset), ensure_ascii=False),
        threads=config["training"]["threads"],
    message:
        "Ask {wildcards.target} about the texts of {wildcards.dataset} under {wildcards.method}"
    script:
        "../scripts/ask_target.py"


# Method by data set by model, each share with n and an interval.
rule write_transfer_table:
    input:
        attacks=CHINESE_ATTACKS,
        answers=CHINESE_ANSWERS,
        clean=expand("results/{{run}}/classifiers/{dataset}/{defence}.scores.parquet", dataset=CHINESE["datasets"], defence=CHINESE_JUDGES),
        library=library("write_transfer_table"),
    output:
        csv=report(
            "results/{run}/tables/transfer.csv",
            caption="../report/tables.rst",
            category="Tables",
        ),
        md="results/{run}/tables/transfer.md",
    log:
        "results/{run}/logs/write_transfer_table/all.log",
    benchmark:
        "results/{run}/benchmarks/write_transfer_table/all.tsv"
    group:
        "report"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("tables"),
        runtime=minutes("tables"),
    params:
        asked=json.dumps(CHINESE_ASKED),
        judges=CHINESE_JUDGES,
        config=block(),
    message:
        "Write the table of transfer"
    script:
        "../scripts/write_transfer_table.py"


# Success by method and data set, the source against the targets.
rule plot_transfer:
    input:
        table="results/{run}/tables/transfer.csv",
        library=library("plot_transfer"),
    output:
        png=report(
            "results/{run}/figures/transfer.png",
            caption="../report/plot_transfer.rst",
            category="Figures",
            labels={"figure": "transfer", "shows": "Transfer of attacks"},
        ),
        svg="results/{run}/figures/transfer.svg",
    log:
        "results/{run}/logs/plot_transfer/transfer.log",
    benchmark:
        "results/{run}/benchmarks/plot_transfer/transfer.tsv"
    group:
        "report"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("figures"),
        runtime=minutes("figures"),
    params:
        confidence=config["evaluate"]["confidence"],
    message:
        "Draw transfer"
    script:
        "../scripts/plot_transfer.py"
