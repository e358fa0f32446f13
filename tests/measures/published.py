"""Published tables of ratings: items x raters, NaN for missing."""

import numpy as np

_ = np.nan

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: 12 units, 4 observers.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T

# Gwet 2014, Handbook of Inter-Rater Reliability, 4th edition, p. 120: the same ratings, the last one by another rater.
# It is `cac.raw4raters` of the R package irrCAC.
GWET = KRIPPENDORFF.copy()
GWET[11] = [_, _, 3, _]

# Gwet 2014, p. 125: `cac.raw5obser` of irrCAC, 15 units scored 0 to 3 by 5 observers.
GWET_OBSERVERS = np.array(
    [
        [1, 1, 2, _, 0, 0, 1, 1, 2, 2, _, 0, 1, 3, 1],
        [1, 1, 3, 0, 0, 0, 0, _, 2, 1, 1, 0, 2, 3, 1],
        [2, 0, 3, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2, 1],
        [_, 1, 3, _, _, _, _, 0, _, 1, 0, 0, 2, 2, _],
        [2, _, _, 0, 0, 0, 1, _, 2, _, _, _, _, 3, 1],
    ]
).T

# Fleiss 1971, as cut to 15 patients in irrCAC's `distrib.6raters`: how many of 6 psychiatrists chose each of 5 labels.
FLEISS_COUNTS = np.array(
    [
        [0, 0, 0, 6, 0],
        [0, 3, 0, 0, 3],
        [0, 1, 4, 0, 1],
        [0, 0, 0, 0, 6],
        [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0],
        [0, 0, 4, 0, 2],
        [2, 0, 3, 1, 0],
        [2, 0, 0, 4, 0],
        [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0],
        [1, 1, 0, 4, 0],
        [0, 3, 3, 0, 0],
        [1, 0, 0, 5, 0],
        [0, 2, 0, 3, 1],
    ]
)
FLEISS = np.array([np.repeat(np.arange(1.0, 6.0), row) for row in FLEISS_COUNTS])

# Shrout and Fleiss 1979, table 2: 6 targets, 4 judges.
SHROUT_FLEISS = np.array(
    [
        [9.0, 2, 5, 8],
        [6, 1, 3, 2],
        [8, 4, 6, 8],
        [7, 1, 2, 6],
        [10, 5, 6, 9],
        [6, 2, 4, 7],
    ]
)
