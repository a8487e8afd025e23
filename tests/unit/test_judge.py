"""The judging page in a real browser, its answers, and the filter they make."""

import json
import re
import shutil
import zlib

import numpy as np
import pandas as pd
import pytest

from muattack.errors import InputError
from muattack.judge.answers import judge, keep, read_answers, retention
from muattack.judge.page import FORMAT, VERSION, batch_name, render, tasks, write_page

PAIRS = pd.DataFrame(
    [
        ("p1", "that is a silly plan & so on", "that is a s1lly plan & so on", "SpecialChar"),
        ("p2", "two people sit at a table", "two ppl sit at a table", "Abbr"),
        ("p3", "</script><b>lousy</b> dog <!-- x", "</script><b>lousssy</b> dog <!-- x", "RepeatChar"),
    ],
    columns=["id", "clean", "perturbed", "type"],
)
BATCH = tasks(PAIRS)


def answers_file(path, worker="w1", answers=((3, 4), (1, 5), (0, 2)), wait=5, **changed):
    """Write a file as the page does; `changed` is put into it after its check sum was made."""
    rows = [
        {"pair": task.id, "word": word, "quality": quality, "ms": 1000 * wait + 700} for task, (word, quality) in zip(BATCH, answers, strict=True)
    ]
    lines = [FORMAT, VERSION, batch_name(BATCH), worker, wait, *(value for row in rows for value in row.values())]
    told = {"format": FORMAT, "version": VERSION, "batch": batch_name(BATCH), "worker": worker, "wait": wait, "answers": rows}
    told["check"] = zlib.crc32("\n".join(map(str, lines)).encode())
    path.write_text(json.dumps({**told, **changed}), encoding="utf-8")
    return path


def test_tasks_know_the_word():
    assert [task.place for task in BATCH] == [3, 1, 0]
    assert BATCH[1].perturbed == ("two", "ppl", "sit", "at", "a", "table")
    renamed = tasks(PAIRS.rename(columns={"clean": "original", "perturbed": "text"}), "original", "text")
    assert renamed == BATCH
    assert batch_name(BATCH) != batch_name(BATCH[:2])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("p1", "a b", "a c", ""), "Two pairs to be judged have the id p1"),
        (("p4", "a b", "a b", ""), "0 of them different"),
        (("p4", "a b", "c d", ""), "2 of them different"),
        (("p4", "a b", "a", ""), "2 and 1 words"),
        (("p4", None, "a", ""), "has a text that is none"),
    ],
)
def test_wrong_pairs_are_errors(row, said):
    with pytest.raises(InputError) as raised:
        tasks(pd.concat([PAIRS, pd.DataFrame([row], columns=PAIRS.columns)]))
    assert said in str(raised.value)


def test_no_pairs_are_an_error_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="no pairs"):
        write_page(tmp_path / "page.html", PAIRS.iloc[:0])
    assert list(tmp_path.iterdir()) == []


