"""The version of Accord, as pages and reports name it."""

VERSION = "0.1.0"
