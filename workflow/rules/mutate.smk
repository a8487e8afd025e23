# The nine operator sets, and the tasks that join them.


# One file a set or task: every test text with its mutant, the edits, and whether anything changed.
rule mutate_captions:
    input:
        captions="results/{run}/captions.parquet",
        lists=lambda wildcards: set_files(members(wildcards.set)),
        library=library("mutate_captions"),
    output:
        "results/{run}/mutants/{set}.parquet",
    log:
        "results/{run}/logs/mutate_captions/{set}.log",
    benchmark:
        "results/{run}/benchmarks/mutate_captions/{set}.tsv"
    group:
        "mutate"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("mutate"),
        runtime=minutes("mutate"),
    params:
        mutate=lambda wildcards: mutate_block(wildcards.set),
        data=config["data"],
        seed=config["seed"],
    message:
        "Mutate the test captions with {wildcards.set}"
    script:
        "../scripts/mutate_captions.py"


# The individual mode over all sets: one mutant for each text and operator that can change it.
rule mutate_operators:
    input:
        captions="results/{run}/captions.parquet",
        lists=set_files(config["mutate"]["sets"]),
        library=library("mutate_operators"),
    output:
        "results/{run}/mutants/operators.parquet",
    log:
        "results/{run}/logs/mutate_operators/all.log",
    benchmark:
        "results/{run}/benchmarks/mutate_operators/all.tsv"
    group:
        "mutate"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("operators"),
        runtime=minutes("operators"),
    params:
        sets=block("mutate", "sets"),
        data=config["data"],
    message:
        "Mutate the machine's test captions with every operator on its own"
    script:
        "../scripts/mutate_operators.py"