def test_the_page_is_one_file_that_loads_nothing(tmp_path):
    name = write_page(tmp_path / "page.html", PAIRS, title="Plans & <people>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert name == batch_name(BATCH)
    assert "<title>Plans &amp; &lt;people&gt;</title>" in page
    for loading in ("http:", "https:", "//cdn", " src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "{{"):
        assert loading not in page
    # The texts cannot end their script, and come out as they went in.
    embedded = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    assert "<" not in embedded
    assert json.loads(embedded)["wait"] == 5
    assert [pair["clean"] for pair in json.loads(embedded)["pairs"]] == [text.split() for text in PAIRS["clean"]]
    assert render(BATCH, "Plans & <people>") == page


def test_answers_are_read(tmp_path):
    frame = read_answers([answers_file(tmp_path / "a.json"), answers_file(tmp_path / "b.json", "w2", ((3, 4), (2, 5), (0, 2)))], BATCH)
    assert list(frame["worker"]) == ["w1"] * 3 + ["w2"] * 3
    assert list(frame["correct"]) == [True, True, True, True, False, True]
    assert list(frame["quality"]) == [4, 5, 2] * 2


def edit(change):
    def edited(path):
        told = json.loads(path.read_text(encoding="utf-8"))
        change(told)
        path.write_text(json.dumps(told), encoding="utf-8")

    return edited


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_text("{", encoding="utf-8"), "is not JSON"),
        (lambda path: path.write_text("[1]", encoding="utf-8"), "not one that the judging page made"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8"),
        (edit(lambda told: told["answers"][2].update(quality=5)), "its check sum does not fit"),
        (edit(lambda told: told.update(worker="w9")), "its check sum does not fit"),
        (edit(lambda told: told["answers"].pop()), "its check sum does not fit"),
        (edit(lambda told: told.pop("wait")), "edited by hand: wait is missing or unknown"),
        (edit(lambda told: told.update(note="")), "note is missing or unknown"),
        (edit(lambda told: told.update(batch="0")), "is of other pairs"),
        (edit(lambda told: told.update(version=2)), "is of version 2"),
        (edit(lambda told: told.update(worker="a b")), "the worker 'a b' is no name"),
        (edit(lambda told: told.update(answers={})), "is of another type"),
        (edit(lambda told: told["answers"][0].update(quality="4")), "answer 1 is not {pair, word, quality, ms}"),
        (edit(lambda told: told["answers"][0].update(quality=True)), "answer 1 is not"),
        (edit(lambda told: told["answers"][1].update(quality=6)), "answer 2 has the quality 6"),
        (edit(lambda told: told["answers"][1].update(word=6)), "answer 2 picks word 6, but the pair p2 has words 0 to 5"),
        (edit(lambda told: told["answers"][1].update(word=-1)), "picks word -1"),
        (edit(lambda told: told["answers"][1].update(pair="p9")), "answer 2 is of the pair 'p9', which was not on the page"),
        (edit(lambda told: told["answers"][1].update(pair="p1")), "answer 2 is a second one for the pair p1"),
        (edit(lambda told: told["answers"][1].update(ms=10)), "answer 2 took 10 ms, but the page waits 5 s"),
    ],
)
def test_a_file_edited_by_hand_is_an_error_and_nothing_is_lost(tmp_path, change, said):
    good, bad = answers_file(tmp_path / "good.json", "w0"), answers_file(tmp_path / "bad.json")
    change(bad)
    before = (good.read_bytes(), bad.read_bytes())
    with pytest.raises(InputError) as raised:
        read_answers([good, bad], BATCH)
    assert said in str(raised.value)
    assert "bad.json" in str(raised.value)
    assert "good.json" not in str(raised.value)
    assert "None of the 2 files was taken; all are as they were." in str(raised.value)
    assert (good.read_bytes(), bad.read_bytes()) == before
    assert len(read_answers([good], BATCH)) == 3


def test_every_bad_file_is_named_and_edited_ones_can_be_taken(tmp_path):
    first, second = answers_file(tmp_path / "a.json", check=1), answers_file(tmp_path / "b.json", "w2", check=2)
    with pytest.raises(InputError, match=r"a\.json .*b\.json"):
        read_answers([first, second], BATCH)
    assert len(read_answers([first, second], BATCH, accept_edited=True)) == 6
    with pytest.raises(InputError, match="does not exist"):
        read_answers([tmp_path / "none.json"], BATCH)
    with pytest.raises(InputError, match="no file of answers"):
        read_answers([], BATCH)


def test_a_worker_answers_a_pair_once(tmp_path):
    with pytest.raises(InputError, match="more than once"):
        read_answers([answers_file(tmp_path / "a.json"), answers_file(tmp_path / "b.json")], BATCH)


def made(*rows):
    frame = pd.DataFrame(rows, columns=["worker", "pair", "quality", "correct"])
    return frame.assign(word=0, ms=6000, file="f")


def test_workers_who_miss_a_word_are_dropped_and_a_majority_of_five_decides():
    qualities = {"p1": (5, 4, 4, 2, 1), "p2": (5, 5, 2, 2, 2), "p3": (4, 4, 4, 5, 5)}
    answers = made(*((f"w{number}", pair, quality, True) for pair, row in qualities.items() for number, quality in enumerate(row)))
    verdicts, workers = judge(answers, BATCH)
    assert list(verdicts["kept"]) == [True, False, True]
    assert list(verdicts["likely"]) == [3, 2, 5]
    assert verdicts["mean"][0] == pytest.approx(3.2)
    assert verdicts["reason"][1] == "2 of 5 find it likely, 3 are needed"
    assert not workers["dropped"].any()
    # Worker 0 misses a word of p2: none of that worker's answers counts, and p1 has no majority of five any more.
    answers.loc[(answers["worker"] == "w0") & (answers["pair"] == "p2"), "correct"] = False
    verdicts, workers = judge(answers, BATCH)
    assert list(verdicts["kept"]) == [False, False, True]
    assert list(verdicts["n"]) == [4, 4, 4]
    assert list(verdicts["dropped"]) == [1, 1, 1]
    assert workers.to_dict("records")[0] == {"worker": "w0", "answers": 3, "missed": 1, "dropped": True}
    # The answer alone: p1 is kept again.
    for misses in (None, 1):
        verdicts, workers = judge(answers, BATCH, misses=misses)
        assert list(verdicts["kept"]) == [True, False, True]
        assert list(verdicts["n"]) == [5, 4, 5]
        assert not workers["dropped"].any()


def test_the_rule_of_the_published_pairs_is_a_mean_above_the_middle():
    answers = made(
        *((f"w{number}", "p1", quality, True) for number, quality in enumerate((3, 3, 3, 3, 4))),
        *((f"w{number}", "p2", 3, True) for number in range(5)),
    )
    verdicts, _ = judge(answers, BATCH, rule="mean")
    assert list(verdicts["kept"]) == [True, False, False]
    assert verdicts["reason"][2] == "only 0 of 5 answers count"
    assert np.isnan(verdicts["mean"][2])
    assert not judge(answers, BATCH)[0]["kept"].any()
    with pytest.raises(InputError, match="Did you mean mean"):
        judge(answers, BATCH, rule="means")


def test_more_workers_need_a_majority_of_their_own():
    answers = made(*((f"w{number}", "p1", 5 if number < 3 else 1, True) for number in range(7)))
    assert not judge(answers, BATCH)[0]["kept"][0]


def test_the_filter_and_what_it_keeps_of_each_type():
    answers = made(*((f"w{number}", pair, quality, True) for number in range(5) for pair, quality in (("p1", 5), ("p2", 1), ("p3", 4))))
    verdicts, _ = judge(answers, BATCH)
    kept = keep(PAIRS, verdicts)
    assert list(kept["id"]) == ["p1", "p3"]
    assert list(kept["quality_mean"]) == [5, 4]
    table = retention(PAIRS, verdicts)
    assert table[["type", "n", "kept", "value"]].to_numpy().tolist() == [
        ["RepeatChar", 1, 1, 1], ["Abbr", 1, 0, 0], ["SpecialChar", 1, 1, 1], ["overall", 3, 2, pytest.approx(2 / 3)],
    ]  # fmt: skip


def test_where_no_pair_is_kept_it_says_why():
    answers = made(*((f"w{number}", pair, 1, True) for number in range(5) for pair in ("p1", "p2")), ("w0", "p3", 5, True))
    with pytest.raises(InputError) as raised:
        keep(PAIRS, judge(answers, BATCH)[0])
    assert "Of the 3 pairs that were judged none is kept: 0 of 5 find it likely, 3 are needed (2); only 1 of 5 answers count (1)." in str(
        raised.value
    )


# --- In a browser -----------------------------------------------------------------------------------------------------

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def browser():
    """A headless Chromium of the machine's, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed: pip install playwright")
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    if not found:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, tmp_path):
    """The judging page of three pairs with a wait of four seconds, opened from disk without a network; what it asks for and complains of is kept."""
    write_page(tmp_path / "page.html", PAIRS, wait=4)
    context = browser.new_context(offline=True, accept_downloads=True, viewport={"width": 900, "height": 820})
    opened = context.new_page()
    opened.complaints, opened.requests = [], []
    opened.on("console", lambda message: opened.complaints.append(message.text))
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("request", lambda request: opened.requests.append(request.url))
    opened.goto((tmp_path / "page.html").as_uri())
    return opened


def begin(page, worker="w1"):
    page.get_by_label("Your name or number").fill(worker)
    page.get_by_role("button", name="Begin").click()


def ready(page):
    page.get_by_text("You can answer now.").first.wait_for()


def download(page, path):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the answers").click()
    waiting.value.save_as(path)
    return waiting.value.suggested_filename


@pytest.mark.slow
def test_with_the_mouse_from_the_first_pair_to_the_filter(page, tmp_path):
    page.get_by_role("button", name="Begin").click()
    assert page.locator("#task").is_hidden()  # Not without a name.
    begin(page)
    words, following = page.locator("#perturbed").get_by_role("button"), page.get_by_role("button", name="Next")
    assert page.get_by_role("heading", name="Pair 1 of 3").is_visible()
    assert words.all_inner_texts() == ["that", "is", "a", "s1lly", "plan", "&", "so", "on"]
    # Nothing can be answered while the wait lasts.
    assert page.get_by_text(re.compile(r"You can answer in \d s\.")).is_visible()
    words.nth(3).click(force=True)
    assert words.nth(3).get_attribute("aria-pressed") == "false"
    assert page.get_by_role("radio").first.is_disabled()
    ready(page)
    # The pair under the pointer is shown in both texts.
    words.nth(1).hover()
    assert page.locator(".paired").all_inner_texts() == ["is", "is"]
    places = [word.bounding_box() for word in words.all()]
    words.nth(3).click()
    # Nothing moves under the pointer.
    assert [word.bounding_box() for word in words.all()] == places
    assert following.is_disabled()
    page.get_by_role("radio", name="4, likely").check()
    following.click()
    assert page.get_by_text("1 of 3 answered").is_visible()
    ready(page)
    page.locator("#clean").get_by_role("button", name="people").click()
    page.get_by_role("radio", name="5, very likely").check()
    following.click()
    # Markup in a text is text.
    assert words.all_inner_texts() == ["</script><b>lousssy</b>", "dog", "<!--", "x"]
    ready(page)
    words.nth(1).click()
    page.get_by_role("radio", name="2, unlikely").check()
    following.click()
    assert page.get_by_role("heading", name="that was the last pair").is_visible()
    assert download(page, tmp_path / "answers.json") == f"judgements-{batch_name(BATCH)}-w1.json"
    assert json.loads(page.locator("#plain").input_value()) == json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    assert page.complaints == []
    assert len(page.requests) == 1 + sum(url.startswith("blob:") for url in page.requests)

    answers = read_answers([tmp_path / "answers.json"], BATCH)
    assert list(answers["word"]) == [3, 1, 1]
    assert list(answers["quality"]) == [4, 5, 2]
    assert list(answers["correct"]) == [True, True, False]
    assert (answers["ms"] >= 1000).all()
    verdicts, workers = judge(answers, BATCH, workers=1, misses=None)
    assert list(verdicts["kept"]) == [True, True, False]
    assert workers["missed"][0] == 1


@pytest.mark.slow
def test_with_the_keyboard_alone_and_on_after_a_closed_window(page, tmp_path):
    page.keyboard.press("Tab")
    page.keyboard.type("w2")
    page.keyboard.press("Enter")
    ready(page)

    def answer(arrows, quality):
        for key in ["Tab", "Tab", *["ArrowRight"] * arrows, "Enter", quality, "Tab", "Tab"]:
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == "next"
        page.keyboard.press("Enter")

    answer(3, "5")
    ready(page)
    # What was answered is there again when the page is opened anew.
    page.reload()
    begin(page, "w2")
    assert page.get_by_role("heading", name="Pair 2 of 3").is_visible()
    assert page.evaluate("document.activeElement.id") == "task-title"
    ready(page)
    answer(1, "4")
    ready(page)
    answer(0, "1")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "save"
    download(page, tmp_path / "answers.json")
    answers = read_answers([tmp_path / "answers.json"], BATCH)
    assert list(answers["quality"]) == [5, 4, 1]
    assert answers["correct"].all()
    assert page.complaints == []


@pytest.mark.slow
def test_every_control_has_a_name_and_the_page_fits_a_phone(page):
    page.set_viewport_size({"width": 360, "height": 700})
    begin(page)
    ready(page)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('#task button, #task input')].filter((one) => !(one.textContent || one.labels?.[0]?.textContent || '').trim()).length"
    )
    assert unnamed == 0
    assert page.get_by_role("radio").count() == 5
    assert page.get_by_role("group", name="Perturbed text").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
