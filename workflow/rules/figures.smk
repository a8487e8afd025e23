# Figures as PNG and SVG, collected by `snakemake --report`.


# Figures 3a, 4, 5, 6a-c, and one for each detector of the user's: ROC curves of the tasks.
rule plot_roc:
    input:
        captions="results/{run}/captions.parquet",
        mutants=expand("results/{{run}}/mutants/{set}.parquet", set=MUTANTS),
        metrics="results/{run}/metrics.csv",
        scores=lambda wildcards: expand("results/{run}/scores/{detector}.parquet", run=wildcards.run, detector=figure_detectors(wildcards.figure)),
        library=library("plot_roc"),
    output:
        png=report(
            "results/{run}/figures/{figure}.png",
            caption="../report/plot_roc.rst",
            category="Figures",
            labels={"figure": "{figure}", "shows": "ROC curves"},
        ),
        svg="results/{run}/figures/{figure}.svg",
    log:
        "results/{run}/logs/plot_roc/{figure}.log",
    benchmark:
        "results/{run}/benchmarks/plot_roc/{figure}.tsv"
    wildcard_constraints:
        figure=f"fig3a|fig4|fig5|fig6a|fig6b|fig6c|{ROC_PREFIX}.+",
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
        detectors=lambda wildcards: list(figure_detectors(wildcards.figure)),
        mutants=MUTANTS,
        config=block(),
    message:
        "Draw {wildcards.figure}"
    script:
        "../scripts/plot_roc.py"


# Figure 3b: accuracy by task and detector.
rule plot_accuracy:
    input:
        metrics="results/{run}/metrics.csv",
        library=library("plot_accuracy"),
    output:
        png=report(
            "results/{run}/figures/{figure}.png",
            caption="../report/plot_accuracy.rst",
            category="Figures",
            labels={"figure": "{figure}", "shows": "Accuracy"},
        ),
        svg="results/{run}/figures/{figure}.svg",
    log:
        "results/{run}/logs/plot_accuracy/{figure}.log",
    benchmark:
        "results/{run}/benchmarks/plot_accuracy/{figure}.tsv"
    wildcard_constraints:
        figure="fig3b",
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
        "Draw {wildcards.figure}"
    script:
        "../scripts/plot_accuracy.py"


# Figure 7: AUC against m.
rule plot_sweep:
    input:
        metrics="results/{run}/metrics.csv",
        library=library("plot_sweep"),
    output:
        png=report(
            "results/{run}/figures/{figure}.png",
            caption="../report/plot_sweep.rst",
            category="Figures",
            labels={"figure": "{figure}", "shows": "The m sweep"},
        ),
        svg="results/{run}/figures/{figure}.svg",
    log:
        "results/{run}/logs/plot_sweep/{figure}.log",
    benchmark:
        "results/{run}/benchmarks/plot_sweep/{figure}.tsv"
    wildcard_constraints:
        figure="fig7",
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
        "Draw {wildcards.figure}"
    script:
        "../scripts/plot_sweep.py"


# What RR-training buys, task by task, with paired intervals.
rule plot_differences:
    input:
        differences="results/{run}/differences.csv",
        library=library("plot_differences"),
    output:
        png=report(
            "results/{run}/figures/{figure}.png",
            caption="../report/plot_differences.rst",
            category="Figures",
            labels={"figure": "{figure}", "shows": "Differences"},
        ),
        svg="results/{run}/figures/{figure}.svg",
    log:
        "results/{run}/logs/plot_differences/{figure}.log",
    benchmark:
        "results/{run}/benchmarks/plot_differences/{figure}.tsv"
    wildcard_constraints:
        figure="differences",
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
        "Draw {wildcards.figure}"
    script:
        "../scripts/plot_differences.py"
