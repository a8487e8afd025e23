"""What all tests share: no network, hubs offline, the real data where it lies."""

import os
from pathlib import Path

import pytest

from muattack.job import go_offline

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("MUATTACK_DATA") or ROOT.parent / "shared" / "data")

go_offline()


def pytest_runtest_setup(item):
    # A test that opens a network socket fails; local pairs (subprocess, asyncio) are no network.
    from pytest_socket import disable_socket, enable_socket, socket_allow_hosts

    if item.get_closest_marker("localhost"):
        enable_socket()
        socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    else:
        disable_socket(allow_unix_socket=True)
    if item.get_closest_marker("data") and not DATA.is_dir():
        pytest.skip(f"the real data is not at {DATA}; set MUATTACK_DATA to its folder")


def pytest_collection_modifyitems(config, items):
    # Hours of fuzzing run where they are asked for by name only, whatever else is selected.
    if "nightly" not in config.option.markexpr:
        nightly = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if item not in nightly]


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def data() -> Path:
    """The folder of real data; use with the marker `data`."""
    return DATA
