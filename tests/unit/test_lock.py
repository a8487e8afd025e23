"""The lock installs on every Python that the README promises."""

import re
from importlib.metadata import PackageNotFoundError, distribution

from packaging.specifiers import SpecifierSet


def test_every_locked_package_takes_the_oldest_python_promised(root):
    project = (root / "pyproject.toml").read_text()
    oldest = re.search(r'requires-python = ">=([\d.]+)"', project)[1] + ".0"
    seen = 0
    for line in (root / "requirements.lock").read_text().splitlines():
        if "==" not in line or line.startswith("#"):
            continue
        name, version = line.split("==")
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        wanted = found.metadata.get("Requires-Python")
        # Debian 12 has 3.11.2: a package that needs 3.11.5 cannot be installed there.
        assert found.version != version or not wanted or SpecifierSet(wanted).contains(oldest), f"{name} {version} needs Python {wanted}"
        seen += 1
    assert seen > 100
