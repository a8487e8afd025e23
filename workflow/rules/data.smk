# From scenes or files to one table of captions, split by image.


# Simulated "images", and what people say about them: the run's own scenes, others that the captioners learn from, and others
# again for the `base` detector's domain.
rule simulate_scenes:
    input:
        library=library("simulate_scenes"),
    output:
        scenes="results/{run}/simulated/scenes.jsonl",
        human="results/{run}/simulated/human.json",
        base_human="results/{run}/simulated/base_human.json",
        captioner_human="results/{run}/simulated/captioner_human.json",
        meta="results/{run}/simulated/meta.json",
    log:
        "results/{run}/logs/simulate_scenes/all.log",
    benchmark:
        "results/{run}/benchmarks/simulate_scenes/all.tsv"
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
        simulate=block("captions", "simulate"),
        images=config["captions"]["images"],
        seed=config["seed"],
    message:
        "Simulate scenes and the human captions of each"
    script:
        "../scripts/simulate_scenes.py"


# A neural captioner learns from human captions of other scenes; nothing tells it how a machine should sound.
rule train_captioner:
    input:
        scenes="results/{run}/simulated/scenes.jsonl",
        captions="results/{run}/simulated/captioner_human.json",
        library=library("train_captioner"),
    output:
        directory("results/{run}/simulated/captioners/{captioner}"),
    log:
        "results/{run}/logs/train_captioner/{captioner}.log",
    benchmark:
        "results/{run}/benchmarks/train_captioner/{captioner}.tsv"
    group:
        "texts"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **LANE,
        mem_mb=memory("captioner"),
        runtime=minutes("captioner"),
    params:
        simulate=block("captions", "simulate"),
        seed=config["seed"],
        threads=config["training"]["threads"],
    message:
        "Train the captioner {wildcards.captioner} on human captions of other scenes"
    script:
        "../scripts/train_captioner.py"


rule caption_scenes:
    input:
        captioner="results/{run}/simulated/captioners/{captioner}",
        scenes="results/{run}/simulated/scenes.jsonl",
        library=library("caption_scenes"),
    output:
        captions="results/{run}/simulated/{part}/{captioner}.json",
        meta="results/{run}/simulated/{part}/{captioner}.meta.json",
    log:
        "results/{run}/logs/caption_scenes/{part}-{captioner}.log",
    benchmark:
        "results/{run}/benchmarks/caption_scenes/{part}-{captioner}.tsv"
    group:
        "texts"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **LANE,
        mem_mb=memory("captioner"),
        runtime=minutes("captioner"),
    params:
        seed=config["seed"],
        threads=config["training"]["threads"],
    message:
        "Caption the scenes of {wildcards.part} with the captioner {wildcards.captioner}"
    script:
        "../scripts/caption_scenes.py"


# The user's own texts of people and of machines, each text for itself or with those of its group.
if config["captions"]["source"] == "texts":

    ruleorder: collect_texts > collect_captions

    rule collect_texts:
        input:
            files=inside(path for paths in texts_files().values() for path in paths),
            library=library("collect_texts"),
        output:
            "results/{run}/captions.parquet",
        log:
            "results/{run}/logs/collect_texts/all.log",
        benchmark:
            "results/{run}/benchmarks/collect_texts/all.tsv"
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
            texts=texts_block(),
            files=json.dumps(texts_files(), ensure_ascii=False),
            normalise=config["captions"]["normalise"],
            split=json.dumps(split_shares(config)),
            seed=config["seed"],
        message:
            "Read the texts"
        script:
            "../scripts/collect_texts.py"


# Join the sources, normalise, split by image: 70:15:15 in the paper. An image never parts.
rule collect_captions:
    input:
        unpack(caption_files),
        library=library("collect_captions"),
    output:
        "results/{run}/captions.parquet",
    log:
        "results/{run}/logs/collect_captions/all.log",
    benchmark:
        "results/{run}/benchmarks/collect_captions/all.tsv"
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
        sources=SOURCES,
        # Of photographs the list has those that are wanted, and an image that a captioner had nothing to say about is left out.
        images=None if config["captions"]["source"] == "coco" else config["captions"]["images"],
        normalise=config["captions"]["normalise"],
        split=json.dumps(split_shares(config)),
        seed=config["seed"],
    message:
        "Join and split the captions"
    script:
        "../scripts/collect_captions.py"


# Texts of another domain, human and machine, that the `base` detector is trained on.
rule collect_base_captions:
    input:
        unpack(base_files),
        library=library("collect_base_captions"),
    output:
        "results/{run}/base_captions.parquet",
    log:
        "results/{run}/logs/collect_base_captions/all.log",
    benchmark:
        "results/{run}/benchmarks/collect_base_captions/all.tsv"
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
        base=block("base"),
        normalise=config["captions"]["normalise"],
        split=block("captions", "split"),
        seed=config["seed"],
    message:
        "Collect the texts of the base detector's domain"
    script:
        "../scripts/collect_base_captions.py"
