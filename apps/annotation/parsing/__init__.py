"""Files of ratings, read row by row. Pure: no Django, no database.

Rows come from `corpus.parsing`. `mapping` says which column means what, `values` reads a cell as a point of a scale,
`reading` puts both to work. Faults are data: a bad row is a `Problem` with its row number, and reading goes on.
"""
