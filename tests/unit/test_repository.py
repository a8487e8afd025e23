"""Pages and files beside the code say what is there."""

import re

import yaml

from muattack import __version__


def test_links_between_pages_lead_somewhere(root):
    pages = [*root.glob("*.md"), *(root / "docs").glob("*.md"), root / "config" / "README.md", root / "results" / "README.md"]
    broken = []
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for place, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
            target = (page.parent / place) if place else page
            if not target.exists():
                broken.append(f"{page.name}: {place}")
            elif anchor and target.suffix == ".md":
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                if anchor not in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}:
                    broken.append(f"{page.name}: {place}#{anchor}")
    assert broken == []


def test_every_page_is_linked_from_the_readme(root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    pages = {path.name: path.read_text(encoding="utf-8") for path in (root / "docs").glob("*.md")}
    # Directly, or from a page that is.
    linked = {name for name in pages if f"docs/{name}" in readme}
    linked |= {name for name in pages for other in linked if f"]({name}" in pages[other]}
    assert set(pages) - linked == set()


def test_a_commit_is_checked_as_make_lint_does(root):
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [line.strip().removeprefix("@") for line in recipe[1].splitlines()]
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks][: len(wanted)] == wanted
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in hooks)


def test_the_changelog_knows_this_version(root):
    assert re.search(rf"^## {re.escape(__version__)}\b", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_workflow_catalogue_has_what_it_asks_for(root):
    usage = yaml.safe_load((root / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert usage["report"] is True
    assert (root / "config" / "README.md").is_file()
    assert (root / "config" / "config.yaml").is_file()
