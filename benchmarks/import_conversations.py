"""How long an import of 100,000 conversations (600,000 turns) takes, and how much memory.

    python benchmarks/import_conversations.py [--quick]

Each file is imported by the management command into an empty SQLite database, in a process of its own whose peak
memory is read at the end. The clock covers the command: reading, checking and writing. The share spent computing tells
a slow import from a busy machine. `--quick` imports a tenth.
"""

import argparse
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FULL, QUICK = 100_000, 10_000
TURNS = 6
# One sentence, cut into words.
SENTENCE = "the day was long and I did not know what to say so we sat there and listened to the rain until it was over"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        measure(arguments.child)
    else:
        compare(QUICK if arguments.quick else FULL)


def compare(conversations: int) -> None:
    print(f"{conversations:,} conversations, {conversations * TURNS:,} turns, SQLite")
    print(f"{'file':<24}{'MiB':>8}{'seconds':>10}{'of them computing':>20}{'peak MiB':>10}")
    seconds, peak = 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-") as folder:
        for name, write in (("turns.csv", write_turns), ("messages.jsonl", write_messages)):
            path = Path(folder) / name
            write(path, conversations)
            figures = run_child(path, Path(folder) / f"var-{name}")
            if figures["conversations"] != conversations or figures["turns"] != conversations * TURNS:
                sys.exit(f"{name}: {figures['conversations']} conversations and {figures['turns']} turns were stored")
            size = path.stat().st_size / 2**20
            took = f"{figures['seconds']:>10.1f}{figures['computing']:>20.1f}"
            print(f"{name:<24}{size:>8.0f}{took}{figures['peak_mib']:>10.0f}")
            seconds, peak = max(seconds, figures["seconds"]), max(peak, figures["peak_mib"])
    if conversations != FULL:
        print(f"seconds_100k is null: measured with {conversations:,} conversations only ({seconds:.1f} s)")
    full = conversations == FULL
    print(json.dumps({"seconds_100k": round(seconds, 1) if full else None, "peak_mib": round(peak)}))


def run_child(path: Path, var: Path) -> dict[str, float]:
    environment = os.environ | {
        "ACCORD_VAR": str(var),
        "DATABASE_URL": f"sqlite:///{var}/benchmark.sqlite3",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, str(Path(__file__).resolve()), "--child", str(path)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(paths: list[str]) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from apps.corpus.models import Conversation, Turn

    call_command("migrate", verbosity=0)
    start, computed = time.perf_counter(), time.process_time()
    call_command("import_conversations", *paths, dataset="benchmark")
    figures = {
        "seconds": time.perf_counter() - start,
        "computing": time.process_time() - computed,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "conversations": Conversation.objects.count(),
        "turns": Turn.objects.count(),
    }
    print(json.dumps(figures))


def conversations_of_words(count: int) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Made-up conversations of six turns, about 30 words each: the same every time."""
    generator = random.Random(2026)
    words = SENTENCE.split()
    for number in range(count):
        turns = [
            ("seeker" if turn % 2 == 0 else "supporter", " ".join(generator.choices(words, k=30)))
            for turn in range(TURNS)
        ]
        yield f"c{number:06d}", turns


def write_turns(path: Path, count: int) -> None:
    """One row per turn, with a column that is kept as metadata."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["conversation_id", "turn_index", "speaker", "text", "source"])
        for external_id, turns in conversations_of_words(count):
            for index, (speaker, text) in enumerate(turns):
                writer.writerow([external_id, index, speaker, text, "made up"])


def write_messages(path: Path, count: int) -> None:
    """Chat messages, one conversation on each line."""
    roles = {"seeker": "user", "supporter": "assistant"}
    with path.open("w", encoding="utf-8") as file:
        for external_id, turns in conversations_of_words(count):
            messages = [{"role": roles[speaker], "content": text} for speaker, text in turns]
            file.write(json.dumps({"conversation_id": external_id, "source": "made up", "messages": messages}) + "\n")


if __name__ == "__main__":
    main()
