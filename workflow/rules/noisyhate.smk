# Human-written perturbations: texts cleaned and perturbed, or pairs read; words restored by normalisers, both texts scored, people asked.
# Read only where noisyhate.source or noisyhate.pairs names something.
from muattack.mutate.registry import form_files

NOISYHATE = config["noisyhate"]
SCORERS = list(NOISYHATE["classifiers"])
NORMALISERS = {entry if isinstance(entry, str) else entry["name"]: entry for entry in NOISYHATE["normalisers"]}
# Texts are cleaned and perturbed where the run has a source, else pairs are read.
PERTURBS = bool(NOISYHATE["source"])
PROXY = NOISYHATE["proxy"] if PERTURBS else None
ANSWERS = data_files(NOISYHATE["judging"]["answers"])
# The pairs that normalisers and classifiers see: where people judged, those that they kept.
PAIRS = f"results/{{run}}/noisyhate/{'kept' if ANSWERS else 'pairs'}.parquet"
NOISYHATE_TABLES = [
    *(["cleaning", "perturbing"] if PERTURBS else []),
    *(["normalisers"] if NORMALISERS else []),
    *(["thresholds", "recall_by_type"] if SCORERS else []),
    *(["judging"] if ANSWERS else []),
]

FOLDERS["noisyhate"] = [
    *expand("results/{{run}}/noisyhate/{file}", file=["clean.parquet", "forms.json", "perturbed.parquet"] if PERTURBS else []),
    "results/{run}/noisyhate/pairs.parquet",
    "results/{run}/noisyhate/judging.html",
    *([PAIRS] if ANSWERS else []),
    *expand("results/{{run}}/noisyhate/restored/{normaliser}.parquet", normaliser=NORMALISERS),
    *expand("results/{{run}}/noisyhate/scores/{scorer}.parquet", scorer=SCORERS),
]
FOLDERS.setdefault("tables", []).extend(expand("results/{{run}}/tables/{table}.{ext}", table=NOISYHATE_TABLES, ext=["csv", "md"]))
if SCORERS:
    FOLDERS["tables"].append("results/{run}/tables/areas.csv")
    FOLDERS.setdefault("figures", []).extend(expand("results/{{run}}/figures/thresholds.{ext}", ext=["png", "svg"]))


def noisyhate_files():
    """The user's files that the family reads, by the key that names them."""
    files = {"noisyhate.judging.answers": ANSWERS}
    files |= {f"noisyhate.classifiers.{name}.path": local_model(entry) for name, entry in NOISYHATE["classifiers"].items() if "path" in entry}
    if PERTURBS:
        forms = form_files({"perturbations": NOISYHATE["perturbations"]})
        files |= {f"noisyhate.{key}": data_files(path) for key, path in forms.items()} | {"noisyhate.english": data_files(NOISYHATE["english"])}
    return files | {"noisyhate.pairs": data_files(NOISYHATE["pairs"])}


note_files(noisyhate_files())


def scorer_dataset(name):
    """Whose texts a classifier of the run was trained on; None for one of the user's."""
    entry = NOISYHATE["classifiers"][name]
    return CAPTIONS if "detector" in entry else entry.get("dataset")


def scorer_spec(run, name):
    """Where a classifier lies, or its function."""
    entry = NOISYHATE["classifiers"][name]
    if "detector" in entry:
        return f"results/{run}/detectors/{entry['detector']}"
    if "defence" in entry:
        return f"results/{run}/classifiers/{entry['dataset']}/{entry['defence']}"
    return entry.get("path") or entry["function"]


def scorer_files(run, name):
    """What a classifier depends on: its folder and the frozen encoder that it refers to, or the user's files."""
    entry = NOISYHATE["classifiers"][name]
    if "function" in entry:
        return module_file(entry["function"], f"noisyhate.classifiers.{name}.function")
    if "path" in entry:
        return local_model(entry)
    return [scorer_spec(run, name), *(encoder_files(pretrained_folder(run, scorer_dataset(name))) if FROZEN else [])]


def scorer_block(run, name):
    """How a classifier is opened, as JSON."""
    entry = NOISYHATE["classifiers"][name]
    classes = labels_of(config, scorer_dataset(name)) if scorer_dataset(name) else []
    positive = entry.get("positive") or (NOISYHATE["positive"] if NOISYHATE["positive"] in classes else None)
    return json.dumps({"spec": scorer_spec(run, name), "labels": entry.get("labels"), "positive": positive}, ensure_ascii=False)


def normaliser_files(name):
    """The module of a web service of the user's."""
    entry = NORMALISERS[name]
    return [] if isinstance(entry, str) else module_file(entry["ask"], f"noisyhate.normalisers, {name}")


# Told before anything runs, as missing files are.
for name in SCORERS:
    scorer_files(config["run"], name)
for name in NORMALISERS:
    normaliser_files(name)

