"""The embedded broker: Celery messages as files in one folder, safe with several producers and workers.

Kombu's own file transport lets a worker pick up a file before its writer has filled it, which stops the whole worker.
Here a message appears by rename, so a reader sees all of it or nothing, and is claimed by rename, so one worker wins.
A message claimed by a worker that is then killed is lost: background work is a row first, and a sweeper triggers again.
"""

import os
import time
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads


class Channel(filesystem.Channel):
    """One connection's view of the folder."""

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns():020d}_{uuid4().hex}.{queue}.msg"
        folder = Path(self.data_folder_out)
        hidden = folder / f".{name}"
        hidden.write_text(dumps(payload), encoding="utf-8")
        os.replace(hidden, folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for name in self._waiting(queue):
            claimed = Path(self.processed_folder) / name
            try:
                os.rename(Path(self.data_folder_in) / name, claimed)
            except FileNotFoundError:
                continue
            body = claimed.read_text(encoding="utf-8")
            claimed.unlink()
            return loads(body)
        raise Empty

    def _waiting(self, queue: str) -> list[str]:
        ending = f"{queue}.msg"
        return sorted(
            name
            for name in os.listdir(self.data_folder_in)
            if not name.startswith(".") and name.partition(".")[2] == ending
        )

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        removed = 0
        for name in self._waiting(queue):
            try:
                (Path(self.data_folder_in) / name).unlink()
                removed += 1
            except FileNotFoundError:
                continue
        return removed


class Transport(filesystem.Transport):
    """Registered with Kombu as `accordfs://`."""

    Channel = Channel


def folder_options(root: Path) -> dict[str, Any]:
    """Make the broker's folders below `root` (one file system) and return the transport options that name them."""
    queue, claimed, control = root / "queue", root / "claimed", root / "control"
    for folder in (queue, claimed, control):
        folder.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "processed_folder": str(claimed),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }
