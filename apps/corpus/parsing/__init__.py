"""Files of conversations, read row by row into records. Pure: no Django, no database.

A file goes through four steps, each a module:

1. `formats`, `encodings`: what the bytes are, by their content;
2. `delimited`, `json_text`, `workbook`, `columnar`: rows of columns, one at a time (`rows.open_table` chooses);
3. `mapping`, `guessing`: which column means what;
4. `shapes`: rows into conversations (`reading.ConversationReader` runs all four).

Faults are data: a bad row is a `Problem` with its row number and reading goes on; a file that cannot be read at all
raises `FileError`.
"""