if PERTURBS:
    SOURCE_LABELS = labels_of(config, NOISYHATE["source"])
    POSITIVE = NOISYHATE["positive"] or SOURCE_LABELS[-1]
    # What decides the perturbations, beside texts, forms and proxy.
    DRAWN_BY = ("texts", "threshold", "skip_unknown", "types", "seeds")

    rule clean_posts:
        input:
            texts=f"results/{{run}}/{texts_table(NOISYHATE['source'])}",
            english=data_files(NOISYHATE["english"]),
            library=library("clean_posts"),
        output:
            texts="results/{run}/noisyhate/clean.parquet",
            csv=report("results/{run}/tables/cleaning.csv", caption="../report/tables.rst", category="Tables"),
            md="results/{run}/tables/cleaning.md",
        log:
            "results/{run}/logs/clean_posts/all.log",
        benchmark:
            "results/{run}/benchmarks/clean_posts/all.tsv"
        group:
            "posts"
        conda:
            "../../envs/light.yaml"
        threads: 1
        resources:
            **LANE,
            mem_mb=memory("words"),
            runtime=minutes("words"),
        params:
            source=NOISYHATE["source"],
            positive=POSITIVE,
            # Label 1 is the class to find.
            label=SOURCE_LABELS.index(POSITIVE),
            negatives=NOISYHATE["negatives"],
            seed=config["seed"],
        message:
            "Clean the test texts of {params.source}"
        script:
            "../scripts/clean_posts.py"

    # The ways in which words are written: ANTHRO's look-up in a corpus, a table of the user's, or the demo's.
    rule build_lookup:
        input:
            files=sorted(path for key, paths in noisyhate_files().items() if "perturbations" in key for path in paths),
            library=library("build_lookup"),
        output:
            "results/{run}/noisyhate/forms.json",
        log:
            "results/{run}/logs/build_lookup/all.log",
        benchmark:
            "results/{run}/benchmarks/build_lookup/all.tsv"
        group:
            "posts"
        conda:
            "../../envs/light.yaml"
        threads: 1
        resources:
            **LANE,
            mem_mb=memory("words"),
            runtime=minutes("words"),
        params:
            perturbations=block("noisyhate", "perturbations"),
            data=config["data"],
        message:
            "Find how words are written"
        script:
            "../scripts/build_lookup.py"

    rule perturb_posts:
        input:
            texts="results/{run}/noisyhate/clean.parquet",
            forms="results/{run}/noisyhate/forms.json",
            proxy=lambda wildcards: scorer_files(wildcards.run, PROXY) if PROXY else [],
            library=library("perturb_posts"),
        output:
            texts="results/{run}/noisyhate/perturbed.parquet",
            pairs="results/{run}/noisyhate/pairs.parquet",
            csv=report("results/{run}/tables/perturbing.csv", caption="../report/tables.rst", category="Tables"),
            md="results/{run}/tables/perturbing.md",
        log:
            "results/{run}/logs/perturb_posts/all.log",
        benchmark:
            "results/{run}/benchmarks/perturb_posts/all.tsv"
        conda:
            "../../envs/torch.yaml"
        threads: config["training"]["threads"]
        resources:
            mem_mb=memory("words"),
            runtime=minutes("words"),
        params:
            proxy=lambda wildcards: scorer_block(wildcards.run, PROXY) if PROXY else "",
            name=PROXY or "",
            config=json.dumps({"seed": config["seed"], "noisyhate": {key: NOISYHATE[key] for key in DRAWN_BY}}),
            threads=config["training"]["threads"],
        message:
            "Write one word of each text as people write it"
        script:
            "../scripts/perturb_posts.py"

else:

    rule read_pairs:
        input:
            pairs=data_files(NOISYHATE["pairs"]),
            library=library("read_pairs"),
        output:
            "results/{run}/noisyhate/pairs.parquet",
        log:
            "results/{run}/logs/read_pairs/all.log",
        benchmark:
            "results/{run}/benchmarks/read_pairs/all.tsv"
        group:
            "posts"
        conda:
            "../../envs/light.yaml"
        threads: 1
        resources:
            **LANE,
            mem_mb=memory("collect"),
            runtime=minutes("collect"),
        params:
            columns=block("noisyhate", "columns"),
        message:
            "Read the pairs of a clean and a perturbed text"
        script:
            "../scripts/read_pairs.py"


rule write_judging_page:
    input:
        pairs="results/{run}/noisyhate/pairs.parquet",
        library=library("write_judging_page"),
    output:
        "results/{run}/noisyhate/judging.html",
    log:
        "results/{run}/logs/write_judging_page/all.log",
    benchmark:
        "results/{run}/benchmarks/write_judging_page/all.tsv"
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
        pairs=NOISYHATE["judging"]["pairs"],
        wait=NOISYHATE["judging"]["wait"],
        seed=config["seed"],
    message:
        "Write the page on which people judge pairs"
    script:
        "../scripts/write_judging_page.py"


