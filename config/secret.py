"""The generated secret key of an installation that was given none."""

import os
import secrets
from pathlib import Path


def read_or_create_secret_key(path: Path) -> str:
    """Return the key kept in `path`, making it (readable by its owner only) on first use.

    Two processes that start together agree: the file is linked into place whole, and the loser reads the winner's.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()
