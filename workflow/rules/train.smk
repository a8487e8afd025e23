# Encoders and detectors.


# The demo's encoder: a small RoBERTa with its own byte-level BPE, pretrained on the run's training captions. (Detectors on
# another encoder need it only where its masked language model serves an attack.)
rule pretrain_encoder:
    input:
        captions="results/{run}/captions.parquet",
        library=library("pretrain_encoder"),
    output:
        directory("results/{run}/encoder"),
    log:
        "results/{run}/logs/pretrain_encoder/all.log",
    benchmark:
        "results/{run}/benchmarks/pretrain_encoder/all.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("pretrain"),
        runtime=minutes("pretrain"),
    params:
        encoder=block("encoders", PRETRAINED),
        seed=config["seed"],
        threads=config["training"]["threads"],
    message:
        "Pretrain the encoder by masked language modelling"
    script:
        "../scripts/pretrain_encoder.py"


# A frozen encoder sees each distinct text of the run once: the features serve every detector. Shards only share out the work.
rule encode_training_texts:
    input:
        captions="results/{run}/captions.parquet",
        base=base_captions,
        encoder=encoder_folder,
        library=library("encode_training_texts"),
    output:
        "results/{run}/features/train-{shard}.parquet",
    log:
        "results/{run}/logs/encode_training_texts/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/encode_training_texts/{shard}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("encode"),
        runtime=minutes("encode"),
    params:
        encoder=block("encoders", config["encoder"]),
        wanted=json.dumps(rr_shares(config)),
        draws=cached_draws(config),
        seed=config["seed"],
        shards=FEATURE_SHARDS,
        threads=config["training"]["threads"],
    message:
        "Encode the texts that detectors are trained on, shard {wildcards.shard}"
    script:
        "../scripts/encode_training_texts.py"


# Apart from the texts of training: a new operator set encodes its mutants and trains nothing anew.
rule encode_test_texts:
    input:
        captions="results/{run}/captions.parquet",
        mutants=expand("results/{{run}}/mutants/{set}.parquet", set=[*MUTANTS, "operators"]),
        encoder=encoder_folder,
        library=library("encode_test_texts"),
    output:
        "results/{run}/features/test-{shard}.parquet",
    log:
        "results/{run}/logs/encode_test_texts/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/encode_test_texts/{shard}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        encoder=block("encoders", config["encoder"]),
        shards=FEATURE_SHARDS,
        threads=config["training"]["threads"],
    message:
        "Encode the texts that detectors are tested on, shard {wildcards.shard}"
    script:
        "../scripts/encode_test_texts.py"


# Base, finetune, RR, dropout, RR with dropout, the m sweep: one rule, the settings differ.
rule train_detector:
    input:
        captions=lambda wildcards: f"results/{wildcards.run}/{training_table(wildcards.detector)}",
        encoder=encoder_folder,
        start=start_folder,
        features=features("train"),
        library=library("train_detector"),
    output:
        directory("results/{run}/detectors/{detector}"),
    log:
        "results/{run}/logs/train_detector/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/train_detector/{detector}.tsv"
    wildcard_constraints:
        detector=names(sorted(set(TRAINED_AS.values()))),
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("train"),
        runtime=minutes("train"),
    params:
        encoder=block("encoders", config["encoder"]),
        training=lambda wildcards: json.dumps(training_settings(config, config["detectors"][wildcards.detector])),
        normalise=config["captions"]["normalise"],
        detector=lambda wildcards: block("detectors", wildcards.detector),
        seed=config["seed"],
    message:
        "Train the detector {wildcards.detector}"
    script:
        "../scripts/train_detector.py"


# A detector with the same settings as another (rr_m0.3 and rr) has the same weights to the bit: copied, not trained again.
rule copy_detector:
    input:
        same=lambda wildcards: f"results/{wildcards.run}/detectors/{TRAINED_AS[wildcards.detector]}",
        library=library("copy_detector"),
    output:
        directory("results/{run}/detectors/{detector}"),
    log:
        "results/{run}/logs/copy_detector/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/copy_detector/{detector}.tsv"
    wildcard_constraints:
        detector=names(name for name, trained in TRAINED_AS.items() if trained != name),
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=memory("copy"),
        runtime=minutes("copy"),
    message:
        "Copy a detector of the same settings to {wildcards.detector}"
    script:
        "../scripts/copy_detector.py"


# A detector of the user's, or one of the run behind a defence: how it is opened, and what it depends on, as a folder like any other detector's.
# A zero-shot detector is calibrated on the validation texts.
rule open_detector:
    input:
        files=lambda wildcards: opened_files(wildcards.detector),
        captions=lambda wildcards: f"results/{wildcards.run}/captions.parquet" if "measure" in OPENED[wildcards.detector] else [],
        library=library("open_detector"),
    output:
        directory("results/{run}/detectors/{detector}"),
    log:
        "results/{run}/logs/open_detector/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/open_detector/{detector}.tsv"
    wildcard_constraints:
        detector=names(OPENED),
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("score"),
        runtime=minutes("score"),
    params:
        detector=lambda wildcards: opened_block(wildcards.detector),
        threads=config["training"]["threads"],
    message:
        "Open the detector {wildcards.detector}"
    script:
        "../scripts/open_detector.py"