# Only what the workers find likely goes on.
rule filter_pairs:
    input:
        pairs="results/{run}/noisyhate/pairs.parquet",
        answers=ANSWERS,
        library=library("filter_pairs"),
    output:
        pairs="results/{run}/noisyhate/kept.parquet",
        csv=report("results/{run}/tables/judging.csv", caption="../report/tables.rst", category="Tables"),
        md="results/{run}/tables/judging.md",
    log:
        "results/{run}/logs/filter_pairs/all.log",
    benchmark:
        "results/{run}/benchmarks/filter_pairs/all.tsv"
    group:
        "posts"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("collect"),
        runtime=minutes("collect"),
    params:
        config=block(),
    message:
        "Keep the pairs that people find likely"
    script:
        "../scripts/filter_pairs.py"


rule restore_pairs:
    input:
        pairs=PAIRS,
        module=lambda wildcards: normaliser_files(wildcards.normaliser),
        library=library("restore_pairs"),
    output:
        "results/{run}/noisyhate/restored/{normaliser}.parquet",
    log:
        "results/{run}/logs/restore_pairs/{normaliser}.log",
    benchmark:
        "results/{run}/benchmarks/restore_pairs/{normaliser}.tsv"
    wildcard_constraints:
        normaliser=names(NORMALISERS),
    group:
        "restore"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("words"),
        runtime=minutes("words"),
    params:
        normaliser=lambda wildcards: json.dumps(NORMALISERS[wildcards.normaliser], ensure_ascii=False),
    message:
        "Restore the perturbed words with {wildcards.normaliser}"
    script:
        "../scripts/restore_pairs.py"


rule write_normaliser_table:
    input:
        restored=expand("results/{{run}}/noisyhate/restored/{normaliser}.parquet", normaliser=NORMALISERS),
        library=library("write_normaliser_table"),
    output:
        csv=report("results/{run}/tables/normalisers.csv", caption="../report/tables.rst", category="Tables"),
        md="results/{run}/tables/normalisers.md",
    log:
        "results/{run}/logs/write_normaliser_table/all.log",
    benchmark:
        "results/{run}/benchmarks/write_normaliser_table/all.tsv"
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
        config=block(),
    message:
        "Write the table of normalisers"
    script:
        "../scripts/write_normaliser_table.py"


rule score_pairs:
    input:
        pairs=PAIRS,
        classifier=lambda wildcards: scorer_files(wildcards.run, wildcards.scorer),
        library=library("score_pairs"),
    output:
        "results/{run}/noisyhate/scores/{scorer}.parquet",
    log:
        "results/{run}/logs/score_pairs/{scorer}.log",
    benchmark:
        "results/{run}/benchmarks/score_pairs/{scorer}.tsv"
    wildcard_constraints:
        scorer=names(SCORERS),
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        classifier=lambda wildcards: scorer_block(wildcards.run, wildcards.scorer),
        normaliser=lambda wildcards: NOISYHATE["classifiers"][wildcards.scorer].get("normaliser", ""),
        threads=config["training"]["threads"],
    message:
        "Score clean and perturbed texts with {wildcards.scorer}"
    script:
        "../scripts/score_pairs.py"


# Curves over thresholds, their areas with AUC_diff, recall by type of perturbation.
rule write_threshold_tables:
    input:
        scores=expand("results/{{run}}/noisyhate/scores/{scorer}.parquet", scorer=SCORERS),
        library=library("write_threshold_tables"),
    output:
        thresholds=report("results/{run}/tables/thresholds.csv", caption="../report/tables.rst", category="Tables"),
        areas=report("results/{run}/tables/areas.csv", caption="../report/tables.rst", category="Tables"),
        recall=report("results/{run}/tables/recall_by_type.csv", caption="../report/tables.rst", category="Tables"),
        thresholds_md="results/{run}/tables/thresholds.md",
        recall_md="results/{run}/tables/recall_by_type.md",
    log:
        "results/{run}/logs/write_threshold_tables/all.log",
    benchmark:
        "results/{run}/benchmarks/write_threshold_tables/all.tsv"
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
        scorers=json.dumps(SCORERS),
        config=block(),
    message:
        "Write accuracy by threshold and recall by type"
    script:
        "../scripts/write_threshold_tables.py"


rule plot_thresholds:
    input:
        curves="results/{run}/tables/thresholds.csv",
        areas="results/{run}/tables/areas.csv",
        library=library("plot_thresholds"),
    output:
        png=report(
            "results/{run}/figures/thresholds.png",
            caption="../report/plot_thresholds.rst",
            category="Figures",
            labels={"figure": "thresholds", "shows": "Human-written perturbations"},
        ),
        svg="results/{run}/figures/thresholds.svg",
    log:
        "results/{run}/logs/plot_thresholds/all.log",
    benchmark:
        "results/{run}/benchmarks/plot_thresholds/all.tsv"
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
        "Draw accuracy by threshold"
    script:
        "../scripts/plot_thresholds.py"
