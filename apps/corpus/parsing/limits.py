"""How much a file may hold. Beyond these a file is refused with a sentence that names the bound."""

MEBIBYTE = 1024 * 1024

MAX_FILE_BYTES = 1024 * MEBIBYTE
"""Size of the file as it lies on the disk."""

MAX_WORKBOOK_BYTES = 256 * MEBIBYTE
"""Size of a workbook once unpacked (XLSX is a ZIP archive). Its table of texts is held in memory."""

MAX_PARQUET_BYTES = 1024 * MEBIBYTE
"""Size of a Parquet file once unpacked."""

MAX_ROWS = 1_048_576
"""Rows of one file, empty ones included: as many as a spreadsheet has."""

MAX_RECORD_CHARACTERS = 16 * MEBIBYTE
"""One line, one cell, or one JSON record. A conversation of 300 turns and a turn of 1 MB stay far below."""

MAX_OPEN_ROWS = 50_000
MAX_OPEN_CHARACTERS = 32 * MEBIBYTE
"""One row per turn: rows that may wait for others of their conversation. Beyond, they must lie together."""


SAMPLE_ROWS = 200
"""Rows looked at before columns are guessed, and shown in a preview."""
