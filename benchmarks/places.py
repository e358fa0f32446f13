"""What the benchmarks share: a database of their own, and a word on a busy machine."""

import os
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

import psycopg


def warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print(f"Note: the machine is busy (load {load:.1f} on {cores} cores); times are longer than they need be.\n")


@dataclass
class Database:
    """Where a benchmark keeps its rows; `name` is a new database on that server, empty for a file."""

    url: str
    server: str = ""
    name: str = ""

    @classmethod
    def of(cls, server: str, folder: Path) -> "Database":
        if not server.startswith("postgres"):
            return cls(f"sqlite:///{folder}/benchmark.sqlite3")
        name = f"accord_benchmark_{os.getpid()}"
        made = cls(urllib.parse.urlsplit(server)._replace(path=f"/{name}").geturl(), server, name)
        made._run(f'CREATE DATABASE "{name}"')
        return made

    def drop(self) -> None:
        if self.name:
            self._run(f'DROP DATABASE "{self.name}" WITH (FORCE)')

    def __str__(self) -> str:
        return "PostgreSQL" if self.name else "SQLite"

    def _run(self, statement: str) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(statement)
