"""Few lines of Python and of R that read an export of ratings and print one figure of the study. Pure.

Both compute quadratic weighted kappa on the declared points of the scale (docs/agreement.md, "scale"): with squared
distances the mean disagreement by chance is var(a) + var(b) + (mean(a) - mean(b))^2, so no list of points is needed.
"""

import re
from dataclasses import dataclass

from apps.common.formulas import escape_formula
from apps.frameworks.scales import NUMBER
from apps.reliability.agreement import AgreementRow

STATISTIC = "kappa_quadratic"
DECIMALS = 6

_IN_R = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

PYTHON = """\
import pandas as pd

ratings = pd.read_csv({file}, dtype=str, keep_default_na=False, encoding="utf-8")
kept = ratings[
    (ratings["block"] == {block})
    & (ratings["framework"] == {framework})
    & (ratings["dimension"] == {dimension})
    & (ratings["item_role"] == "main")
    & (ratings["excluded"] == "")
    & (ratings["value"] != "")
]
by_item = kept.set_index("item")
a = by_item.loc[by_item["rater"] == {a}, "value"].astype(float)
b = by_item.loc[by_item["rater"] == {b}, "value"].astype(float)
both = pd.concat([a, b], axis=1, join="inner", keys=["a", "b"])

# Quadratic weighted kappa: 1 - observed / expected disagreement, in squared distances on the scale.
observed = ((both["a"] - both["b"]) ** 2).mean()
expected = both["a"].var(ddof=0) + both["b"].var(ddof=0) + (both["a"].mean() - both["b"].mean()) ** 2
print(f"{{1 - observed / expected:.6f}}")
"""

R = """\
ratings <- read.csv({file}, colClasses = "character", na.strings = character(0), encoding = "UTF-8")
kept <- ratings[ratings$block == {block} &
                ratings$framework == {framework} &
                ratings$dimension == {dimension} &
                ratings$item_role == "main" &
                ratings$excluded == "" &
                ratings$value != "", ]
both <- merge(kept[kept$rater == {a}, c("item", "value")],
              kept[kept$rater == {b}, c("item", "value")], by = "item")
a <- as.numeric(both$value.x)
b <- as.numeric(both$value.y)

# Quadratic weighted kappa: 1 - observed / expected disagreement, in squared distances on the scale.
observed <- mean((a - b)^2)
expected <- mean((a - mean(a))^2) + mean((b - mean(b))^2) + (mean(a) - mean(b))^2
cat(sprintf("%.6f\\n", 1 - observed / expected))
"""


@dataclass(frozen=True, slots=True)
class Snippets:
    """The programs, and the figure they print."""

    python: str
    r: str
    expected: str


def snippets_for(row: AgreementRow, file_name: str) -> Snippets:
    """Programs that print the row's value from the study's export in CSV of that name.

    `row`: a quadratic kappa of two single raters under the convention `scale`. Raises ValueError for any other.
    """
    if row.statistic != STATISTIC or row.convention != "scale" or row.value is None:
        raise ValueError(f"{row.statistic} of {row.a} and {row.b} ({row.convention}) is not what the programs compute")
    texts = {"file": file_name, "block": row.block, "framework": row.framework, "dimension": row.dimension}
    # As they stand in the file.
    texts |= {side: _cell(name) for side, name in (("a", row.a), ("b", row.b))}
    return Snippets(
        PYTHON.format(**{name: _text_in_python(text) for name, text in texts.items()}),
        R.format(**{name: _text_in_r(text) for name, text in texts.items()}),
        f"{round(row.value, DECIMALS) + 0.0:.{DECIMALS}f}",
    )


def _cell(name: str) -> str:
    return name if NUMBER.fullmatch(name) else escape_formula(name)


def _text_in_python(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not set(text) & {'"', "\\"} else repr(text)


def _text_in_r(text: str) -> str:
    inner = re.sub(r'[\\"\n\r\t]', lambda found: _IN_R[found[0]], text)
    return f'"{inner}"'
