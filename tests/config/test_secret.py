import stat
import threading
from pathlib import Path

from config.secret import read_or_create_secret_key


def test_the_key_is_made_once_and_is_readable_by_its_owner_only(tmp_path: Path):
    path = tmp_path / "var" / "secret-key"
    key = read_or_create_secret_key(path)
    assert len(key) >= 50
    assert read_or_create_secret_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path):
    path = tmp_path / "secret-key"
    keys: list[str] = []
    threads = [threading.Thread(target=lambda: keys.append(read_or_create_secret_key(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret-key"]
