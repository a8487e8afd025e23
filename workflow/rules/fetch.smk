# Public data and models by name, `asset:NAME` in the configuration: the only rules that open the network. They run where snakemake
# runs, on a cluster too: compute nodes have no network.
#
# What was fetched stays in {assets}/.downloads, and an output is a hard link to it: snakemake deletes the outputs of a job that it runs
# again, which must not cost a download. That is also why these rules have no library among their inputs: what comes out is fixed by its
# checksum, and edited code fetches nothing anew.
FETCHED = ASSETS.fetches()
LOGS = f"results/{config['run']}/logs"
BENCHMARKS = f"results/{config['run']}/benchmarks"
IMAGE_SETS = [name for name, entry in ASSETS.wanted.items() if "images_of" in entry]


wildcard_constraints:
    fetched=names(FETCHED),
    images=names(IMAGE_SETS),
    detector_asset=names(ASSETS.conversions("detector")),
    pickle_asset=names(ASSETS.conversions("pickle")),
    number=r"[1-9]\d*",


# Everything the configuration names, checked once more: `make fetch CONFIG=...` on a machine with network.
rule fetch_assets:
    input:
        files=[file for name in ASSETS.wanted for file in asset_path(name, *ASSETS.final(name))],
        images=ASSETS.image_lists(),
        library=library("fetch_assets"),
    output:
        f"results/{config['run']}/assets.json",
    log:
        f"{LOGS}/fetch_assets/all.log",
    benchmark:
        f"{BENCHMARKS}/fetch_assets/all.tsv"
    localrule: True
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempted(500, attempt),
        runtime=60,
    params:
        config=json.dumps(as_written, ensure_ascii=False),
    message:
        "Check the assets of the configuration"
    script:
        "../scripts/fetch_assets.py"


rule fetch_file:
    output:
        f"{ASSETS.folder}/{{fetched}}",
    log:
        f"{LOGS}/fetch_file/{{fetched}}.log",
    benchmark:
        f"{BENCHMARKS}/fetch_file/{{fetched}}.tsv"
    localrule: True
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempted(500, attempt),
        runtime=720,
    params:
        source=lambda wildcards: json.dumps(ASSETS.source(*FETCHED[wildcards.fetched])),
        downloads=ASSETS.downloads,
        lock=ASSETS.lock,
    message:
        "Fetch {wildcards.fetched}"
    script:
        "../scripts/fetch_file.py"


# The photographs themselves are no outputs: ten thousand of them would slow every start, and a list that is made again keeps them.
rule fetch_images:
    input:
        lambda wildcards: asset_path(*ASSETS.catalogue[wildcards.images]["images_of"].values()),
    output:
        f"{ASSETS.folder}/{{images}}/first-{{number}}.jsonl",
    log:
        f"{LOGS}/fetch_images/{{images}}.first-{{number}}.log",
    benchmark:
        f"{BENCHMARKS}/fetch_images/{{images}}.first-{{number}}.tsv"
    localrule: True
    conda:
        "../../envs/light.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempted(1000, attempt),
        runtime=720,
    params:
        source=lambda wildcards: json.dumps(
            {"asset": wildcards.images, **{key: ASSETS.catalogue[wildcards.images][key] for key in ("what", "url")}}, ensure_ascii=False
        ),
        folder=lambda wildcards: f"{ASSETS.folder}/{wildcards.images}/images",
        local=lambda wildcards: ASSETS.local.get(wildcards.images, ""),
        lock=ASSETS.lock,
    message:
        "Fetch the first {wildcards.number} images of {wildcards.images}"
    script:
        "../scripts/fetch_images.py"


# The checkpoint of the GPT-2 output detector as a folder that transformers opens; output 0 is fake, 1 real.
rule convert_detector:
    input:
        checkpoint=lambda wildcards: asset_path(wildcards.detector_asset, conversion(wildcards.detector_asset, "detector"))[0],
        config=lambda wildcards: asset_path(conversion(wildcards.detector_asset, "like"), "config.json")[0],
        tokenizer=lambda wildcards: asset_path(conversion(wildcards.detector_asset, "like"), *TOKENIZER),
        library=library("convert_detector"),
    output:
        expand(f"{ASSETS.folder}/{{{{detector_asset}}}}/{{file}}", file=DETECTOR),
    log:
        f"{LOGS}/convert_detector/{{detector_asset}}.log",
    benchmark:
        f"{BENCHMARKS}/convert_detector/{{detector_asset}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempted(6000, attempt),
        runtime=30,
    message:
        "Convert the checkpoint of {wildcards.detector_asset}"
    script:
        "../scripts/convert_detector.py"


rule convert_weights:
    input:
        weights=lambda wildcards: asset_path(wildcards.pickle_asset, conversion(wildcards.pickle_asset, "pickle"))[0],
        library=library("convert_weights"),
    output:
        f"{ASSETS.folder}/{{pickle_asset}}/{WEIGHTS}",
    log:
        f"{LOGS}/convert_weights/{{pickle_asset}}.log",
    benchmark:
        f"{BENCHMARKS}/convert_weights/{{pickle_asset}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempted(4000, attempt),
        runtime=30,
    message:
        "Convert the weights of {wildcards.pickle_asset} to safetensors"
    script:
        "../scripts/convert_weights.py"
