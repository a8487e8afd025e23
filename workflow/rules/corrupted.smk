# Natural corruptions: test texts at rising severity, and what detectors and classifiers make of them. Read only where
# corrupted.severities names some.
from muattack.config import corrupted_classifiers

CORRUPTED = config["corrupted"]
# Severity 0, the texts as they are, always stands first.
SEVERITIES = [0.0, *sorted(CORRUPTED["severities"])]
# Data set and detector or defence: who judges what.
JUDGES = corrupted_classifiers(config)
CORRUPTED_SETS = list(dict.fromkeys(dataset for dataset, _ in JUDGES))
CORRUPTED_TEXTS = expand("results/{{run}}/corrupted/{dataset}.parquet", dataset=CORRUPTED_SETS)
CORRUPTED_SCORES = [f"results/{{run}}/corrupted/{dataset}/{judge}.parquet" for dataset, judge in JUDGES]

FOLDERS["corrupted"] = [*expand("results/{{run}}/corrupted/{dataset}.base.json", dataset=CORRUPTED_SETS), *CORRUPTED_TEXTS, *CORRUPTED_SCORES]
FOLDERS.setdefault("tables", []).extend(expand("results/{{run}}/tables/severity.{ext}", ext=["csv", "md"]))
FOLDERS.setdefault("figures", []).extend(expand("results/{{run}}/figures/severity.{ext}", ext=["png", "svg"]))


def corruption_files():
    """The user's files that the base is made from, by the key that names them."""
    named = files_of({"kind": "corrupt", **{key: CORRUPTED[key] for key in ("base", "synonyms") if CORRUPTED[key] != "run"}})
    return {f"corrupted.{key}": inside(data_files(path)) for key, path in named.items()}


note_files(corruption_files())


# Common words, the nearest of them by edit distance, synonyms: what the corruptions of a data set are made of.
rule fit_corruptions:
    input:
        texts=lambda wildcards: f"results/{wildcards.run}/{texts_table(wildcards.dataset)}" if CORRUPTED["base"] == "run" else [],
        files=sorted({path for paths in corruption_files().values() for path in paths}),
        library=library("fit_corruptions"),
    output:
        "results/{run}/corrupted/{dataset}.base.json",
    log:
        "results/{run}/logs/fit_corruptions/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/fit_corruptions/{dataset}.tsv"
    group:
        "corrupt"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("words"),
        runtime=minutes("words"),
    params:
        base=json.dumps({key: CORRUPTED[key] for key in ("base", "synonyms", "common_words", "min_length")}, ensure_ascii=False),
        data=config["data"],
    message:
        "Fit corruptions for {wildcards.dataset}"
    script:
        "../scripts/fit_corruptions.py"


# All severities in one file: a higher one corrupts the words of a lower one and more.
rule corrupt_texts:
    input:
        texts=lambda wildcards: f"results/{wildcards.run}/{texts_table(wildcards.dataset)}",
        base="results/{run}/corrupted/{dataset}.base.json",
        library=library("corrupt_texts"),
    output:
        "results/{run}/corrupted/{dataset}.parquet",
    log:
        "results/{run}/logs/corrupt_texts/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/corrupt_texts/{dataset}.tsv"
    group:
        "corrupt"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("words"),
        runtime=minutes("words"),
    params:
        severities=json.dumps(SEVERITIES),
        weights=block("corrupted", "weights"),
        texts=CORRUPTED["texts"],
        seed=config["seed"],
    message:
        "Corrupt the test texts of {wildcards.dataset}"
    script:
        "../scripts/corrupt_texts.py"


rule score_corrupted:
    input:
        texts="results/{run}/corrupted/{dataset}.parquet",
        classifier=lambda wildcards: f"results/{wildcards.run}/"
        + ("detectors" if wildcards.dataset == CAPTIONS else f"classifiers/{wildcards.dataset}")
        + f"/{wildcards.judge}",
        encoder=lambda wildcards: encoder_files(pretrained_folder(wildcards.run, wildcards.dataset)) if FROZEN else [],
        library=library("score_corrupted"),
    output:
        "results/{run}/corrupted/{dataset}/{judge}.parquet",
    log:
        "results/{run}/logs/score_corrupted/{dataset}.{judge}.log",
    benchmark:
        "results/{run}/benchmarks/score_corrupted/{dataset}.{judge}.tsv"
    wildcard_constraints:
        judge=names(dict.fromkeys(judge for _, judge in JUDGES)),
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        threads=config["training"]["threads"],
    message:
        "Judge the corrupted texts of {wildcards.dataset} with {wildcards.judge}"
    script:
        "../scripts/score_corrupted.py"


# Accuracy, its change from severity 0 and AUC, with intervals, the published values beside them; what was corrupted, and by what.
rule write_severity_tables:
    input:
        texts=CORRUPTED_TEXTS,
        scores=CORRUPTED_SCORES,
        library=library("write_severity_tables"),
    output:
        csv=report(
            "results/{run}/tables/severity.csv",
            caption="../report/tables.rst",
            category="Tables",
        ),
        md="results/{run}/tables/severity.md",
    log:
        "results/{run}/logs/write_severity_tables/all.log",
    benchmark:
        "results/{run}/benchmarks/write_severity_tables/all.tsv"
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
        datasets=json.dumps(CORRUPTED_SETS),
        judges=json.dumps(JUDGES),
        config=block(),
    message:
        "Write the table of accuracy by severity"
    script:
        "../scripts/write_severity_tables.py"


rule plot_severity:
    input:
        table="results/{run}/tables/severity.csv",
        library=library("plot_severity"),
    output:
        png=report(
            "results/{run}/figures/severity.png",
            caption="../report/plot_severity.rst",
            category="Figures",
            labels={"figure": "severity", "shows": "Natural corruptions"},
        ),
        svg="results/{run}/figures/severity.svg",
    log:
        "results/{run}/logs/plot_severity/all.log",
    benchmark:
        "results/{run}/benchmarks/plot_severity/all.tsv"
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
        config=block(),
    message:
        "Draw accuracy by severity"
    script:
        "../scripts/plot_severity.py"
