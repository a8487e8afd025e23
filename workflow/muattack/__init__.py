"""Measure and harden text classifiers, above all detectors of machine-written text.

The package imports no Snakemake, opens no network and does nothing at import.
"""

__version__ = "0.1.0"
