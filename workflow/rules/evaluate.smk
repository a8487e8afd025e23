# Scores, metrics with intervals, tables, the report.


# P(machine) of every test text and every mutant.
rule score_texts:
    input:
        detector="results/{run}/detectors/{detector}",
        captions="results/{run}/captions.parquet",
        mutants=expand("results/{{run}}/mutants/{set}.parquet", set=[*MUTANTS, "operators"]),
        encoder=detector_encoder,
        features=detector_features,
        library=library("score_texts"),
    output:
        "results/{run}/scores/{detector}.parquet",
    log:
        "results/{run}/logs/score_texts/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/score_texts/{detector}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        sets=[*MUTANTS, "operators"],
        threads=config["training"]["threads"],
    message:
        "Score all texts with {wildcards.detector}"
    script:
        "../scripts/score_texts.py"


# AUC, accuracy, TPR at a fixed FPR, each with n and an interval; differences on the same resamples.
rule compute_metrics:
    input:
        captions="results/{run}/captions.parquet",
        scores=expand("results/{{run}}/scores/{detector}.parquet", detector=DETECTORS),
        mutants=expand("results/{{run}}/mutants/{set}.parquet", set=MUTANTS),
        library=library("compute_metrics"),
    output:
        metrics="results/{run}/metrics.csv",
        differences="results/{run}/differences.csv",
    log:
        "results/{run}/logs/compute_metrics/all.log",
    benchmark:
        "results/{run}/benchmarks/compute_metrics/all.tsv"
    group:
        "report"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("metrics"),
        runtime=minutes("metrics"),
    params:
        detectors=DETECTORS,
        mutants=MUTANTS,
        evaluate=json.dumps({key: config["evaluate"][key] for key in ("bootstrap", "confidence", "fpr", "threshold")}),
        defended=json.dumps(defended_pairs(config["detectors"])),
        mutate=block("mutate"),
        seed=config["seed"],
    message:
        "Compute metrics with intervals by bootstrap over images"
    script:
        "../scripts/compute_metrics.py"


# The paper's tables with its values beside ours, the article statistic, the operators ranked.
rule write_tables:
    input:
        captions="results/{run}/captions.parquet",
        metrics="results/{run}/metrics.csv",
        differences="results/{run}/differences.csv",
        operators="results/{run}/mutants/operators.parquet",
        scores=expand("results/{{run}}/scores/{detector}.parquet", detector=DETECTORS),
        library=library("write_tables"),
    output:
        csv=report(
            expand("results/{{run}}/tables/{table}.csv", table=TABLES),
            caption="../report/tables.rst",
            category="Tables",
        ),
        md=expand("results/{{run}}/tables/{table}.md", table=TABLES),
    log:
        "results/{run}/logs/write_tables/all.log",
    benchmark:
        "results/{run}/benchmarks/write_tables/all.tsv"
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
        detectors=DETECTORS,
        config=block(),
    message:
        "Write the tables"
    script:
        "../scripts/write_tables.py"


# What the run was made from and with, for each result folder: settings, seeds, versions, inputs, rows in and out.
rule describe_run:
    input:
        **FOLDERS,
        captions="results/{run}/captions.parquet" if CAPTIONED else [],
        metrics="results/{run}/metrics.csv" if CAPTIONED else [],
        data=inside(sorted({path for paths in USER_FILES.values() for path in paths})),
        library=library("describe_run"),
    output:
        run="results/{run}/meta.json",
        folders=expand("results/{{run}}/{folder}/meta.json", folder=FOLDERS),
    log:
        "results/{run}/logs/describe_run/all.log",
    benchmark:
        "results/{run}/benchmarks/describe_run/all.tsv"
    group:
        "report"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("copy"),
        runtime=minutes("copy"),
    params:
        folders=list(FOLDERS),
        # Assets by their names, not by where they lie on this machine.
        config=json.dumps(as_written, ensure_ascii=False),
    message:
        "Describe the run"
    script:
        "../scripts/describe_run.py"


# One page that holds the run: findings in words, tables, figures, the texts. It alone says how long things took.
rule write_report:
    input:
        meta="results/{run}/meta.json",
        captions="results/{run}/captions.parquet" if CAPTIONED else [],
        mutants=expand("results/{{run}}/mutants/{set}.parquet", set=MUTANTS if CAPTIONED else []),
        scores=expand("results/{{run}}/scores/{detector}.parquet", detector=DETECTORS if CAPTIONED else []),
        measured=expand("results/{{run}}/{name}.csv", name=["metrics", "differences"] if CAPTIONED else []),
        tables=FOLDERS.get("tables", []),
        figures=FOLDERS.get("figures", []),
        attacks=ATTACKS,
        library=library("write_report"),
    output:
        report("results/{run}/report.html", caption="../report/write_report.rst", category="Report"),
    log:
        "results/{run}/logs/write_report/all.log",
    benchmark:
        "results/{run}/benchmarks/write_report/all.tsv"
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
        mutants=MUTANTS if CAPTIONED else [],
        detectors=DETECTORS if CAPTIONED else [],
        victims=list(VICTIMS),
        benchmarks="results/{run}/benchmarks",
        config=block(),
    message:
        "Write the report"
    script:
        "../scripts/write_report.py"
