# Topic and sentiment classifiers: a data set from files, one classifier for each defence, its judgements of the test split.


# Every row of the files is a text of the table, or an error with file and row.
rule collect_dataset:
    input:
        train=lambda wildcards: inside(dataset_files(wildcards.dataset, "train")),
        test=lambda wildcards: inside(dataset_files(wildcards.dataset, "test")),
        library=library("collect_dataset"),
    output:
        "results/{run}/datasets/{dataset}.parquet",
    log:
        "results/{run}/logs/collect_dataset/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/collect_dataset/{dataset}.tsv"
    group:
        "texts"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("collect"),
        runtime=minutes("collect"),
    params:
        dataset=lambda wildcards: dataset_block(wildcards.dataset),
        files=lambda wildcards: json.dumps({part: dataset_files(wildcards.dataset, part) for part in ("train", "test")}, ensure_ascii=False),
        seed=config["seed"],
    message:
        "Read the data set {wildcards.dataset}"
    script:
        "../scripts/collect_dataset.py"


# A data set has an encoder of its own: words and subwords of captions would not do for news.
rule pretrain_dataset_encoder:
    input:
        texts="results/{run}/datasets/{dataset}.parquet",
        library=library("pretrain_dataset_encoder"),
    output:
        directory("results/{run}/classifiers/{dataset}/encoder"),
    log:
        "results/{run}/logs/pretrain_dataset_encoder/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/pretrain_dataset_encoder/{dataset}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("pretrain"),
        runtime=minutes("pretrain"),
    params:
        encoder=block("encoders", PRETRAINED),
        labels=lambda wildcards: json.dumps(labels_of(config, wildcards.dataset), ensure_ascii=False),
        seed=config["seed"],
        threads=config["training"]["threads"],
    message:
        "Pretrain an encoder on {wildcards.dataset} by masked language modelling"
    script:
        "../scripts/pretrain_dataset_encoder.py"


# Plain and adversarial training: one rule, the settings differ.
rule train_classifier:
    input:
        texts="results/{run}/datasets/{dataset}.parquet",
        encoder=lambda wildcards: encoder_files(f"results/{wildcards.run}/classifiers/{wildcards.dataset}/encoder"),
        start=start_classifier,
        library=library("train_classifier"),
    output:
        directory("results/{run}/classifiers/{dataset}/{defence}"),
    log:
        "results/{run}/logs/train_classifier/{dataset}.{defence}.log",
    benchmark:
        "results/{run}/benchmarks/train_classifier/{dataset}.{defence}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("train"),
        runtime=minutes("train"),
    params:
        encoder=block("encoders", config["encoder"]),
        training=lambda wildcards: json.dumps(training_settings(config, config["classification"]["defences"][wildcards.defence])),
        defence=lambda wildcards: json.dumps(
            {key: value for key, value in config["classification"]["defences"][wildcards.defence].items() if key != "attacked"}
        ),
        labels=lambda wildcards: json.dumps(labels_of(config, wildcards.dataset), ensure_ascii=False),
        seed=config["seed"],
    message:
        "Train the classifier {wildcards.defence} on {wildcards.dataset}"
    script:
        "../scripts/train_classifier.py"


rule score_classifier:
    input:
        texts="results/{run}/datasets/{dataset}.parquet",
        classifier="results/{run}/classifiers/{dataset}/{defence}",
        encoder=lambda wildcards: encoder_files(f"results/{wildcards.run}/classifiers/{wildcards.dataset}/encoder"),
        library=library("score_classifier"),
    output:
        "results/{run}/classifiers/{dataset}/{defence}.scores.parquet",
    log:
        "results/{run}/logs/score_classifier/{dataset}.{defence}.log",
    benchmark:
        "results/{run}/benchmarks/score_classifier/{dataset}.{defence}.tsv"
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
        "Judge the test texts of {wildcards.dataset} with {wildcards.defence}"
    script:
        "../scripts/score_classifier.py"
