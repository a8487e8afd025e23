# Attacks on detectors and classifiers under one set of constraints. Read only where the run has victims.


# What may stand for a word: one table a data set, for all attacks that swap words on it.
rule build_synonyms:
    input:
        texts=lambda wildcards: f"results/{wildcards.run}/{texts_table(wildcards.dataset)}",
        source=data_files(config["attacks"]["synonyms"]["path"]),
        antonyms=data_files(config["attacks"]["synonyms"]["antonyms"]),
        library=library("build_synonyms"),
    output:
        "results/{run}/attacks/synonyms/{dataset}.json",
    log:
        "results/{run}/logs/build_synonyms/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/build_synonyms/{dataset}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory("synonyms"),
        runtime=minutes("synonyms"),
    params:
        synonyms=block("attacks", "synonyms"),
        most=lambda wildcards: most_synonyms(config, wildcards.dataset),
        chosen=lambda wildcards: json.dumps(attacked_texts(config, wildcards.dataset)),
        seed=config["seed"],
    message:
        "Find substitutes for the words of {wildcards.dataset}"
    script:
        "../scripts/build_synonyms.py"


# All attacks on one victim, one shard of the texts: loading TextAttack and the models costs as much as some texts. What was recorded
# stays in results/{run}/state/, so a killed job goes on after its last text, and a job with one more attack does only that one.
rule attack_texts:
    input:
        texts=lambda wildcards: f"results/{wildcards.run}/{texts_table(VICTIMS[wildcards.victim])}",
        victim=lambda wildcards: victim_folder(wildcards.run, wildcards.victim),
        encoder=victim_encoder,
        synonyms=synonyms_table,
        antonyms=data_files(config["attacks"]["synonyms"]["antonyms"]),
        language_model=language_model,
        similarity=local_model(config["encoders"].get(config["attacks"]["similarity"]["encoder"], {})),
        library=library("attack_texts"),
    output:
        expand("results/{{run}}/attacks/{{victim}}/shards/{attack}-{{shard}}.jsonl", attack=RECIPES),
    log:
        "results/{run}/logs/attack_texts/{victim}-{shard}.log",
    benchmark:
        "results/{run}/benchmarks/attack_texts/{victim}-{shard}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        **GPU,
        mem_mb=memory("attack"),
        runtime=minutes("attack"),
    params:
        attacks=lambda wildcards: json.dumps({name: attack_settings(config, VICTIMS[wildcards.victim], name) for name in RECIPES}),
        labels=lambda wildcards: json.dumps(labels_of(config, VICTIMS[wildcards.victim]), ensure_ascii=False),
        chosen=lambda wildcards: json.dumps(attacked_texts(config, VICTIMS[wildcards.victim])),
        dataset=lambda wildcards: VICTIMS[wildcards.victim],
        similarity=block("attacks", "similarity"),
        encoder=json.dumps(config["encoders"].get(config["attacks"]["similarity"]["encoder"])),
        language_model=config["attacks"]["language_model"] if ASKS_LANGUAGE_MODEL else None,
        seconds=config["attacks"]["seconds"],
        shards=config["attacks"]["shards"],
        seed=config["seed"],
    message:
        "Attack {wildcards.victim}, shard {wildcards.shard}"
    script:
        "../scripts/attack_texts.py"


# In the order of the texts, so that the number of shards is not to be seen.
rule gather_attacks:
    input:
        shards=expand("results/{{run}}/attacks/{{victim}}/shards/{attack}-{shard}.jsonl", attack=RECIPES, shard=range(config["attacks"]["shards"])),
        library=library("gather_attacks"),
    output:
        expand("results/{{run}}/attacks/{{victim}}/{attack}.jsonl", attack=RECIPES),
    log:
        "results/{run}/logs/gather_attacks/{victim}.log",
    benchmark:
        "results/{run}/benchmarks/gather_attacks/{victim}.tsv"
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
        shards=config["attacks"]["shards"],
    message:
        "Gather the attacks on {wildcards.victim}"
    script:
        "../scripts/gather_attacks.py"


# Accuracy before and under attack with intervals, beside the published values; examples; ablations where victims allow them.
rule write_attack_tables:
    input:
        attacks=ATTACKS,
        clean=[clean_scores("{run}", victim) for victim in VICTIMS],
        captions="results/{run}/captions.parquet" if CAPTIONS in VICTIMS.values() else [],
        library=library("write_attack_tables"),
    output:
        csv=report(
            expand("results/{{run}}/tables/{table}.csv", table=ATTACK_TABLES),
            caption="../report/tables.rst",
            category="Tables",
        ),
        md=expand("results/{{run}}/tables/{table}.md", table=ATTACK_TABLES),
    log:
        "results/{run}/logs/write_attack_tables/all.log",
    benchmark:
        "results/{run}/benchmarks/write_attack_tables/all.tsv"
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
        victims=json.dumps([(dataset, victim) for victim, dataset in VICTIMS.items()]),
        attacks=list(config["attacks"]["recipes"]),
        tables=ATTACK_TABLES,
        config=block(),
    message:
        "Write the tables of attacks"
    script:
        "../scripts/write_attack_tables.py"


# Clean and under attack, victim by victim; the ablations' figures.
rule plot_attacks:
    input:
        attacks="results/{run}/tables/attacks.csv",
        library=library("plot_attacks"),
    output:
        png=report(
            "results/{run}/figures/{figure}.png",
            caption="../report/plot_attacks.rst",
            category="Figures",
            labels={"figure": "{figure}", "shows": "Attacks"},
        ),
        svg="results/{run}/figures/{figure}.svg",
    log:
        "results/{run}/logs/plot_attacks/{figure}.log",
    benchmark:
        "results/{run}/benchmarks/plot_attacks/{figure}.tsv"
    wildcard_constraints:
        figure=names(ATTACK_FIGURES),
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
        "../scripts/plot_attacks.py"
