# Photographs captioned by image-to-text models: from a list of images and COCO's annotations to the caption files of a run.
COCO = config["captions"]["coco"]
CAPTION_SHARDS = COCO["shards"]


# Which images there are, and what people say about them: before a GPU spends hours on images whose annotations are of another year.
rule list_images:
    input:
        images=data_files(COCO["images"])[0],
        human=data_files(COCO["human"]),
        library=library("list_images"),
    output:
        images="results/{run}/coco/images.jsonl",
        human="results/{run}/coco/human.json",
    log:
        "results/{run}/logs/list_images/all.log",
    benchmark:
        "results/{run}/benchmarks/list_images/all.tsv"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        # COCO's annotations, which are read whole, take ten times their bytes.
        mem_mb=lambda wildcards, input, attempt: attempted(200 + 10 * size_of(input.human) / 1e6, attempt),
        runtime=minutes("collect"),
    params:
        images=config["captions"]["images"],
        captions=COCO["captions_per_image"],
    message:
        "List the images and what people say about them"
    script:
        "../scripts/list_images.py"


# Beam search in batches. What is done is kept outside of the outputs; batches are dealt out to the shards, whose number changes no caption.
rule caption_images:
    input:
        images="results/{run}/coco/images.jsonl",
        model=lambda wildcards: local_model({"path": captioner_model(wildcards.captioner)}),
        library=library("caption_images"),
    output:
        "results/{run}/coco/shards/{captioner}-{shard}.json",
    log:
        "results/{run}/logs/caption_images/{captioner}-{shard}.log",
    benchmark:
        "results/{run}/benchmarks/caption_images/{captioner}-{shard}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: config["training"]["threads"]
    resources:
        **GPU,
        mem_mb=memory("caption"),
        runtime=minutes("caption"),
    params:
        captioner=lambda wildcards: block("captions", "coco", wildcards.captioner),
        settings=json.dumps({key: COCO[key] for key in ("captions_per_image", "beams", "max_tokens", "batch_size")}),
        shards=CAPTION_SHARDS,
        threads=config["training"]["threads"],
    message:
        "Caption the images with {wildcards.captioner}, shard {wildcards.shard}"
    script:
        "../scripts/caption_images.py"


rule gather_captions:
    input:
        images="results/{run}/coco/images.jsonl",
        shards=expand("results/{{run}}/coco/shards/{{captioner}}-{shard}.json", shard=range(CAPTION_SHARDS)),
        library=library("gather_captions"),
    output:
        captions="results/{run}/coco/{captioner}.json",
        meta="results/{run}/coco/{captioner}.meta.json",
    log:
        "results/{run}/logs/gather_captions/{captioner}.log",
    benchmark:
        "results/{run}/benchmarks/gather_captions/{captioner}.tsv"
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        **LANE,
        mem_mb=memory("collect"),
        runtime=minutes("collect"),
    message:
        "Join the captions of {wildcards.captioner}"
    script:
        "../scripts/gather_captions.py"
