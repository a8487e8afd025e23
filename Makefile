# make demo          the main job on the embedded default: results/demo/
# make test          unit tests and rules, no network, minutes
# make test-slow     a real small run of the workflow, and other tests of minutes
# make chaos         kills a small run 25 times at random moments and compares its results with those of an undisturbed one
# make fuzz          10,000 broken files for every reader and texts for every operator, then coverage-guided files where atheris is installed (SECONDS a reader): an hour
# make slurm-test    the workflow on a SLURM cluster that is brought up on this machine, with jobs that are cancelled and killed
# make lint          ruff, snakefmt, snakemake --lint
# make audit         known vulnerabilities of the pinned packages, where the advisory data can be reached
# make dryrun        every configuration's jobs, listed but not run
# make fetch CONFIG=mine.yaml   fetches the public data and models that a configuration names (several files in quotes), on a machine with network
# make config-page   config/README.md, every key of the configuration, from the schema
# make gpu-check     8 minutes on a machine with an NVIDIA GPU: agreement with the processor, texts a second, share of peak, memory; no network needed
# make bench         muattack beside nlpaug, TextAttack, corrupted-text and the Trainer of transformers, as ratios, into docs/benchmarks.md: half an hour
# make docs-figures  the figures that the documentation shows, from the demo's results
# Each makes .venv from requirements.lock when it is missing or older than the lock.
PYTHON ?= python3
CORES ?= all
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo fetch test test-slow chaos fuzz slurm-test lint audit dryrun config-page gpu-check docs-figures bench clean
.DELETE_ON_ERROR:

demo: .venv/ready
	@snakemake --cores $(CORES)
	@echo "Open results/demo/report.html; tables and figures: results/demo/tables and results/demo/figures"

fetch: .venv/ready
	@test -n "$(CONFIG)" || { echo "Say for which configuration: make fetch CONFIG=config/config.yaml"; exit 1; }
	@snakemake fetch_assets --cores $(CORES) --configfile $(CONFIG)

test: .venv/ready
	@python -m pytest tests/unit tests/rules -m "not slow and not slurm and not gpu" --numprocesses auto --dist worksteal

test-slow: .venv/ready
	@python -m pytest tests -m "slow and not slurm and not gpu" --numprocesses auto --dist worksteal

# The report: chaos/report.md. SEED=2 draws other moments.
chaos: .venv/ready
	@rm -rf chaos
	@python tests/workflow/chaos.py --kills 5 --seed $(or $(SEED),1) --folder chaos

# What is found lies in fuzz/. EXAMPLES=100000 tries more.
fuzz: .venv/ready
	@python -m pytest tests -m nightly --numprocesses auto --dist worksteal
	@PYTHONPATH=tests/unit python tests/unit/fuzz_readers.py $(or $(SECONDS),30)

slurm-test: .venv/ready
	@pip install --quiet --requirement workflow/profiles/slurm/requirements.lock
	@python tests/workflow/one_machine_slurm.py check
	@python -m pytest tests/workflow/test_slurm.py -m slurm -s

lint: .venv/ready
	@ruff check .
	@ruff format --check .
	@snakefmt --check Snakefile workflow/rules
	@snakemake --lint

audit:
	@$(PYTHON) .ci/audit

dryrun: .venv/ready
	@python -m pytest tests/workflow -m "not slow" -q --numprocesses auto --dist worksteal

config-page: .venv/ready
	@python -m muattack.config_page

# With the Python that has torch for the GPU: .venv's where there is one. Not .venv/ready, which would fetch the pinned build.
gpu-check:
	@PYTHONPATH=workflow timeout --kill-after 10 480 python3 tests/benchmarks/gpu_check.py $(ARGS)

docs-figures: demo
	@mkdir -p docs/figures
	@cp results/demo/figures/fig4.png results/demo/figures/fig7.png results/demo/figures/attack_accuracy.png docs/figures/

# Peers are installed into environments of their own, which are thrown away.
bench: .venv/ready
	@python tests/benchmarks/bench_peers.py --write docs/benchmarks.md $(ARGS)

clean:
	rm -rf .venv .snakemake

# Debian and Ubuntu split `venv` from Python: say what to install instead of failing in the middle.
.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "muattack needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) --version). Name another: make PYTHON=python3.12 demo"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "This Python cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Making .venv from requirements.lock (some minutes, once)"
	@$(PYTHON) -m venv --clear .venv
	@pip install --quiet --upgrade pip==26.3
	@pip install --quiet --requirement requirements.lock
	@pip install --quiet --no-deps --no-build-isolation --editable .
	@pip check
	@touch $@
