"""How dates and times stand on every page: "1 Dec 2026, 03:28". Templates name the formats and never spell one out."""

DATE_FORMAT = "j M Y"
SHORT_DATE_FORMAT = DATE_FORMAT
TIME_FORMAT = "H:i"
DATETIME_FORMAT = f"{DATE_FORMAT}, {TIME_FORMAT}"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
MONTH_DAY_FORMAT = "j M"
YEAR_MONTH_FORMAT = "M Y"
